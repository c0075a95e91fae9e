// Attention by products of bf16 tiles (YAIE_BF16). Needs: attention.inl, tiles.inl.
//
// With AMX, a tile is 16 rows of 64 bytes: one instruction adds the product of 16 x 32 and 32 x 16
// elements to 16 x 16 float32 accumulators, and reads its second operand as interleaved pairs of
// rows. A block of keys is packed once for all query vectors of a work item: keys transposed,
// values in order. Query vectors are rows of a tile throughout, and lanes run along the keys in
// between. Vector products of pairs use the same layout. Queries and weights are rounded to bf16,
// accumulators are float32.
//
// Weights are relative to a maximum that may be too small by kSlack, so that accumulators are
// rarely rescaled: rounding is relative, and float32 has room for larger numbers.

constexpr int kTileWords = kTileRows * 16;   // of 32 bits
constexpr int kTileQueries = 2 * kTileRows;  // query vectors whose scores are computed together
// Keys of a block. For few query vectors a block stays in the L1 cache with its scores; for many it
// is read from the L2 cache once for each kTileQueries, whose accumulators then stay in the L1
// cache.
constexpr int kFewQueries = 2 * kTileQueries;
constexpr int kTileKeys = 64;
constexpr int kManyTileKeys = 512;
constexpr int kTileBatch =
    256;  // keys of a block whose scores are computed before values are added
// In floats. The padding beyond the keys spreads the rows over the sets of the cache.
constexpr int kTileScores = kTileBatch + 16;
constexpr float kSlack = 8.0f;
static_assert(kTileKeys % kTileDepth == 0 && kManyTileKeys % kTileDepth == 0 &&
                  kTileBatch % kTileDepth == 0,
              "keys are laid out in whole tiles");

// Return 2^x within 2^-13 relative: weights are rounded to bf16 anyway. x is clamped to -100,
// because products of smaller numbers could become subnormal, which is slow. NaN stays NaN.
YAIE_INLINE Vec coarse_exp2(Vec x) {
    x = (Vec)_mm512_max_ps((__m512)splat(-100.0f),
                           (__m512)x);            // the second operand if they are unordered
    Vec f = (Vec)_mm512_reduce_ps((__m512)x, 1);  // x - floor(x)
    Vec p = splat(0.07802448f);
    p = fma(p, f, splat(0.22606728f));
    p = fma(p, f, splat(0.69583346f));
    p = fma(p, f, splat(0.99992523f));
    return (Vec)_mm512_scalef_ps((__m512)p, (__m512)x);
}

YAIE_INLINE void store_words(void* to, __m512i words) { _mm512_storeu_si512(to, words); }

// One block of one KV head: words [keys / 16, key width / 32, 16 pairs of elements, 16 keys], and
// [keys / 32, value width / 16, 16 pairs of keys, 16 elements], elements in the chunk order of T.
struct TileBlock {
    uint32_t* keys;
    uint32_t* values;
    int n;
    bool is_large;  // of kManyTileKeys, so it resides in the L2 cache
    BlockScales<Int8, kManyTileKeys> scales;
};

// Transpose 32 elements of 16 keys into a tile, from rows of 64 bytes at `offset`.
YAIE_INLINE void transpose_words(const char* const* rows, int64_t offset, uint32_t* to) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
        __m512i v[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            __m128i part[4];
#pragma GCC unroll 4
            for (int g = 0; g < 4; ++g)
                part[g] = _mm_loadu_si128((const __m128i*)(rows[i + 4 * g] + offset + 16 * c));
            __m512i x = _mm512_castsi128_si512(part[0]);
            x = _mm512_inserti32x4(x, part[1], 1);
            x = _mm512_inserti32x4(x, part[2], 2);
            v[i] = _mm512_inserti32x4(x, part[3], 3);
        }
        __m512i low[2] = {_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpacklo_epi32(v[2], v[3])};
        __m512i high[2] = {_mm512_unpackhi_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[2], v[3])};
        uint32_t* words = to + c * 4 * 16;
        store_words(words, _mm512_unpacklo_epi64(low[0], low[1]));
        store_words(words + 16, _mm512_unpackhi_epi64(low[0], low[1]));
        store_words(words + 32, _mm512_unpacklo_epi64(high[0], high[1]));
        store_words(words + 48, _mm512_unpackhi_epi64(high[0], high[1]));
    }
}

