// Linear layers whose weights are GGUF blocks. Needs: block_kinds.inl, linear_quantized.inl.
//
// Rows are rounded to bytes with a scale for each group of inputs that the kind has. The products
// of a group are added in integers, which is exact, and scaled by the group's own scale. Few rows
// read the panel itself; many rows read a copy of it with a byte for each code and floats for the
// scales, made once for a block of rows. Both give the same bits: layers are batch-invariant.

constexpr int kPackedRows = 4;  // most rows that read the panel itself
constexpr int kByteTileRows = YAIE_LANES == 8 ? 4 : YAIE_TILE_ROWS;  // for the registers of AVX2

// Groups of bytes and floats, in the order of a panel's: see unpack_panel.
template <int Bits_, bool has_minimum, int64_t Units>
struct UnpackedBlock {
    static constexpr int kBits = Bits_;
    static constexpr bool kHasMinimum = has_minimum;
    static constexpr int64_t kGroups = 1;
    static constexpr int64_t kUnits = Units;
    static constexpr int64_t kTermBytes = (has_minimum ? 2 : 1) * kChunk * sizeof(float);
    static constexpr int64_t kUnitBytes = kUnit * kChunk;
    static constexpr int64_t kBytes = kTermBytes + kUnits * kUnitBytes;

    const uint8_t* at;

    static YAIE_MEMBER UnpackedBlock load(const uint8_t* at) { return {at}; }

    YAIE_MEMBER GroupTerms terms(int64_t) const {
        const float* floats = (const float*)at;
        return {load_chunk(floats), has_minimum ? load_chunk(floats + kChunk) : Pair{}};
    }

    template <int Q>
    YAIE_MEMBER BitsPair quad(int64_t, int64_t unit) const {
        const uint8_t* codes = at + kTermBytes + unit * kUnitBytes + 2 * Q * kVecBytes;
        return {load_bits(codes), load_bits(codes + kVecBytes)};
    }
};

// Sums of products of the codes of a unit. Products of pairs are added in 16 bits, as many as fit.
template <int Bits_, int Rows>
struct UnitProducts {
    template <class Block>
    static YAIE_MEMBER void add(const Block& block, int64_t group, int64_t unit, const int32_t* x,
                                int64_t stride, IntPair* sum) {
#if !defined(YAIE_VNNI) && defined(__x86_64__) && YAIE_LANES >= 8
        if constexpr (Bits_ <= 5)
            add_short(block, group, unit, x, stride, sum);
        else
            add_wide(block, group, unit, x, stride, sum);
#else
        add_wide(block, group, unit, x, stride, sum);
#endif
    }

    template <class Block>
    static YAIE_MEMBER void add_wide(const Block& block, int64_t group, int64_t unit,
                                     const int32_t* x, int64_t stride, IntPair* sum) {
        one<0>(block.template quad<0>(group, unit), x, stride, sum);
        one<1>(block.template quad<1>(group, unit), x, stride, sum);
        one<2>(block.template quad<2>(group, unit), x, stride, sum);
        one<3>(block.template quad<3>(group, unit), x, stride, sum);
    }

    template <int Q>
    static YAIE_MEMBER void one(BitsPair w, const int32_t* x, int64_t stride, IntPair* sum) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            sum[r].a = dot(sum[r].a, w.a, x[r * stride + Q]);
            sum[r].b = dot(sum[r].b, w.b, x[r * stride + Q]);
        }
    }

    // Codes of 8 bits are signed if kSignedBytes.
    static YAIE_MEMBER Int dot(Int sum, Bits w, int32_t x) {
#if YAIE_LANES == 8
        if constexpr (Bits_ == 8) {
            __m256i all = _mm256_sign_epi8(_mm256_set1_epi32(x), (__m256i)w);
            __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)w), all);
            return sum + (Int)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        }
#endif
        if constexpr (Bits_ == 8)
            return dot_quads(sum, w, x);
        else
            return dot_nibbles(sum, w, x);  // up to 7 bits, a pair of products fits into 16 bits
    }

#if !defined(YAIE_VNNI) && defined(__x86_64__) && YAIE_LANES >= 8
    // 2 x 4 products of 31 and 127 are below 2^15.
    template <class Block>
    static YAIE_MEMBER void add_short(const Block& block, int64_t group, int64_t unit,
                                      const int32_t* x, int64_t stride, IntPair* sum) {
        BitsPair pairs[Rows];
        short_one<0>(block.template quad<0>(group, unit), x, stride, pairs);
        short_one<1>(block.template quad<1>(group, unit), x, stride, pairs);
        short_one<2>(block.template quad<2>(group, unit), x, stride, pairs);
        short_one<3>(block.template quad<3>(group, unit), x, stride, pairs);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            sum[r].a += add_pairs(pairs[r].a);
            sum[r].b += add_pairs(pairs[r].b);
        }
    }

    template <int Q>
    static YAIE_MEMBER void short_one(BitsPair w, const int32_t* x, int64_t stride,
                                      BitsPair* pairs) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            Bits a = multiply(w.a, x[r * stride + Q]), b = multiply(w.b, x[r * stride + Q]);
            pairs[r] = Q == 0 ? BitsPair{a, b}
                              : BitsPair{add_shorts(pairs[r].a, a), add_shorts(pairs[r].b, b)};
        }
    }
#if YAIE_LANES == 8
    static YAIE_MEMBER Bits multiply(Bits w, int32_t x) {
        return (Bits)_mm256_maddubs_epi16((__m256i)w, _mm256_set1_epi32(x));
    }
    static YAIE_MEMBER Bits add_shorts(Bits a, Bits b) {
        return (Bits)_mm256_add_epi16((__m256i)a, (__m256i)b);
    }
    static YAIE_MEMBER Int add_pairs(Bits v) {
        return (Int)_mm256_madd_epi16((__m256i)v, _mm256_set1_epi16(1));
    }
