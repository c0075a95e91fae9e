// Mixtures of a decoder: the router, the experts and a shared expert. Needs: experts.inl,
// decoder_mlp.inl.
//
// The router computes in float32 with one accumulator for each score, so that a row's experts do
// not depend on the other rows of a step.

struct RouterCall {
    const YaieMixture* mixture;
    float* logits;   // [count, stride]
    int64_t stride;  // whole vectors
    int64_t* ids;    // [count, num_chosen]
    float* weights;  // the same
    int64_t count;
};

// Replace a row's logits by softmax or sigmoid; elements from `count` on are padding.
YAIE_INLINE void score_row(const YaieMixture& mixture, float* row, int64_t count, int64_t stride) {
    constexpr float kLog2E = 1.4426950408889634f;
    for (int64_t i = count; i < stride; ++i) row[i] = -1e30f;
    if (mixture.scores == YAIE_SIGMOID) {
        for (int64_t i = 0; i < stride; i += kLanes) {
            Vec power = exp2(min_lanes(load(row + i) * -kLog2E, splat(126.0f)));
            store(row + i, 1.0f / (1.0f + power));
        }
        return;
    }
    Vec largest = load(row);
    for (int64_t i = kLanes; i < stride; i += kLanes) largest = max_lanes(largest, load(row + i));
    Vec most = splat(largest_of_lanes(largest)), sums{};
    for (int64_t i = 0; i < stride; i += kLanes) {
        Vec power = exp2((load(row + i) - most) * kLog2E);
        store(row + i, power);
        sums += power;
    }
    Vec total = splat(sum_of_lanes(sums));
    for (int64_t i = 0; i < stride; i += kLanes) store(row + i, load(row + i) / total);
}

YAIE_INLINE int64_t largest_at(const float* values, int64_t first, int64_t end) {
    int64_t best = first;
    for (int64_t i = first + 1; i < end; ++i)
        if (values[i] > values[best]) best = i;
    return best;
}

// Exclude experts that are in none of the best groups. A group counts as much as its two best
// experts; a mask of excluded experts is minus infinity.
YAIE_INLINE void exclude_groups(const YaieMixture& mixture, float* choice, int64_t count,
                                float* groups) {
    int64_t number = mixture.num_groups, width = count / number;
    for (int64_t group = 0; group < number; ++group) {
        const float* of = choice + group * width;
        int64_t best = largest_at(of, 0, width), second = best ? 0 : 1;
        for (int64_t i = 0; i < width; ++i)
            if (i != best && of[i] > of[second]) second = i;
        groups[group] = of[best] + (width > 1 ? of[second] : 0.0f);
    }
    for (int64_t excluded = mixture.chosen_groups; excluded < number; ++excluded) {
        int64_t worst = -1;
        for (int64_t group = number - 1; group >= 0; --group)
            if (groups[group] != __builtin_inff() && (worst < 0 || groups[group] < groups[worst]))
                worst = group;
        if (worst < 0) return;  // scores are not numbers
        groups[worst] = __builtin_inff();
        for (int64_t i = 0; i < width; ++i) choice[worst * width + i] = -__builtin_inff();
    }
}

static void choose_task(void* context, int64_t index, Scratch& scratch) {
    const RouterCall& call = *static_cast<const RouterCall*>(context);
    const YaieMixture& mixture = *call.mixture;
    int64_t count = mixture.experts.num_experts, chosen = mixture.num_chosen;
    float* choice = (float*)scratch.get((count + mixture.num_groups) * sizeof(float));
    int64_t end = min_of((index + 1) * kRowsInTask, call.count);
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        float* scores = call.logits + row * call.stride;
        int64_t* ids = call.ids + row * chosen;
        float* weights = call.weights + row * chosen;
        score_row(mixture, scores, count, call.stride);
        for (int64_t i = 0; i < count; ++i)
            choice[i] = scores[i] + (mixture.choice_bias ? mixture.choice_bias[i] : 0.0f);
        if (mixture.num_groups > 1) exclude_groups(mixture, choice, count, choice + count);
        float total = 0.0f;
        for (int64_t i = 0; i < chosen; ++i) {
            ids[i] = largest_at(choice, 0, count);
            weights[i] = scores[ids[i]];
            choice[ids[i]] = -__builtin_inff();
            total += weights[i];
        }
        float factor = mixture.normalises ? mixture.factor / total : mixture.factor;
        for (int64_t i = 0; i < chosen; ++i) weights[i] *= factor;
    }
}

struct MixedCall {
    const YaieDecoderLayer* layer;
    float* mixed;         // [count, width] of the experts, and of a shared one without a gate
    const float* shared;  // or null: of the shared expert, which a gate scales
    const float* normed;  // the gate's inputs
    float* hidden;
    int64_t width, count;
};

