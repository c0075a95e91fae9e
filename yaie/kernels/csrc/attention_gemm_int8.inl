// GEMM-like attention over an int8 pool, by products of bytes (YAIE_VNNI). Needs:
// attention_gemm.inl.
//
// Four products at a time accumulate in 32-bit integers, which is exact, so keys and values are not
// dequantized. Query vectors and weights are quantized to 16 bits, as a high and a low byte: an
// error of 2^-16 of their maximum, far below the rounding of the pool. Lanes run along the query
// vectors.

constexpr float kMaxQuery = 32600.0f;   // as two signed bytes
constexpr float kMaxWeight = 65280.0f;  // as two unsigned bytes

YAIE_INLINE Int dot_bytes(Int sum, Bits unsigned_bytes, Bits signed_bytes) {
    return (Int)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)unsigned_bytes, (__m512i)signed_bytes);
}

YAIE_INLINE Int rounded(Vec v) { return (Int)_mm512_cvtps_epi32((__m512)v); }

YAIE_INLINE Bits splat_word(const void* p) {
    uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return Bits{} + word;
}

YAIE_INLINE Vec two_bytes(Int high, Int low) {
    return __builtin_convertvector(high, Vec) * 256.0f + __builtin_convertvector(low, Vec);
}

// The quantized query vectors of a tile, in the memory of TileView::queries.
struct ByteQueries {
    int32_t* words;   // [padded key width / kQuad, 2, kTile]: four high bytes, four low bytes
    int32_t* starts;  // [2, kTile]: cancels the offset of the keys
    float* scales;    // [kTile]

    ByteQueries(const TileView& tile, int width)
        : words(reinterpret_cast<int32_t*>(tile.queries)),
          starts(words + width / kQuad * 2 * kTile),
          scales(reinterpret_cast<float*>(starts + 2 * kTile)) {}
};

static void quantize_query(const TileView& tile, int width, int lane, const float* query) {
    ByteQueries to(tile, width);
    Vec peak{};
    for (int d = 0; d < width; d += kLanes)
        peak = max_lanes(peak, as_float(as_bits(load(query + d)) & 0x7fffffffu));
    float largest = largest_of_lanes(peak);
    float factor = largest > kMinMagnitude ? kMaxQuery / largest : 0.0f;
    Int high_sum{}, low_sum{};
    for (int d = 0; d < width; d += kLanes) {
        Int whole = rounded(load(query + d) * factor);
        Int high = (whole + 128) >> 8;
        Int low = whole - (high << 8);
        high_sum += high;
        low_sum += low;
        int32_t high_words[kLanes / kQuad], low_words[kLanes / kQuad];
        _mm_storeu_si128((__m128i*)high_words, _mm512_cvtepi32_epi8((__m512i)high));
        _mm_storeu_si128((__m128i*)low_words, _mm512_cvtepi32_epi8((__m512i)low));
        for (int i = 0; i < kLanes / kQuad; ++i) {
            int32_t* word = to.words + (d / kQuad + i) * 2 * kTile + lane;
            word[0] = high_words[i];
            word[kTile] = low_words[i];
        }
    }
    to.starts[lane] = -128 * _mm512_reduce_add_epi32((__m512i)high_sum);
    to.starts[kTile + lane] = -128 * _mm512_reduce_add_epi32((__m512i)low_sum);
    to.scales[lane] = largest / kMaxQuery;
}

// One block of an int8 pool for one KV head, packed for products.
struct ByteBlock {
    uint8_t* keys;     // [n, padded key width], plus 128
    uint32_t* values;  // [n / kQuad, padded value width]: four keys' bytes in a word
    BlockScales<Int8> scales;
    bool is_finite;  // true if all scales of the values are
    int n;
};

static void pack_byte_keys(const YaieLayer& at, int head, const int64_t* slots, int width,
                           ByteBlock& block) {
    const uint8_t* base = static_cast<const uint8_t*>(at.keys) + head * at.key_head_stride;
    for (int k = 0; k < block.n; ++k) {
        const uint8_t* row = base + slots[k] * at.key_slot_stride;
        uint8_t* to = block.keys + k * width;
        int d = 0;
        for (; d + 4 * kLanes <= at.key_width; d += 4 * kLanes) {
            Bits offset = load_bits(row + d) ^ 0x80808080u;
            __builtin_memcpy(to + d, &offset, sizeof offset);
        }
        for (; d < at.key_width; ++d) to[d] = row[d] ^ 0x80u;
        for (; d < width; ++d) to[d] = 0x80u;
    }
}