// Gather 32 elements of 16 keys, from `offset` on.
YAIE_INLINE void gather_tile(const Bf16* const* rows, int offset, uint32_t* to) {
    transpose_words(reinterpret_cast<const char* const*>(rows), offset * sizeof(Bf16), to);
}

YAIE_INLINE void gather_tile(const Int8* const* rows, int offset, uint32_t* to) {
    alignas(64) uint16_t upcasted[kTileRows][kTileDepth];
    const char* at[kTileRows];
    for (int i = 0; i < kTileRows; ++i) {
        const Int8* row = rows[i] + offset;
        store_words(upcasted[i], (__m512i)_mm512_cvtne2ps_pbh((__m512)upcast_bytes(row + kLanes),
                                                              (__m512)upcast_bytes(row)));
        at[i] = reinterpret_cast<const char*>(upcasted[i]);
    }
    transpose_words(at, 0, to);
}

// Beyond the block are copies of its last key, which are masked.
template <class T>
static void pack_tile_keys(const YaieLayer& at, int head, const int64_t* slots, int n, uint32_t* to,
                           BlockPrefetch<T>& prefetch) {
    const T* base = static_cast<const T*>(at.keys) + head * at.key_head_stride;
    for (int k = 0; k < (n + kTileDepth - 1) / kTileDepth * kTileDepth; k += kTileRows) {
        const T* rows[kTileRows];
        for (int i = 0; i < kTileRows; ++i)
            rows[i] = base + slots[k + i < n ? k + i : n - 1] * at.key_slot_stride;
        prefetch.rows(2);
        YAIE_MEMORY_IS_WRITTEN;  // or compilers keep the rows in vectors
        for (int d = 0; d < at.key_width; d += kTileDepth, to += kTileWords)
            gather_tile(rows, d, to);
    }
}

// Interleave two keys' values: elements of the first half of the chunk, and of the second.
YAIE_INLINE void pair_values(const Bf16* first, const Bf16* second, uint32_t* to) {
    __m512i a = _mm512_loadu_si512(first), b = _mm512_loadu_si512(second);
    store_words(to, _mm512_mask_blend_epi16(0xaaaaaaaau, a, _mm512_slli_epi32(b, 16)));
    store_words(to + kTileWords, _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(a, 16), b));
}

YAIE_INLINE void pair_values(const Int8* first, const Int8* second, uint32_t* to) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        Bits a = as_bits(upcast_bytes(first + half * kLanes));
        Bits b = as_bits(upcast_bytes(second + half * kLanes));
        store_words(to + half * kTileWords, (__m512i)((a >> 16) | b));
    }
}

// Beyond the block are copies of its last key's values: their weights are 0.
template <class T>
static void pack_tile_values(const YaieLayer& at, int head, const int64_t* slots, int n,
                             uint32_t* to, BlockPrefetch<T>& prefetch) {
    const T* base = static_cast<const T*>(at.values) + head * at.value_head_stride;
    int chunks = at.value_width / kTileDepth;
    for (int k = 0; k < n; k += kTileDepth, to += chunks * 2 * kTileWords)
        for (int pair = 0; pair < kTileRows; ++pair) {
            if (pair % 2 == 0) prefetch.rows(1);
            int key = k + 2 * pair;
            const T* first = base + slots[key < n ? key : n - 1] * at.value_slot_stride;
            const T* second = base + slots[key + 1 < n ? key + 1 : n - 1] * at.value_slot_stride;
            for (int c = 0; c < chunks; ++c)
                pair_values(first + c * kTileDepth, second + c * kTileDepth,
                            to + c * 2 * kTileWords + pair * 16);
        }
}

// The query vectors of one work item and one KV head; their number is rounded up to kTileRows.
struct TileState {
    uint16_t* queries;    // [queries, key width], not scaled
    float* accumulators;  // [queries, value width], in the chunk order of T
    float* maxima;        // [queries]
    float* totals;        // [queries, kLanes], one sum for each lane of keys
};