static void add_mixed_task(void* context, int64_t index, Scratch&) {
    const MixedCall& call = *static_cast<const MixedCall*>(context);
    const YaieDecoderLayer& layer = *call.layer;
    int64_t width = call.width;
    int64_t end = min_of((index + 1) * kRowsInTask, call.count);
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        float* mixed = call.mixed + row * width;
        float* to = call.hidden + row * width;
        if (call.shared) {
            const float* shared = call.shared + row * width;
            const float* x = call.normed + row * width;
            const float* gate = layer.mixture->shared_gate;
            Vec sums{};
            int64_t i = 0;
            for (; i + kLanes <= width; i += kLanes) sums = fma(load(x + i), load(gate + i), sums);
            float dot = sum_of_lanes(sums);
            for (; i < width; ++i) dot += x[i] * gate[i];
            Vec power = exp2(min_lanes(splat(dot * -1.4426950408889634f), splat(126.0f)));
            float share = 1.0f / (1.0f + power[0]);
            for (i = 0; i < width; ++i) mixed[i] += shared[i] * share;
        }
        float factor = layer.residual_factor;
        if (layer.norm_after_mlp) {
            norm_row(mixed, layer.norm_after_mlp, mixed, width, layer.epsilon, factor);
            factor = 1.0f;
        }
        for (int64_t i = 0; i < width; ++i) to[i] += mixed[i] * factor;
    }
}

// Choose the experts of normalized rows.
static YaieExpertsCall run_router(Decoding& d, const YaieMixture& mixture, const float* normed,
                                  int64_t count) {
    int64_t stride = round_up(mixture.experts.num_experts, kLanes);
    int64_t pairs = count * mixture.num_chosen;
    float* logits = d.buffers.floats(DecoderBuffers::kLogits, count * stride);
    char* chosen = d.buffers.bytes(DecoderBuffers::kChosen,
                                   pairs * (int64_t)(sizeof(int64_t) + sizeof(float)));
    int64_t* ids = (int64_t*)chosen;
    float* weights = (float*)(ids + pairs);
    run_linear(d.pool, mixture.router, normed, d.decoder.hidden, count,
               Target{logits, stride, YAIE_SET, 0.0f});
    RouterCall call{&mixture, logits, stride, ids, weights, count};
    d.pool.run(choose_task, &call, (count + kRowsInTask - 1) / kRowsInTask);
    return {normed, ids, weights, nullptr, count, mixture.num_chosen};
}

// Add the experts' and the shared expert's results to hidden states from `first_row` on.
static void run_mixture(Decoding& d, const YaieDecoderLayer& layer, float* h, int64_t first_row,
                        int64_t count) {
    const YaieMixture& mixture = *layer.mixture;
    int64_t width = d.decoder.hidden;
    float* normed = d.buffers.floats(DecoderBuffers::kRouted, count * width);
    NormCall norm{h, normed, layer.mlp_norm, width, count, layer.epsilon, 1.0f, {}};
    d.pool.run(norm_task, &norm, (count + kRowsInTask - 1) / kRowsInTask);
    YaieExpertsCall experts = run_router(d, mixture, normed, count);
    experts.y = d.buffers.floats(DecoderBuffers::kMixture, count * width);
    run_experts(d.pool, mixture.experts, experts, d.buffers.experts);
    float* shared = nullptr;
    if (layer.down.num_outputs) {
        GatedInputs inputs = run_gates(d, layer, h, first_row, count);
        AddedProducts products = inputs.products(first_row);
        Target target{experts.y, width, YAIE_ADD, 1.0f};
        if (mixture.shared_gate) {
            target.y = shared = d.buffers.floats(DecoderBuffers::kAdded, count * width);
            target.store = YAIE_SET;
        }
        run_linear(d.pool, layer.down, inputs.floats, layer.down.num_inputs, count, target,
                   inputs.rounded);
        add_adapters(d, layer.down, products, count, target.y, 1.0f);
    }
    MixedCall mixed{&layer, experts.y, shared, normed, h, width, count};
    d.pool.run(add_mixed_task, &mixed, (count + kRowsInTask - 1) / kRowsInTask);
}

// Add the results of a layer's MLP or mixture to the hidden states.
static void run_feed_forward(Decoding& d, const YaieDecoderLayer& layer, float* hidden,
                             int64_t rows) {
    for (int64_t row = 0; row < rows; row += kRowsInMlp) {
        int64_t count = min_of(rows - row, kRowsInMlp);
        float* h = hidden + row * d.decoder.hidden;
        if (layer.mixture)
            run_mixture(d, layer, h, row, count);
        else
            run_mlp(d, layer, h, row, count);
        beat(d);
    }
}