static void pack_byte_values(const YaieLayer& at, int head, const int64_t* slots, int width,
                             ByteBlock& block) {
    const uint8_t* base = static_cast<const uint8_t*>(at.values) + head * at.value_head_stride;
    for (int k = 0; k < block.n; k += kQuad) {
        const uint8_t* row[kQuad];
        for (int i = 0; i < kQuad; ++i)  // beyond the block the weights are 0
            row[i] = base + slots[k + i < block.n ? k + i : block.n - 1] * at.value_slot_stride;
        uint32_t* to = block.values + k / kQuad * width;
        int d = 0;
        for (; d + 16 <= at.value_width; d += 16) {
            __m128i v[kQuad];
            for (int i = 0; i < kQuad; ++i) v[i] = _mm_loadu_si128((const __m128i*)(row[i] + d));
            __m128i low[2] = {_mm_unpacklo_epi8(v[0], v[1]), _mm_unpacklo_epi8(v[2], v[3])};
            __m128i high[2] = {_mm_unpackhi_epi8(v[0], v[1]), _mm_unpackhi_epi8(v[2], v[3])};
            _mm_storeu_si128((__m128i*)(to + d), _mm_unpacklo_epi16(low[0], low[1]));
            _mm_storeu_si128((__m128i*)(to + d + 4), _mm_unpackhi_epi16(low[0], low[1]));
            _mm_storeu_si128((__m128i*)(to + d + 8), _mm_unpacklo_epi16(high[0], high[1]));
            _mm_storeu_si128((__m128i*)(to + d + 12), _mm_unpackhi_epi16(high[0], high[1]));
        }
        for (; d < at.value_width; ++d)
            to[d] = row[0][d] | row[1][d] << 8 | row[2][d] << 16 | (uint32_t)row[3][d] << 24;
        for (; d < width; ++d) to[d] = 0;
    }
}

// scores[k, lane] for n keys, rounded up to a multiple of Rows.
template <int Rows, int Vecs>
static void score_bytes(const ByteBlock& block, int width, const ByteQueries& queries,
                        float* scores) {
    for (int k = 0; k < block.n; k += Rows) {
        const uint8_t* row = block.keys + k * width;
        Int high[Rows][Vecs], low[Rows][Vecs];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < Vecs; ++v) {
                high[r][v] = (Int)load_bits(queries.starts + v * kLanes);
                low[r][v] = (Int)load_bits(queries.starts + kTile + v * kLanes);
            }
        const int32_t* words = queries.words;
        for (int d = 0; d < width; d += kQuad, words += 2 * kTile) {
            Bits query_high[Vecs], query_low[Vecs];
#pragma GCC unroll 2
            for (int v = 0; v < Vecs; ++v) {
                query_high[v] = load_bits(words + v * kLanes);
                query_low[v] = load_bits(words + kTile + v * kLanes);
            }
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                Bits key = splat_word(row + r * width + d);
#pragma GCC unroll 2
                for (int v = 0; v < Vecs; ++v) {
                    high[r][v] = dot_bytes(high[r][v], key, query_high[v]);
                    low[r][v] = dot_bytes(low[r][v], key, query_low[v]);
                }
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < Vecs; ++v)
                store(scores + (k + r) * kTile + v * kLanes, two_bytes(high[r][v], low[r][v]) *
                                                                 load(queries.scales + v * kLanes) *
                                                                 block.scales.keys[k + r]);
    }
}

// Quantize the weights times the scales of their values to [n / kQuad, 2, kTile] words; `scales`
// undoes it.
static void round_weights(const ByteBlock& block, int vecs, float* weights, Bits* words,
                          float* scales) {
    int end = (block.n + kQuad - 1) / kQuad * kQuad;
    for (int v = 0; v < vecs; ++v) {
        float* column = weights + v * kLanes;
        Vec peak = splat(kMinMagnitude);
        for (int k = 0; k < block.n; ++k) {
            Vec weight = load(column + k * kTile) * block.scales.values[k];
            store(column + k * kTile, weight);
            peak = max_lanes(weight, peak);
        }
        for (int k = block.n; k < end; ++k) store(column + k * kTile, Vec{});
        Vec factor = kMaxWeight / peak;
        store(scales + v * kLanes,
              block.is_finite ? peak * (1.0f / kMaxWeight) : splat(__builtin_nanf("")));
        for (int k = 0; k < end; k += kQuad) {
            Bits high{}, low{};
#pragma GCC unroll 4
            for (int i = 0; i < kQuad; ++i) {
                Bits whole = (Bits)rounded(load(column + (k + i) * kTile) * factor);
                high |= (whole >> 8) << (8 * i);
                low |= (whole & 0xffu) << (8 * i);
            }
            words[k / kQuad * 4 + v] = high;
            words[k / kQuad * 4 + 2 + v] = low;
        }
    }
}

