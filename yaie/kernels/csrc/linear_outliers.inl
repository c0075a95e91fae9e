// Outliers in the rows of int8 layers. Needs: linear_rows.inl, linear_quantized.inl.
//
// In trained models a few inputs of a row exceed its RMS many times. With one scale for a row they
// would coarsen the steps of all other inputs. Inputs beyond kOutlierFactor times the RMS are
// therefore excluded from the bytes, and multiplied in float32 with their weights. A row's outliers
// depend on that row only: layers stay batch-invariant.

constexpr float kOutlierFactor = 4.0f;

// Fewer than 1 / factor^2 of the inputs exceed factor times their RMS (Chebyshev's inequality).
YAIE_INLINE int64_t most_outliers(int64_t inputs) {
    return inputs / (int64_t)(kOutlierFactor * kOutlierFactor) + 1;
}

YAIE_INLINE bool is_any_above(Vec v, float limit) {
#if defined(__x86_64__) && YAIE_LANES == 16
    return _mm512_cmp_ps_mask((__m512)v, _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
#elif defined(__x86_64__) && YAIE_LANES == 8
    return _mm256_movemask_ps((__m256)(v > splat(limit))) != 0;
#else
    return largest_of_lanes(v) > limit;
#endif
}

YAIE_INLINE float root_mean_square(const float* x, int64_t count) {
    Vec squares{};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) squares = fma(load(x + i), load(x + i), squares);
    float sum = sum_of_lanes(squares);
    for (; i < count; ++i) sum += x[i] * x[i];
    return __builtin_sqrtf(sum / (float)count);
}

// Store a row's outliers and return the row with zeros instead: `rest`, or x itself if it has none.
// Rows whose squares leave the range of float32 have none.
static const float* without_outliers(const float* x, int64_t count, const Outliers& to, int64_t row,
                                     float* rest) {
    float limit = kOutlierFactor * root_mean_square(x, count);
    int32_t& found = to.counts[row];
    found = 0;
    if (!(limit > 0.0f) || limit > __FLT_MAX__) return x;
    Outlier* entries = to.entries + row * to.room;
    auto examine = [&](int64_t i) {
        if (!(__builtin_fabsf(x[i]) > limit)) return true;
        if (found == to.room) return false;
        entries[found++] = {(int32_t)i, x[i]};
        return true;
    };
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Vec v = load(x + i);
        store(rest + i, v);
        if (!is_any_above(max_lanes(v, -v), limit)) continue;
        for (int64_t j = i; j < i + kLanes; ++j)
            if (!examine(j)) return found = 0, x;
    }
    for (; i < count; ++i) {
        rest[i] = x[i];
        if (!examine(i)) return found = 0, x;
    }
    for (int32_t k = 0; k < found; ++k) rest[entries[k].input] = 0.0f;
    return found ? rest : x;
}

// Return the scaled products of a row's outliers with the weights of a panel.
YAIE_INLINE Pair outlier_sum(const Outliers& outliers, int64_t row, const char* panel,
                             const GroupScales& scales) {
    Pair sum{};
    const Outlier* at = outliers.entries + row * outliers.room;
    for (const Outlier* end = at + outliers.counts[row]; at < end; ++at) {
        int64_t quad = at->input / kQuad;
        int32_t shift = at->input % kQuad * 8;
        Bits low = load_bits(panel + word_index(quad, 0) * kQuad);
        Bits high = load_bits(panel + word_index(quad, kLanes) * kQuad);
        Vec value = splat(at->value);
        sum.a = fma(as_floats((Int)((low >> shift) & 0xffu)) - scales.zero_low, value, sum.a);
        sum.b = fma(as_floats((Int)((high >> shift) & 0xffu)) - scales.zero_high, value, sum.b);
    }
    return {sum.a * scales.low, sum.b * scales.high};
}
