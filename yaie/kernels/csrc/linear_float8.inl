// Linear layers with weights in fp8 (e4m3), upcast in registers. Needs: linear.inl.
//
// The bits of an e4m3 are those of an fp16 with fewer digits and another exponent: shifted into
// place they are 2^-8 times the value, subnormal numbers included. Scales hold the factor 2^8.
// Each group of inputs has a scale for each output, which multiplies the group's sum.

constexpr float kFloat8Factor = 256.0f;

// Upcast the weights of one input, without their scales.
YAIE_INLINE Pair upcast_float8(const char* p) {
#if defined(__x86_64__) && YAIE_LANES == 16
    __m512i words = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)p));
    words = _mm512_and_si512(_mm512_slli_epi16(words, 7), _mm512_set1_epi16((short)0xbf80));
    return {(Vec)_mm512_cvtph_ps(_mm512_castsi512_si256(words)),
            (Vec)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1))};
#elif defined(__x86_64__) && YAIE_LANES == 8
    __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)p));
    words = _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16((short)0xbf80));
    return {(Vec)_mm256_cvtph_ps(_mm256_castsi256_si128(words)),
            (Vec)_mm256_cvtph_ps(_mm256_extracti128_si256(words, 1))};
#else
    Pair both;
    for (int half = 0; half < 2; ++half) {
        Bytes bytes;
        __builtin_memcpy(&bytes, p + half * kLanes, sizeof bytes);
        Bits word = (Bits) __builtin_convertvector(bytes, Int) << 23;
        (half ? both.b : both.a) = upcast_fp16(word & 0xbf800000u);
    }
    return both;
#endif
}

YAIE_INLINE int64_t float8_groups(const YaieLinear& linear) {
    return linear.num_inputs / linear.group_size;
}

// Return a panel's scales: [groups][kChunk].
YAIE_INLINE const float* float8_scales(const YaieLinear& linear, int64_t panel) {
    return (const float*)linear.scales + panel * float8_groups(linear) * kChunk;
}

struct Float8Panel {
    const char* bytes;
    static inline __attribute__((always_inline)) TwoInputs at(const Float8Panel& p, int64_t i) {
        return {last(p, i), last(p, i + 1)};
    }
    static inline __attribute__((always_inline)) Pair last(const Float8Panel& p, int64_t i) {
        return upcast_float8(p.bytes + i * kChunk);
    }
};

// Dequantize one output's weights: a row of an embedding that is tied to the head.
YAIE_INLINE void unpack_float8(const YaieLinear& linear, int64_t output, float* to) {
    int64_t panel = output / kChunk, lane = output % kChunk;
    const char* from = panel_at(linear, panel);
    const float* scales = float8_scales(linear, panel) + lane;
    float chunk[kChunk];
    for (int64_t i = 0; i < linear.num_inputs; ++i) {
        store_chunk(chunk, upcast_float8(from + i * kChunk));
        to[i] = chunk[lane] * scales[i / linear.group_size * kChunk];
    }
}
