// GEMM-like attention: lanes run along the query vectors. Keys and values are broadcast element by
// element. Needs: attention.inl.

constexpr int kTile = 2 * kLanes;  // query vectors per tile
#if YAIE_REGISTERS >= 32
constexpr int kGemmRows =
    8;  // keys or value elements; times two vectors of accumulators in registers
#else
constexpr int kGemmRows = 4;
#endif
static_assert(kKeysInBlock % 8 == 0 && kChunk % 8 == 0, "the register tiles leave no remainder");

// scores[k, lane] = keys[k, :] . queries[:, lane], for n keys rounded up to a multiple of Rows.
template <int Rows, int Vecs>
static void score_tile(const float* keys, int width, int n, const float* queries, float* scores) {
    for (int k = 0; k < n; k += Rows) {
        const float* row = keys + static_cast<int64_t>(k) * width;
        Vec accumulators[Rows][Vecs] = {};
        for (int d = 0; d < width; ++d) {
            Vec query[Vecs];
#pragma GCC unroll 8
            for (int v = 0; v < Vecs; ++v) query[v] = load(queries + d * kTile + v * kLanes);
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r) {
                float key = row[r * width + d];
#pragma GCC unroll 8
                for (int v = 0; v < Vecs; ++v) accumulators[r][v] += query[v] * key;
            }
        }
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < Vecs; ++v)
                store(scores + (k + r) * kTile + v * kLanes, accumulators[r][v]);
    }
}

// accumulators[d, lane] = accumulators[d, lane] * factors[lane] + weights[:, lane] . values[:, d].
template <int Rows, int Vecs>
static void add_values(const float* values, int width, int n, const float* weights,
                       const float* factors, float* accumulators) {
    for (int d = 0; d < width; d += Rows) {
        Vec tile[Rows][Vecs];
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < Vecs; ++v)
                tile[r][v] =
                    load(accumulators + (d + r) * kTile + v * kLanes) * load(factors + v * kLanes);
        const float* value = values + d;
        for (int k = 0; k < n; ++k, value += width) {
            Vec weight[Vecs];
#pragma GCC unroll 8
            for (int v = 0; v < Vecs; ++v) weight[v] = load(weights + k * kTile + v * kLanes);
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
                for (int v = 0; v < Vecs; ++v) tile[r][v] += weight[v] * value[r];
        }
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < Vecs; ++v)
                store(accumulators + (d + r) * kTile + v * kLanes, tile[r][v]);
    }
}

// The state of kTile query vectors of one KV head.
struct TileView {
    float* queries;       // [padded key width, kTile], scaled
    float* accumulators;  // [padded value width, kTile]
    float* maxima;        // [kTile]
    float* totals;        // [kTile]
    int32_t* positions;   // [kTile]
    int32_t lowest, highest;
    int vecs;

    void divide(float* state, const Layer& layer) {
        queries = state;
        accumulators = queries + layer.keys * kTile;
        maxima = accumulators + layer.values * kTile;
        totals = maxima + kTile;
        positions = reinterpret_cast<int32_t*>(totals + kTile);
    }
};

static int tile_floats(const Layer& layer) { return (layer.keys + layer.values + 3) * kTile; }

static void quantize_query(const TileView& tile, int width, int lane, const float* query);

