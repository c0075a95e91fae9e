// The most likely token of a row of logits, and sampling: one pass over a row computes the weights
// of its blocks, a second one visits the block of the sampled token. Temporary memory is shorter
// than the vocabulary. Needs: simd.inl, abi.h.

constexpr int64_t kTokensInBlock = 256;

// Find the largest logit of row `index` and the lowest token with it. A NaN wins, so that it is
// detected.
static void best_task(void* context, int64_t index, Scratch&) {
    const YaieBest& call = *static_cast<const YaieBest*>(context);
    const float* logits = call.logits + index * call.row_stride;
    float best = -__builtin_inff(), nan = 0;
    int64_t block = 0;
    for (int64_t first = 0; first < call.vocabulary; first += kTokensInBlock) {
        int64_t end = min_of(first + kTokensInBlock, call.vocabulary), i = first;
        Vec largest = splat(best), differences{};
        for (; i + kLanes <= end; i += kLanes) {
            Vec v = load(logits + i);
            largest = max_lanes(v, largest);
            differences += v != v ? splat(1.0f) : Vec{};
        }
        float block_best = largest_of_lanes(largest);
        nan += sum_of_lanes(differences);
        for (; i < end; ++i) {
            block_best = logits[i] > block_best ? logits[i] : block_best;
            nan += logits[i] != logits[i];
        }
        if (block_best > best) {
            best = block_best;
            block = first;
        }
    }
    int64_t token = block;
    while (token + 1 < call.vocabulary && logits[token] != best) ++token;
    call.best[index] = nan > 0 ? __builtin_nanf("") : best;
    call.tokens[index] = token;
}

// A row of logits with one sample's temperature.
struct WeightedRow {
    const float* logits;
    int64_t vocabulary;
    Vec best, scale, floor;
    const int64_t* forbidden;
    const int64_t* end_forbidden;

    int64_t tokens_in(int64_t block) const {
        return min_of(kTokensInBlock, vocabulary - block * kTokensInBlock);
    }
};

YAIE_INLINE Vec weight_of(const WeightedRow& row, Vec logits) {
    Vec exponent = (logits - row.best) * row.scale;
    return exponent < row.floor ? Vec{} : exp2(exponent);
}

// Compute the weights of a block's tokens, padded with zeros, and return their sum.
static double weight_block(const WeightedRow& row, int64_t block, float* weights) {
    int64_t first = block * kTokensInBlock, count = row.tokens_in(block), i = 0;
    const float* logits = row.logits + first;
    for (; i + kLanes <= count; i += kLanes) store(weights + i, weight_of(row, load(logits + i)));
    for (; i < kTokensInBlock; i += kLanes) {
        Vec some = splat(-__builtin_inff());
        for (int64_t lane = 0; lane < count - i; ++lane) some[lane] = logits[i + lane];
        store(weights + i, weight_of(row, some));
    }
    for (const int64_t* token = row.forbidden; token < row.end_forbidden; ++token)
        if (*token >= first && *token < first + count) weights[*token - first] = 0;
    Pair sum{};
    for (i = 0; i < kTokensInBlock; i += kChunk) {
        sum.a += load(weights + i);
        sum.b += load(weights + i + kLanes);
    }
    return sum_of_lanes(sum.a + sum.b);
}

// Return the first token at which the running sum exceeds `left`. Rounding may prevent that: then
// return the last token with a weight.
static int64_t token_at(const float* weights, int64_t count, double left) {
    int64_t last = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (weights[i] <= 0) continue;
        last = i;
        left -= weights[i];
        if (left < 0) break;
    }
    return last;
}

// Sample token `index` by the inverse of the distribution function.
static void sample_task(void* context, int64_t index, Scratch& scratch) {
    const YaieSamples& samples = *static_cast<const YaieSamples*>(context);
    const int64_t* ends = samples.forbidden_ends;
    WeightedRow row{samples.logits + samples.rows[index] * samples.row_stride,
                    samples.vocabulary,
                    splat(samples.best[index]),
                    splat(samples.scales[index]),
                    splat(samples.floors[index]),
                    samples.forbidden + (index ? ends[index - 1] : 0),
                    samples.forbidden + ends[index]};
    int64_t blocks = (row.vocabulary + kTokensInBlock - 1) / kTokensInBlock;
    double* sums = (double*)scratch.get(blocks * sizeof(double) + kTokensInBlock * sizeof(float));
    float* weights = (float*)(sums + blocks);
    double total = 0;
    for (int64_t b = 0; b < blocks; ++b) total += sums[b] = weight_block(row, b, weights);
    if (total <= 0) {
        samples.tokens[index] = -1;
        return;
    }
    double target = samples.uniforms[index] * total, before = 0, running = 0;
    int64_t chosen = 0;
    for (int64_t b = 0; b < blocks && running <= target; ++b) {
        if (sums[b] <= 0) continue;
        chosen = b;
        before = running;
        running += sums[b];
    }
    weight_block(row, chosen, weights);
    int64_t token = token_at(weights, row.tokens_in(chosen), target - before);
    samples.tokens[index] = chosen * kTokensInBlock + token;
}
