// Epilogues of linear layers: bias, activation, and the store of the results. Needs: simd.inl,
// abi.h.

// The destination of results. A gated pair of outputs shares a panel: the gate in the first half,
// the value in the second, and kLanes results.
struct Target {
    float* y;  // [rows, outputs]
    int64_t y_stride;
    int32_t store;  // YaieStore
    float factor;   // for YAIE_ADD and YAIE_GATED_CLAMPED
    // Or null: gated results as bf16 rows of the next layer.
    const RoundedRows* rounded = nullptr;
    // Or null: bf16 [rows, outputs] instead of y, in whole chunks, for YAIE_SET.
    char* halves = nullptr;
    float limit = 0.0f;        // for YAIE_GATED_CLAMPED
    float gate_factor = 1.0f;  // for YAIE_GATED_SILU and YAIE_SILU_TIMES
};

YAIE_INLINE bool is_gated_store(int32_t store) {
    return store == YAIE_GATED_SILU || store == YAIE_GATED_GELU || store == YAIE_GATED_CLAMPED;
}

#ifdef YAIE_BF16
// Store elements `first` to first + kLanes - 1 of a row of `count`, and zeros in its padding.
YAIE_INLINE void store_bf16(const RoundedRows& rows, int64_t row, int64_t first, Vec v,
                            int64_t count) {
    struct Step {
        __m256bh numbers[2];
    } step{{_mm512_cvtneps_pbh((__m512)v), {}}};
    int64_t bytes = first % kChunk == 0 && first + kLanes >= count ? 64 : 32;
    char* to = byte_address(rows, row_address(rows, row), first * (int64_t)sizeof(Bf16));
    if (bytes == 64)
        __builtin_memcpy(to, &step, 64);
    else
        __builtin_memcpy(to, &step, 32);
}
#endif

YAIE_INLINE Vec sigmoid_times(Vec x) {
    return x / (1.0f + exp2(min_lanes(x * -1.4426950408889634f, splat(126.0f))));
}

YAIE_INLINE Vec gelu_tanh(Vec x) {
    Vec inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanh(inner));
}

// Return the gated value. A NaN stays one: of two lanes, min_lanes and max_lanes return the second
// unless they compare.
YAIE_INLINE Vec gated(const Target& target, Vec gate, Vec value) {
    if (target.store == YAIE_GATED_SILU) return sigmoid_times(gate * target.gate_factor) * value;
    if (target.store == YAIE_GATED_GELU) return gelu_tanh(gate) * value;
    Vec limit = splat(target.limit), factor = splat(target.factor);
    gate = min_lanes(limit, gate);
    value = max_lanes(-limit, min_lanes(limit, value));
    return sigmoid_times(gate * factor) / factor * (value + 1.0f);
}

template <bool non_temporal>
YAIE_INLINE void put(float* y, Vec v, int64_t count) {
    if (count >= kLanes) return store_result<non_temporal>(y, v);
    for (int64_t j = 0; j < count; ++j) y[j] = v[j];
}

YAIE_INLINE Vec get(const float* y, int64_t count) {
    if (count >= kLanes) return load(y);
    Vec v{};
    for (int64_t j = 0; j < count; ++j) v[j] = y[j];
    return v;
}

template <bool non_temporal = false>
YAIE_INLINE void finish_row(const Target& target, const YaieLinear& linear, int64_t row,
                            int64_t first, Vec low, Vec high) {
    if (linear.bias) {
        low += load(linear.bias + first);
        high += load(linear.bias + first + kLanes);
    }
#ifdef YAIE_BF16
    if (target.halves) {
        __m512bh both = _mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
        char* to = target.halves + (row * target.y_stride + first) * (int64_t)sizeof(Bf16);
        return store_cache_line(to, &both, non_temporal);
    }
#endif
    float* y = target.y + row * target.y_stride;
    if (is_gated_store(target.store)) {
        Vec result = gated(target, low, high);
#ifdef YAIE_BF16
        if (!non_temporal && target.rounded)
            return store_bf16(*target.rounded, row, first / 2, result, linear.num_outputs / 2);
#endif
        put<non_temporal>(y + first / 2, result, linear.num_outputs / 2 - first / 2);
        return;
    }
    y += first;
    int64_t count = linear.num_outputs - first;
    if (!non_temporal && (target.store == YAIE_SILU_TIMES || target.store == YAIE_GELU_TIMES)) {
        bool is_silu = target.store == YAIE_SILU_TIMES;
        Vec factor = splat(target.gate_factor);
        low = (is_silu ? sigmoid_times(low * factor) : gelu_tanh(low)) * get(y, count);
        if (count > kLanes)
            high = (is_silu ? sigmoid_times(high * factor) : gelu_tanh(high)) *
                   get(y + kLanes, count - kLanes);
    }
    if (!non_temporal && target.store == YAIE_ADD) {
        Vec factor = splat(target.factor);
        low = fma(low, factor, get(y, count));
        if (count > kLanes) high = fma(high, factor, get(y + kLanes, count - kLanes));
    }
    put<non_temporal>(y, low, count);
    if (count > kLanes) put<non_temporal>(y + kLanes, high, count - kLanes);
}

// Not inlined: many long loops end with it.
static __attribute__((noinline)) void finish(const Target& target, const YaieLinear& linear,
                                             int64_t row, int64_t first, const Pair* sums,
                                             int count) {
    for (int r = 0; r < count; ++r)
        finish_row(target, linear, row + r, first, sums[r].a, sums[r].b);
}