// Turn the scores of n keys into weights, in place; `factors` rescales the accumulators.
static void softmax_gemm(const TileView& tile, const Layer& layer, int n, int32_t first_position,
                         bool masked, float* scores, float* factors) {
    int32_t window = layer.at.sliding_window;
    for (int v = 0; v < tile.vecs; ++v) {
        float* column = scores + v * kLanes;
        if (layer.softcap_log2 > 0)
            for (int k = 0; k < n; ++k)
                store(column + k * kTile, tanh(load(column + k * kTile)) * layer.softcap_log2);
        if (masked) {
            Int position;
            __builtin_memcpy(&position, tile.positions + v * kLanes, sizeof position);
            Int oldest = window > 0 ? position - window : splat(int32_t{-1});
            for (int k = 0; k < n; ++k) {
                Int key = splat(first_position + k);
                Int seen = (key <= position) & (key > oldest);
                store(column + k * kTile, seen ? load(column + k * kTile) : splat(kMasked));
            }
        }
        Vec old = load(tile.maxima + v * kLanes);
        Vec peak = old;
        for (int k = 0; k < n; ++k) peak = max_lanes(peak, load(column + k * kTile));
        Vec factor = exp2(old - peak);
        Vec total = load(tile.totals + v * kLanes) * factor;
        for (int k = 0; k < n; ++k) {
            Vec weight = exp2(load(column + k * kTile) - peak);
            store(column + k * kTile, weight);
            total += weight;
        }
        store(tile.maxima + v * kLanes, peak);
        store(tile.totals + v * kLanes, total);
        store(factors + v * kLanes, factor);
    }
}

template <class T, bool AsBytes = false>
static void begin_tile(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                       int kv_head, int first_query, int num_queries, TileView& tile,
                       float* row_buffer) {
    tile.vecs = num_queries > kLanes ? 2 : 1;
    tile.lowest = INT32_MAX;
    tile.highest = -1;
    for (int i = 0; i < layer.keys * kTile; i += kLanes) store(tile.queries + i, Vec{});
    for (int i = 0; i < layer.values * kTile; i += kLanes) store(tile.accumulators + i, Vec{});
    for (int i = 0; i < kTile; ++i) {
        tile.maxima[i] = kMasked;
        tile.totals[i] = 0;
        tile.positions[i] = INT32_MAX;  // padding lanes see every key
    }
    for (int i = 0; i < num_queries; ++i) {
        int64_t row = item.first_row + (first_query + i) / layer.group;
        int64_t head =
            static_cast<int64_t>(kv_head) * layer.group + (first_query + i) % layer.group;
        int32_t position = static_cast<int32_t>(call.step->positions[row]);
        tile.positions[i] = position;
        if (position < tile.lowest) tile.lowest = position;
        if (position > tile.highest) tile.highest = position;
        upcast_query<T>(layer, row, head, row_buffer);
        if constexpr (AsBytes) {
            quantize_query(tile, layer.keys, i, row_buffer);
            continue;
        }
        for (int d = 0; d < layer.keys; ++d) tile.queries[d * kTile + i] = row_buffer[d];
    }
}

template <class T>
static void end_tile(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                     int kv_head, int first_query, int num_queries, const TileView& tile,
                     float* row_buffer) {
    for (int i = 0; i < num_queries; ++i) {
        int64_t row = item.first_row + (first_query + i) / layer.group;
        int64_t head =
            static_cast<int64_t>(kv_head) * layer.group + (first_query + i) % layer.group;
        for (int d = 0; d < layer.values; ++d) row_buffer[d] = tile.accumulators[d * kTile + i];
        finish_query<T>(call, layer, item, row, head, row_buffer, tile.maxima[i], tile.totals[i]);
    }
}

// The visibility of a block of keys for a tile.
struct BlockView {
    bool is_seen, is_masked;

    BlockView(const TileView& tile, const Layer& layer, int n, int32_t first_position) {
        int32_t last_position = first_position + n - 1;
        int32_t window = layer.at.sliding_window;
        is_seen =
            first_position <= tile.highest && (window <= 0 || last_position > tile.lowest - window);
        is_masked =
            last_position > tile.lowest || (window > 0 && first_position <= tile.highest - window);
    }
};

