// Kinds of weights in nibbles: what each of the 16 codes means. Needs: linear_quantized.inl.
//
// Codes become unsigned bytes below 32, whose products with a row's bytes are exact in integers,
// and have a zero point, which is subtracted from the sum.

// int4: a code is the byte itself; zero points and bf16 scales.
struct Int4Codes {
    static inline __attribute__((always_inline)) Bits bytes(Bits codes) { return codes; }

    static inline __attribute__((always_inline)) GroupScales scales(const YaieLinear& linear,
                                                                    int64_t at) {
        return GroupScales::of_nibbles(linear, at);
    }
};

// mxfp4: e2m1 numbers. Doubled they are integers: 0 1 2 3 4 6 8 12, and the same below zero. A
// scale is the exponent of a power of two.
constexpr int32_t kMxfp4Zero = 12;

struct Mxfp4Codes {
    // Return each code's doubled number plus kMxfp4Zero.
    static inline __attribute__((always_inline)) Bits bytes(Bits codes) {
#if defined(__x86_64__) && YAIE_LANES == 16
        const __m512i table = _mm512_broadcast_i32x4(
            _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
        return (Bits)_mm512_shuffle_epi8(table, (__m512i)codes);
#elif defined(__x86_64__) && YAIE_LANES == 8
        const __m256i table = _mm256_broadcastsi128_si256(
            _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
        return (Bits)_mm256_shuffle_epi8(table, (__m256i)codes);
#elif defined(__aarch64__)
        const uint8_t table[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
        return (Bits)vqtbl1q_u8(vld1q_u8(table), (uint8x16_t)codes);
#else
        // Four bytes at a time; no sum or difference leaves its byte. Of magnitudes 0 to 7, those
        // from 4 on grow by 0, 1, 2 and 5.
        Bits magnitude = codes & 0x07070707u;
        Bits is_large = ((magnitude >> 2) & 0x01010101u) * 0xffu;
        Bits growth = magnitude & 0x03030303u & is_large;
        magnitude += growth + ((growth & (growth >> 1) & 0x01010101u) << 1);
        Bits is_negative = ((codes >> 3) & 0x01010101u) * 0xffu;
        return magnitude + 0x0c0c0c0cu - ((magnitude & is_negative) << 1);
#endif
    }

    // Half the power of two, as the numbers are doubled. Exponent 0 is 2^-127, a subnormal number.
    static inline __attribute__((always_inline)) Vec power(const uint8_t* exponents) {
        Small bytes;
        __builtin_memcpy(&bytes, exponents, sizeof bytes);
        Bits bits = __builtin_convertvector(bytes, Bits) << 23;
        Bits least = Bits{} + 0x00400000u;
        return as_float((Int)(bits == 0) ? least : bits) * 0.5f;
    }

    static inline __attribute__((always_inline)) GroupScales scales(const YaieLinear& linear,
                                                                    int64_t at) {
        const uint8_t* exponents = (const uint8_t*)linear.scales + at;
        Vec zero = splat((float)kMxfp4Zero);
        return {power(exponents), power(exponents + kLanes), zero, zero};
    }
};

YAIE_INLINE GroupScales scales_of_nibbles(const YaieLinear& linear, int64_t at) {
    bool is_mxfp4 = linear.weights_kind == YAIE_WEIGHTS_MXFP4;
    return is_mxfp4 ? Mxfp4Codes::scales(linear, at) : Int4Codes::scales(linear, at);
}