#include "attention_tile_products.inl"

// Update the running softmax of one query vector with keys `begin` to `end`, whole chunks, of which
// it sees those from `first` to before `last`. Scores, from begin on, become bf16 weights in place.
// Plain: it sees all of them, and scores need no more than a scale.
template <bool Plain>
YAIE_INLINE void softmax_row(const TileBlock& block, const Layer& layer, int begin, int end,
                             int first, int last, float* scores, float* accumulators,
                             float* maximum, float* total) {
    float scale = layer.query_scale;
    Int lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    Vec peak = splat(kMasked);
    for (int k = begin; k < end; k += kLanes) {
        Vec score = load(scores + k - begin);
        if (!Plain) {
            score *= scale;
            if (layer.at.key_scales) score *= load(block.scales.keys + k);
            if (layer.softcap_log2 > 0) score = tanh(score) * layer.softcap_log2;
            Int key = lane + k;
            score = ((key >= first) & (key < last)) ? score : splat(kMasked);
            store(scores + k - begin, score);
        }
        peak = max_lanes(score, peak);
    }
    if (!Plain) scale = 1;
    float old = *maximum;
    Vec sum = load(total);
    // Rare, so lanes are compared only here.
    if (_mm512_cmp_ps_mask((__m512)(peak * scale), (__m512)splat(old + kSlack), _CMP_GT_OQ)) {
        float found = _mm512_reduce_max_ps((__m512)peak) * scale;
        Vec factor = exp2(splat(old - found));
        sum *= factor;
        for (int d = 0; d < layer.values; d += kLanes)
            store(accumulators + d, load(accumulators + d) * factor);
        *maximum = old = found;
    }
    uint16_t* weights = reinterpret_cast<uint16_t*>(scores);
    for (int k = begin; k < end; k += 2 * kLanes) {
        const float* at = scores + k - begin;
        Vec weight[2];
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
            weight[i] = coarse_exp2(fma(load(at + i * kLanes), splat(scale), splat(-old)));
            if (!Plain) {
                // Scales beyond the block are undefined; within it, masked keys count as in other
                // forms.
                Int is_there = lane + (k + i * kLanes) < block.n;
                sum += is_there ? weight[i] : Vec{};
                if (layer.at.value_scales) weight[i] *= load(block.scales.values + k + i * kLanes);
                weight[i] = is_there ? weight[i] : Vec{};
            } else {
                sum += weight[i];
            }
        }
        store_words(weights + k - begin,
                    (__m512i)_mm512_cvtne2ps_pbh((__m512)weight[1], (__m512)weight[0]));
    }
    store(total, sum);
}

// Up to kTileQueries query vectors of a work item, relative to the block.
struct TileQueries {
    int first_query, num_queries;  // in the state
    const int32_t* positions;      // [queries]
    int32_t first_position;        // of the block
    int to_prefetch;               // slots to prefetch with each query vector and batch of keys
};

// Attend to keys `begin` to `end`, at most kTileBatch. Plain: all query vectors see all of them.
template <class T, bool Plain>
static void attend_tile_batch(const TileBlock& block, const Layer& layer, const TileState& state,
                              const TileQueries& queries, int begin, int end, float* scores,
                              BlockPrefetch<T>& prefetch) {
    int query = queries.first_query, num_queries = queries.num_queries;
    multiply_scores(block, state, layer.keys, query, num_queries, begin, end, scores);
    int32_t window = layer.at.sliding_window;
    for (int i = 0; i < num_queries; ++i) {
        prefetch.rows(queries.to_prefetch);
        int first = 0, last = 0;
        if (!Plain) {
            int32_t position = queries.positions[i] - queries.first_position;
            first = window > 0 ? position - window + 1 : 0;
            last = static_cast<int>(min_of(block.n, int64_t{position} + 1));
        }
        softmax_row<Plain>(block, layer, begin, end, first, last, scores + i * kTileScores,
                           state.accumulators + static_cast<int64_t>(query + i) * layer.values,
                           state.maxima + query + i, state.totals + (query + i) * kLanes);
    }
    multiply_values(block, state, layer.values, query, num_queries, begin, end, scores);
}