// Attend to one upcast block of keys, for one tile.
static void attend_gemm_block(const TileView& tile, const Layer& layer, const float* keys,
                              const float* values, int n, int32_t first_position, float* scores) {
    BlockView view(tile, layer, n, first_position);
    if (!view.is_seen) return;
    float factors[kTile];
    if (tile.vecs == 2)
        score_tile<kGemmRows, 2>(keys, layer.keys, n, tile.queries, scores);
    else
        score_tile<8, 1>(keys, layer.keys, n, tile.queries, scores);
    softmax_gemm(tile, layer, n, first_position, view.is_masked, scores, factors);
    if (tile.vecs == 2)
        add_values<kGemmRows, 2>(values, layer.values, n, scores, factors, tile.accumulators);
    else
        add_values<8, 1>(values, layer.values, n, scores, factors, tile.accumulators);
}

template <class T>
static void upcast_block(const void* pool, int64_t slot_stride, int64_t offset,
                         const int64_t* slots, int n, int width, int padded_width,
                         const float* scales, int64_t heads, float* to) {
    const T* base = static_cast<const T*>(pool) + offset;
    for (int k = 0; k < n; ++k)
        upcast_row<T>(base + slots[k] * slot_stride, width, to + k * padded_width,
                      splat(scales ? scales[slots[k] * heads] : 1.0f));
    for (int k = n; k % 8; ++k)
        for (int d = 0; d < padded_width; d += kLanes) store(to + k * padded_width + d, Vec{});
}

template <class T>
static void attend_gemm(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                        int kv_head, Scratch& scratch) {
    int num_queries = static_cast<int>(item.end_row - item.first_row) * layer.group;
    int num_tiles = (num_queries + kTile - 1) / kTile;
    constexpr int block = static_cast<int>(kKeysInBlock);
    int row_floats = layer.keys > layer.values ? layer.keys : layer.values;
    int64_t floats = static_cast<int64_t>(block) * (layer.keys + layer.values + kTile) +
                     row_floats + static_cast<int64_t>(num_tiles) * tile_floats(layer);
    size_t view_bytes = padded(num_tiles * sizeof(TileView), 64);
    char* memory = scratch.get(view_bytes + floats * sizeof(float));
    TileView* tiles = reinterpret_cast<TileView*>(memory);
    float* keys = reinterpret_cast<float*>(memory + view_bytes);
    float* values = keys + block * layer.keys;
    float* scores = values + block * layer.values;
    float* state = scores + block * kTile;
    float* row_buffer = state + static_cast<int64_t>(num_tiles) * tile_floats(layer);
    for (int t = 0; t < num_tiles; ++t, state += tile_floats(layer)) {
        int count = num_queries - t * kTile < kTile ? num_queries - t * kTile : kTile;
        tiles[t].divide(state, layer);
        begin_tile<T>(call, layer, item, kv_head, t * kTile, count, tiles[t], row_buffer);
    }
    const YaieLayer& at = layer.at;
    const float* key_scales = at.key_scales ? at.key_scales + kv_head : nullptr;
    const float* value_scales = at.value_scales ? at.value_scales + kv_head : nullptr;
    for (int64_t key = 0; key < item.num_keys; key += block) {
        int n = static_cast<int>(item.num_keys - key < block ? item.num_keys - key : block);
        const int64_t* slots = item.slots + key;
        upcast_block<T>(at.keys, at.key_slot_stride, kv_head * at.key_head_stride, slots, n,
                        at.key_width, layer.keys, key_scales, at.num_kv_heads, keys);
        upcast_block<T>(at.values, at.value_slot_stride, kv_head * at.value_head_stride, slots, n,
                        at.value_width, layer.values, value_scales, at.num_kv_heads, values);
        int32_t position = static_cast<int32_t>(item.first_position + key);
        for (int t = 0; t < num_tiles; ++t)
            attend_gemm_block(tiles[t], layer, keys, values, n, position, scores);
    }
    for (int t = 0; t < num_tiles; ++t) {
        int count = num_queries - t * kTile < kTile ? num_queries - t * kTile : kTile;
        end_tile<T>(call, layer, item, kv_head, t * kTile, count, tiles[t], row_buffer);
    }
}