#else
    static YAIE_MEMBER Bits multiply(Bits w, int32_t x) {
        return (Bits)_mm512_maddubs_epi16((__m512i)w, _mm512_set1_epi32(x));
    }
    static YAIE_MEMBER Bits add_shorts(Bits a, Bits b) {
        return (Bits)_mm512_add_epi16((__m512i)a, (__m512i)b);
    }
    static YAIE_MEMBER Int add_pairs(Bits v) {
        return (Int)_mm512_madd_epi16((__m512i)v, _mm512_set1_epi16(1));
    }
#endif
#endif
};

template <class Block>
struct BlockTile {
    const RoundedRows& x;
    const uint8_t* panel;
    const YaieLinear& linear;
    int64_t panel_index;
    const Target& target;
    int32_t offset;  // of the codes

    template <int Rows>
    void add(int64_t row) const {
        constexpr int64_t quads = Block::kUnits * kUnitQuads;
        Pair total[Rows];
        for (int r = 0; r < Rows; ++r) total[r] = {Vec{}, Vec{}};
        const int32_t* from = (const int32_t*)row_address(x, row);
        int64_t stride = x.row_stride / kQuad;
        const uint8_t* at = panel;
        for (int64_t first = 0; first < x.groups; first += Block::kGroups, at += Block::kBytes) {
            Block block = Block::load(at);
            for (int64_t group = 0; group < Block::kGroups; ++group, from += quads) {
                const float* scales = x.scales + row * x.groups + first + group;
                const int32_t* sums = x.sums + row * x.groups + first + group;
                IntPair sum[Rows];
#pragma GCC unroll 16
                for (int r = 0; r < Rows; ++r) {
                    Int start = splat(-offset * sums[r * x.groups]);
                    sum[r] = {start, start};
                }
#pragma GCC unroll 2
                for (int64_t unit = 0; unit < Block::kUnits; ++unit)
                    UnitProducts<Block::kBits, Rows>::add(block, group, unit,
                                                          from + unit * kUnitQuads, stride, sum);
                GroupTerms terms = block.terms(group);
#pragma GCC unroll 16
                for (int r = 0; r < Rows; ++r) {
                    Vec factor = splat(scales[r * x.groups]);
                    total[r].a = fma(as_floats(sum[r].a), factor * terms.scale.a, total[r].a);
                    total[r].b = fma(as_floats(sum[r].b), factor * terms.scale.b, total[r].b);
                    if constexpr (Block::kHasMinimum) {
                        Vec all = splat(scales[r * x.groups] * (float)sums[r * x.groups]);
                        total[r].a = fma(all, terms.minimum.a, total[r].a);
                        total[r].b = fma(all, terms.minimum.b, total[r].b);
                    }
                }
            }
        }
        finish(target, linear, row, panel_index * kChunk, total, Rows);
    }
};

template <class Packed>
using UnpackedOf =
    UnpackedBlock<(Packed::kBits <= 5 ? 5 : Packed::kBits), Packed::kHasMinimum, Packed::kUnits>;

// Unpack a panel: for each group its terms as floats, then its units as bytes [4][2][kLanes][4].
template <class Packed>
static void unpack_panel(const uint8_t* from, int64_t groups, uint8_t* to) {
    typedef UnpackedOf<Packed> Unpacked;
    for (int64_t first = 0; first < groups; first += Packed::kGroups, from += Packed::kBytes) {
        Packed block = Packed::load(from);
        for (int64_t group = 0; group < Packed::kGroups; ++group, to += Unpacked::kBytes) {
            GroupTerms terms = block.terms(group);
            store_chunk((float*)to, terms.scale);
            if constexpr (Packed::kHasMinimum) store_chunk((float*)to + kChunk, terms.minimum);
            for (int64_t unit = 0; unit < Packed::kUnits; ++unit) {
                uint8_t* at = to + Unpacked::kTermBytes + unit * Unpacked::kUnitBytes;
                BitsPair quads[4] = {
                    block.template quad<0>(group, unit), block.template quad<1>(group, unit),
                    block.template quad<2>(group, unit), block.template quad<3>(group, unit)};
                __builtin_memcpy(at, quads, sizeof quads);
            }
        }
    }
}

// Multiply rows by one panel.
static void block_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row,
                        Scratch& scratch) {
    const YaieLinear& linear = *call.linear;
    const RoundedRows& x = call.rounded;
    const uint8_t* from = (const uint8_t*)panel_at(linear, panel);
    with_kind(linear.weights_kind, [&](auto tag) {
        typedef PackedBlock<decltype(tag)::kind> Packed;
        typedef UnpackedOf<Packed> Unpacked;
        if (end_row - first_row <= kPackedRows) {
            BlockTile<Packed> tile{x, from, linear, panel, call.target, offset_of(Packed::form)};
            return add_tile<BlockTile<Packed>, kPackedRows>(tile, first_row, end_row - first_row);
        }
        uint8_t* to = (uint8_t*)scratch.get(x.groups * Unpacked::kBytes);
        unpack_panel<Packed>(from, x.groups, to);
        BlockTile<Unpacked> tile{x, to, linear, panel, call.target, offset_of(Packed::form)};
        constexpr int most = Unpacked::kBits == 8 ? kByteTileRows : YAIE_TILE_ROWS;
        add_rows<BlockTile<Unpacked>, most>(tile, first_row, end_row);
    });
}
