// Kinds of GGUF blocks, and their panels. Needs: linear.inl.
//
// A block has a scale, and perhaps a minimum, for its inputs; in larger blocks each group of inputs
// has a small factor on both. A weight is
//
//   scale * factor * (code - offset) - minimum * factor of the minimum
//
// where a code is a number or an index into a table. Panels hold the blocks of kChunk outputs with
// the numbers of the file, reordered: one block of inputs after the other, and in it
//
//   scales [kChunk], minimums [kChunk], factors [groups][kChunk], the minimums' factors, codes
//
// Codes are cut into planes of 4, 2 and 1 bits, or are bytes. A unit is the codes of 16 inputs: its
// nibbles [4][kLanes][4] (low: output j, high: output kLanes + j), its pairs of bits [2][kLanes][4]
// and its single bits [kLanes][4]; its bytes are [4][2][kLanes][4]. Factors that a file packs in 6
// bits take a byte: at most 4 % more bytes than the file. No weight is rounded again.

constexpr int64_t kUnit = 16;  // inputs
constexpr int64_t kUnitQuads = kUnit / kQuad;
constexpr int64_t kVecBytes = kLanes * 4;
// AVX2 multiplies bytes fastest if the weights are signed.
constexpr bool kSignedBytes = YAIE_LANES == 8;

constexpr int offset_of(const BlockForm& form) {
    return form.offset == kSignedOffset ? (kSignedBytes ? 0 : 128) : form.offset;
}

// Bits of the products of a code: table kinds have larger numbers than codes.
constexpr int product_bits(const BlockForm& form) {
    return form.table == Table::iq4 ? 8 : form.table == Table::fp4 ? 5 : form.bits;
}

template <int32_t Kind>
struct KindTag {
    static constexpr int32_t kind = Kind;
};

// Call `each(KindTag<kind>)`.
template <class Each>
YAIE_INLINE auto with_kind(int32_t kind, Each each) {
    switch (kind) {
        case YAIE_WEIGHTS_Q8_0: return each(KindTag<YAIE_WEIGHTS_Q8_0>{});
        case YAIE_WEIGHTS_Q4_0: return each(KindTag<YAIE_WEIGHTS_Q4_0>{});
        case YAIE_WEIGHTS_Q4_1: return each(KindTag<YAIE_WEIGHTS_Q4_1>{});
        case YAIE_WEIGHTS_Q5_0: return each(KindTag<YAIE_WEIGHTS_Q5_0>{});
        case YAIE_WEIGHTS_Q5_1: return each(KindTag<YAIE_WEIGHTS_Q5_1>{});
        case YAIE_WEIGHTS_Q2_K: return each(KindTag<YAIE_WEIGHTS_Q2_K>{});
        case YAIE_WEIGHTS_Q3_K: return each(KindTag<YAIE_WEIGHTS_Q3_K>{});
        case YAIE_WEIGHTS_Q4_K: return each(KindTag<YAIE_WEIGHTS_Q4_K>{});
        case YAIE_WEIGHTS_Q5_K: return each(KindTag<YAIE_WEIGHTS_Q5_K>{});
        case YAIE_WEIGHTS_Q6_K: return each(KindTag<YAIE_WEIGHTS_Q6_K>{});
        case YAIE_WEIGHTS_IQ4_NL: return each(KindTag<YAIE_WEIGHTS_IQ4_NL>{});
        case YAIE_WEIGHTS_IQ4_XS: return each(KindTag<YAIE_WEIGHTS_IQ4_XS>{});
        default: return each(KindTag<YAIE_WEIGHTS_GGUF_MXFP4>{});
    }
}

YAIE_INLINE const int8_t* table_of(Table table) {
    alignas(16) static constexpr int8_t iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};
    alignas(16) static constexpr int8_t fp4[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                   0, -1, -2, -3, -4, -6, -8, -12};
    return table == Table::iq4 ? iq4 : fp4;
}

// Replace each byte, a nibble, by the entry of a table plus an offset.
YAIE_INLINE Bits look_up(Bits nibbles, const int8_t* table, int offset) {
#if defined(__x86_64__) && YAIE_LANES == 16
    __m128i entries = _mm_load_si128((const __m128i*)table);
    entries = _mm_add_epi8(entries, _mm_set1_epi8((char)offset));
    return (Bits)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), (__m512i)nibbles);
#elif defined(__x86_64__) && YAIE_LANES == 8
    __m128i entries = _mm_load_si128((const __m128i*)table);
    entries = _mm_add_epi8(entries, _mm_set1_epi8((char)offset));
    return (Bits)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), (__m256i)nibbles);
#elif defined(__aarch64__)
    int8x16_t entries = vaddq_s8(vld1q_s8(table), vdupq_n_s8((int8_t)offset));
    return (Bits)vqtbl1q_s8(entries, (uint8x16_t)nibbles);
#else
    uint8_t bytes[kVecBytes];
    __builtin_memcpy(bytes, &nibbles, sizeof bytes);
    for (int i = 0; i < kVecBytes; ++i) bytes[i] = (uint8_t)(table[bytes[i]] + offset);
    return load_bits(bytes);
#endif
}

// Load kLanes fp16 numbers, in order.
YAIE_INLINE Vec load_halves(const uint8_t* p) {
#if defined(__x86_64__) && YAIE_LANES == 16
    return (Vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p));
#elif defined(__x86_64__) && YAIE_LANES == 8
    return (Vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p));
#else
    typedef uint16_t Halves __attribute__((vector_size(kLanes * 2)));
    Halves v;
    __builtin_memcpy(&v, p, sizeof v);
    return upcast_fp16(__builtin_convertvector(v, Bits) << 16);
#endif
}

