// The best token of a row of logits, and draws of tokens: one pass over a row of logits for the weights of its blocks, and another one over the
// block in which the draw falls. Nothing as long as the vocabulary is written.

constexpr int64_t kTokensInBlock = 256;

// The largest logit of row `index` and the lowest token that has it. A NaN wins, so that one shows.
static void best_task(void* context, int64_t index, Scratch&) {
    const YaieBest& call = *static_cast<const YaieBest*>(context);
    const float* logits = call.logits + index * call.row_stride;
    float best = -__builtin_inff(), nan = 0;
    int64_t block = 0;
    for (int64_t first = 0; first < call.vocabulary; first += kTokensInBlock) {
        int64_t end = least_of(first + kTokensInBlock, call.vocabulary), i = first;
        Vec largest = splat(best), differences{};
        for (; i + kLanes <= end; i += kLanes) {
            Vec v = load(logits + i);
            largest = larger(v, largest);
            differences += v != v ? splat(1.0f) : Vec{};
        }
        float most = largest_lane(largest);
        nan += sum_of_lanes(differences);
        for (; i < end; ++i) {
            most = logits[i] > most ? logits[i] : most;
            nan += logits[i] != logits[i];
        }
        if (most > best) {
            best = most;
            block = first;
        }
    }
    int64_t token = block;
    while (token + 1 < call.vocabulary && logits[token] != best) ++token;
    call.best[index] = nan > 0 ? __builtin_nanf("") : best;
    call.tokens[index] = token;
}

// A row of logits under one draw's temperature.
struct WeighedRow {
    const float* logits;
    int64_t vocabulary;
    Vec best, scale, floor;
    const int64_t* forbidden;
    const int64_t* end_forbidden;

    int64_t tokens_in(int64_t block) const {
        return least_of(kTokensInBlock, vocabulary - block * kTokensInBlock);
    }
};

YAIE_INLINE Vec weigh(const WeighedRow& row, Vec logits) {
    Vec exponent = (logits - row.best) * row.scale;
    return exponent < row.floor ? Vec{} : exp2(exponent);
}

// The weights of a block's tokens, zeros behind the last one, and their sum.
static double weigh_block(const WeighedRow& row, int64_t block, float* weights) {
    int64_t first = block * kTokensInBlock, count = row.tokens_in(block), i = 0;
    const float* logits = row.logits + first;
    for (; i + kLanes <= count; i += kLanes) store(weights + i, weigh(row, load(logits + i)));
    for (; i < kTokensInBlock; i += kLanes) {
        Vec some = splat(-__builtin_inff());
        for (int64_t lane = 0; lane < count - i; ++lane) some[lane] = logits[i + lane];
        store(weights + i, weigh(row, some));
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

// The first token at which the running sum passes `left`. Rounding may leave none: then the last one
// that has any weight.
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

// A token by the inverse of the distribution function, for draw `index`.
static void draw_task(void* context, int64_t index, Scratch& scratch) {
    const YaieDraws& draws = *static_cast<const YaieDraws*>(context);
    const int64_t* ends = draws.forbidden_ends;
    WeighedRow row{draws.logits + draws.rows[index] * draws.row_stride,
                   draws.vocabulary,
                   splat(draws.best[index]),
                   splat(draws.scales[index]),
                   splat(draws.floors[index]),
                   draws.forbidden + (index ? ends[index - 1] : 0),
                   draws.forbidden + ends[index]};
    int64_t blocks = (row.vocabulary + kTokensInBlock - 1) / kTokensInBlock;
    double* sums = (double*)scratch.get(blocks * sizeof(double) + kTokensInBlock * sizeof(float));
    float* weights = (float*)(sums + blocks);
    double total = 0;
    for (int64_t b = 0; b < blocks; ++b) total += sums[b] = weigh_block(row, b, weights);
    if (total <= 0) {
        draws.tokens[index] = -1;
        return;
    }
    double target = draws.uniforms[index] * total, before = 0, running = 0;
    int64_t chosen = 0;
    for (int64_t b = 0; b < blocks && running <= target; ++b) {
        if (sums[b] <= 0) continue;
        chosen = b;
        before = running;
        running += sums[b];
    }
    weigh_block(row, chosen, weights);
    int64_t token = token_at(weights, row.tokens_in(chosen), target - before);
    draws.tokens[index] = chosen * kTokensInBlock + token;
}