// accumulators[d, lane] = accumulators[d, lane] * factors[lane] + weights[:, lane] . values[:, d] *
// scales[lane].
template <int Rows, int Vecs>
static void add_bytes(const ByteBlock& block, int width, const Bits* weights, const float* scales,
                      const float* factors, float* accumulators) {
    int quads = (block.n + kQuad - 1) / kQuad;
    for (int d = 0; d < width; d += Rows) {
        Int high[Rows][Vecs] = {}, low[Rows][Vecs] = {};
        const uint32_t* value = block.values + d;
        for (int q = 0; q < quads; ++q, value += width) {
            Bits weight_high[Vecs], weight_low[Vecs];
#pragma GCC unroll 2
            for (int v = 0; v < Vecs; ++v) {
                weight_high[v] = weights[q * 4 + v];
                weight_low[v] = weights[q * 4 + 2 + v];
            }
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                Bits word = splat_word(value + r);
#pragma GCC unroll 2
                for (int v = 0; v < Vecs; ++v) {
                    high[r][v] = dot_bytes(high[r][v], weight_high[v], word);
                    low[r][v] = dot_bytes(low[r][v], weight_low[v], word);
                }
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < Vecs; ++v) {
                float* at = accumulators + (d + r) * kTile + v * kLanes;
                Vec found = two_bytes(high[r][v], low[r][v]) * load(scales + v * kLanes);
                store(at, load(at) * load(factors + v * kLanes) + found);
            }
    }
}

static void attend_int8_block(const TileView& tile, const Layer& layer, const ByteBlock& block,
                              int32_t first_position, float* scores, Bits* words) {
    BlockView view(tile, layer, block.n, first_position);
    if (!view.is_seen) return;
    ByteQueries queries(tile, layer.keys);
    alignas(64) float factors[kTile], scales[kTile];
    if (tile.vecs == 2)
        score_bytes<4, 2>(block, layer.keys, queries, scores);
    else
        score_bytes<8, 1>(block, layer.keys, queries, scores);
    softmax_gemm(tile, layer, block.n, first_position, view.is_masked, scores, factors);
    round_weights(block, tile.vecs, scores, words, scales);
    if (tile.vecs == 2)
        add_bytes<4, 2>(block, layer.values, words, scales, factors, tile.accumulators);
    else
        add_bytes<8, 1>(block, layer.values, words, scales, factors, tile.accumulators);
}

static void attend_gemm_int8(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                             int kv_head, Scratch& scratch) {
    int num_queries = static_cast<int>(item.end_row - item.first_row) * layer.group;
    int num_tiles = (num_queries + kTile - 1) / kTile;
    constexpr int block_keys = static_cast<int>(kKeysInBlock);
    int row_floats = layer.keys > layer.values ? layer.keys : layer.values;
    int64_t floats = block_keys / kQuad * layer.values + block_keys * kTile + row_floats +
                     static_cast<int64_t>(num_tiles) * tile_floats(layer);
    size_t view_bytes = padded(num_tiles * sizeof(TileView), 64);
    char* memory = scratch.get(view_bytes + floats * sizeof(float) + block_keys * layer.keys);
    TileView* tiles = reinterpret_cast<TileView*>(memory);
    float* scores = reinterpret_cast<float*>(memory + view_bytes);
    float* row_buffer = scores + block_keys * kTile;
    float* state = row_buffer + row_floats;
    ByteBlock block;
    block.values = reinterpret_cast<uint32_t*>(state + num_tiles * tile_floats(layer));
    block.keys = reinterpret_cast<uint8_t*>(block.values + block_keys / kQuad * layer.values);
    for (int t = 0; t < num_tiles; ++t) {
        int count = num_queries - t * kTile < kTile ? num_queries - t * kTile : kTile;
        tiles[t].divide(state + t * tile_floats(layer), layer);
        begin_tile<Int8, true>(call, layer, item, kv_head, t * kTile, count, tiles[t], row_buffer);
    }
    Bits words[block_keys / kQuad * 4];
    for (int64_t key = 0; key < item.num_keys; key += block_keys) {
        block.n =
            static_cast<int>(item.num_keys - key < block_keys ? item.num_keys - key : block_keys);
        const int64_t* slots = item.slots + key;
        pack_byte_keys(layer.at, kv_head, slots, layer.keys, block);
        pack_byte_values(layer.at, kv_head, slots, layer.values, block);
        block.scales.gather(layer.at, slots, block.n, kv_head);
        float nothing = 0;
        for (int k = 0; k < block.n; ++k) nothing += block.scales.values[k] * 0.0f;
        block.is_finite = nothing == 0;
        int32_t position = static_cast<int32_t>(item.first_position + key);
        for (int t = 0; t < num_tiles; ++t)
            attend_int8_block(tiles[t], layer, block, position, scores, words);
    }
    for (int t = 0; t < num_tiles; ++t) {
        int count = num_queries - t * kTile < kTile ? num_queries - t * kTile : kTile;
        end_tile<Int8>(call, layer, item, kv_head, t * kTile, count, tiles[t], row_buffer);
    }
}