// Load kLanes bytes as integers.
YAIE_INLINE Int load_unsigned(const uint8_t* p) {
#if defined(__x86_64__) && YAIE_LANES == 16
    return (Int)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
#elif defined(__x86_64__) && YAIE_LANES == 8
    return (Int)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
#else
    Small v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Int);
#endif
}

// Load kLanes scales of MXFP4: 2^(exponent - 128), as its table has twice the values.
YAIE_INLINE Vec load_exponents(const uint8_t* p) {
    Int e = load_unsigned(p);
    Int tiny = e == 0 ? splat(0x00200000) : splat(0x00400000);
    return as_float((Bits)(e < 2 ? tiny : (e - 1) << 23));
}

// Move `width` bits of each byte from one place to another, and clear the rest.
template <int From, int To, int Width>
YAIE_INLINE Bits move_bits(Bits v) {
    constexpr uint32_t mask = ((1u << Width) - 1) << To;
    if constexpr (From > To)
        v >>= From - To;
    else if constexpr (To > From)
        v <<= To - From;
    return v & (mask * 0x01010101u);
}

struct BitsPair {
    Bits a, b;
};

// The codes of a kind's unit, one quad of inputs at a time.
template <int32_t Kind>
struct UnitCodes {
    static constexpr BlockForm form = form_of(Kind);
    static constexpr int64_t kBytes = kUnit * form.bits / 8 * kChunk;
    static constexpr int64_t kPairsAt = form.bits >= 4 ? 4 * kVecBytes : 0;
    static constexpr int64_t kSinglesAt = form.bits >= 4 ? 4 * kVecBytes : 2 * kVecBytes;

    template <int Q>
    static YAIE_MEMBER BitsPair quad(const uint8_t* at) {
        if constexpr (form.bits == 8)
            return {load_bits(at + 2 * Q * kVecBytes), load_bits(at + (2 * Q + 1) * kVecBytes)};
        BitsPair codes{};
        if constexpr (form.bits >= 4) {
            Bits both = load_bits(at + Q * kVecBytes);
            codes = {move_bits<0, 0, 4>(both), move_bits<4, 0, 4>(both)};
        }
        if constexpr (form.bits == 6 || form.bits < 4) {
            Bits pairs = load_bits(at + kPairsAt + Q / 2 * kVecBytes);
            constexpr int from = Q % 2 * 4, to = form.bits == 6 ? 4 : 0;
            codes.a |= move_bits<from, to, 2>(pairs);
            codes.b |= move_bits<from + 2, to, 2>(pairs);
        }
        if constexpr (form.bits == 5 || form.bits == 3) {
            Bits singles = load_bits(at + kSinglesAt);
            constexpr int to = form.bits - 1;
            codes.a |= move_bits<2 * Q, to, 1>(singles);
            codes.b |= move_bits<2 * Q + 1, to, 1>(singles);
        }
        if constexpr (form.table != Table::none) {
            const int8_t* table = table_of(form.table);
            codes = {look_up(codes.a, table, offset_of(form)),
                     look_up(codes.b, table, offset_of(form))};
        }
        return codes;
    }
};

// What a group's integer sums are multiplied by, and what is added for its sum of inputs.
struct GroupTerms {
    Pair scale, minimum;
};

// A block of a panel in the kind of its file.
template <int32_t Kind>
struct PackedBlock {
    static constexpr BlockForm form = form_of(Kind);
    static constexpr BlockPlaces places = places_of(form);
    static constexpr int kBits = product_bits(form);
    static constexpr bool kHasMinimum = form.has_minimum;
    static constexpr int64_t kBytes = places.end * kChunk;
    static constexpr int64_t kGroups = form.inputs / form.group;
    static constexpr int64_t kUnits = form.group / kUnit;  // of a group

    const uint8_t* at;
    Pair scale, minimum;

    static YAIE_MEMBER PackedBlock load(const uint8_t* at) {
        PackedBlock block{at, Pair{}, Pair{}};
        if constexpr (form.has_exponent)
            block.scale = {load_exponents(at), load_exponents(at + kLanes)};
        else
            block.scale = {load_halves(at), load_halves(at + 2 * kLanes)};
        if constexpr (form.has_minimum) {
            const uint8_t* from = at + places.minimums * kChunk;
            block.minimum = {load_halves(from), load_halves(from + 2 * kLanes)};
        }
        return block;
    }

    static YAIE_MEMBER Pair times(Pair x, Int low, Int high) {
        return {x.a * as_floats(low), x.b * as_floats(high)};
    }

    YAIE_MEMBER GroupTerms terms(int64_t group) const {
        if constexpr (form.factors == Factors::none) return {scale, minimum};
        const uint8_t* from = at + (places.factors + group) * kChunk;
        Int low = load_unsigned(from), high = load_unsigned(from + kLanes);
        if constexpr (form.factors == Factors::signed_bytes)  // stored plus 128
            return {times(scale, low - 128, high - 128), Pair{}};
        if constexpr (form.factors == Factors::nibbles)
            return {times(scale, low & 15, high & 15),
                    times({-minimum.a, -minimum.b}, low >> 4, high >> 4)};
        from = at + (places.minimum_factors + group) * kChunk;
        return {times(scale, low, high),
                times({-minimum.a, -minimum.b}, load_unsigned(from), load_unsigned(from + kLanes))};
    }

    template <int Q>
    YAIE_MEMBER BitsPair quad(int64_t group, int64_t unit) const {
        const uint8_t* codes = at + places.codes * kChunk;
        return UnitCodes<Kind>::template quad<Q>(codes +
                                                 (group * kUnits + unit) * UnitCodes<Kind>::kBytes);
    }
};