// Attend to one block of keys: first the keys that the window hides from some query vectors; then
// those that all see; then the newest, which some do not see yet.
template <class T>
static void attend_tile_block(const TileBlock& block, const Layer& layer, const TileState& state,
                              const TileQueries& queries, float* scores,
                              BlockPrefetch<T>& prefetch) {
    int32_t window = layer.at.sliding_window, first_position = queries.first_position;
    int32_t lowest = queries.positions[0], highest = queries.positions[0];
    for (int i = 1; i < queries.num_queries; ++i) {
        if (queries.positions[i] < lowest) lowest = queries.positions[i];
        if (queries.positions[i] > highest) highest = queries.positions[i];
    }
    // Range of visible keys for a query vector at a position, relative to the block.
    auto seen_from = [&](int32_t position) {
        return window > 0
                   ? static_cast<int>(max_of(0, int64_t{position} - window + 1 - first_position))
                   : 0;
    };
    auto seen_to = [&](int32_t position) {
        int64_t end = max_of(0, int64_t{position} + 1 - first_position);
        return static_cast<int>(min_of(block.n, end));
    };
    int begin = seen_from(lowest), end = seen_to(highest);
    if (begin >= end) return;
    auto whole = [](int keys) { return keys / kTileDepth * kTileDepth; };
    begin = whole(begin);
    int plain_begin = whole(static_cast<int>(min_of(seen_from(highest), end)) + kTileDepth - 1);
    int plain_end = whole(seen_to(lowest));
    end = whole(end + kTileDepth - 1);
    if (layer.softcap_log2 > 0 || layer.at.key_scales || plain_begin >= plain_end)
        plain_begin = plain_end = end;
    for (int k = begin; k < end;) {
        bool plain = k >= plain_begin && k < plain_end;
        int stop = k < plain_begin ? plain_begin : plain ? plain_end : end;
        int next = stop - k < kTileBatch ? stop : k + kTileBatch;
        if (plain)
            attend_tile_batch<T, true>(block, layer, state, queries, k, next, scores, prefetch);
        else
            attend_tile_batch<T, false>(block, layer, state, queries, k, next, scores, prefetch);
        k = next;
    }
}

static void round_query(const float* from, int width, uint16_t* to) {
    for (int d = 0; d < width; d += kChunk)
        store_words(to + d, (__m512i)_mm512_cvtne2ps_pbh((__m512)load(from + d + kLanes),
                                                         (__m512)load(from + d)));
}

static void round_query(const Bf16* from, int width, uint16_t* to) {
    __builtin_memcpy(to, from, width * sizeof(uint16_t));
}

static void round_query(const Fp16* from, int width, uint16_t* to) {
    for (int d = 0; d < width; d += kChunk)
        store_chunk(reinterpret_cast<Bf16*>(to) + d, load_chunk(from + d));
}

static void load_tile_query(const Layer& layer, int64_t row, int64_t head, uint16_t* to) {
    const YaieLayer& at = layer.at;
    int64_t first = row * at.query_row_stride + head * at.query_head_stride;
    if (at.dtype == YAIE_FLOAT32)
        round_query(static_cast<const float*>(at.queries) + first, at.key_width, to);
    else if (at.dtype == YAIE_BFLOAT16)
        round_query(static_cast<const Bf16*>(at.queries) + first, at.key_width, to);
    else
        round_query(static_cast<const Fp16*>(at.queries) + first, at.key_width, to);
}

template <class T>
static void attend_tiles(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                         int first_head, int end_head, Scratch& scratch) {
    const YaieLayer& at = layer.at;
    int heads = end_head - first_head;
    int num_queries = static_cast<int>(item.end_row - item.first_row) * layer.group;
    int64_t padded_queries = padded(num_queries, kTileRows);
    int block_keys = num_queries > kFewQueries ? kManyTileKeys : kTileKeys;
    // All parts are multiples of 64 bytes.
    int64_t block_bytes = static_cast<int64_t>(block_keys) * (layer.keys + layer.values) * 2;
    int64_t score_bytes = kTileQueries * kTileScores * sizeof(float);
    int64_t query_bytes = layer.keys * 2 + (layer.values + 1 + kLanes) * sizeof(float);
    int64_t position_bytes = padded_queries * sizeof(int32_t);
    char* memory = scratch.get(block_bytes + score_bytes + position_bytes +
                               heads * padded_queries * query_bytes);
    TileBlock block;
    block.is_large = block_keys == kManyTileKeys;
    block.keys = reinterpret_cast<uint32_t*>(memory);
    block.values = block.keys + block_keys * layer.keys / 2;
    float* scores = reinterpret_cast<float*>(memory + block_bytes);
    int32_t* positions = reinterpret_cast<int32_t*>(memory + block_bytes + score_bytes);
    char* states = memory + block_bytes + score_bytes + position_bytes;
    auto state_of = [&](int head) {
        TileState state;
        char* at_state = states + (head - first_head) * padded_queries * query_bytes;
        state.queries = reinterpret_cast<uint16_t*>(at_state);
        state.accumulators = reinterpret_cast<float*>(state.queries + padded_queries * layer.keys);
        state.totals = state.accumulators + padded_queries * layer.values;
        state.maxima = state.totals + padded_queries * kLanes;
        return state;
    };
    for (int i = 0; i < num_queries; ++i)
        positions[i] = static_cast<int32_t>(call.step->positions[item.first_row + i / layer.group]);
    for (int head = first_head; head < end_head; ++head) {
        TileState state = state_of(head);
        for (int i = 0; i < num_queries; ++i) {
            load_tile_query(layer, item.first_row + i / layer.group,
                            static_cast<int64_t>(head) * layer.group + i % layer.group,
                            state.queries + i * layer.keys);
            state.maxima[i] = kMasked;
        }
        __builtin_memset(state.queries + num_queries * layer.keys, 0,
                         (padded_queries - num_queries) * layer.keys * sizeof(uint16_t));
        __builtin_memset(state.accumulators, 0,
                         padded_queries * (layer.values + kLanes) * sizeof(float));
    }
#ifdef YAIE_AMX
    TileRegisters registers(kTileRows, 64);
#endif
    for (int64_t key = 0; key < item.num_keys; key += block_keys) {
        const int64_t* slots = item.slots + key;
        int64_t left = item.num_keys - key;
        block.n = static_cast<int>(min_of(left, block_keys));
        for (int head = first_head; head < end_head; ++head) {
            int next_n = static_cast<int>(min_of(left - block.n, block_keys));
            BlockPrefetch<T> prefetch =
                prefetch_after<T>(at, first_head, end_head, head, slots, block.n, next_n);
            pack_tile_keys<T>(at, head, slots, block.n, block.keys, prefetch);
            pack_tile_values<T>(at, head, slots, block.n, block.values, prefetch);
            if (at.key_scales) block.scales.gather(at, slots, block.n, head);
            TileState state = state_of(head);
            int batches = (block.n + kTileBatch - 1) / kTileBatch;
            for (int query = 0; query < num_queries; query += kTileQueries) {
                int turns =
                    (num_queries - query) * batches;  // of all query vectors, visible or not
                int to_prefetch = (prefetch.left + turns - 1) / turns;
                TileQueries queries{query,
                                    static_cast<int>(min_of(num_queries - query, kTileQueries)),
                                    positions + query,
                                    static_cast<int32_t>(item.first_position + key), to_prefetch};
                attend_tile_block(block, layer, state, queries, scores, prefetch);
            }
        }
    }
    for (int head = first_head; head < end_head; ++head) {
        TileState state = state_of(head);
        for (int i = 0; i < num_queries; ++i)
            finish_query<T>(call, layer, item, item.first_row + i / layer.group,
                            static_cast<int64_t>(head) * layer.group + i % layer.group,
                            state.accumulators + static_cast<int64_t>(i) * layer.values,
                            state.maxima[i],
                            _mm512_reduce_add_ps((__m512)load(state.totals + i * kLanes)));
    }
}
