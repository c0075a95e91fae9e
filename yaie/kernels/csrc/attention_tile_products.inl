// The two products of attention by tiles: scores and weighted values. Needs: attention_tiles.inl.
//
// With AMX they use tile registers, 32 x 32 accumulators at a time. With bf16 products alone they
// use vectors: lanes run along the keys, or the elements of values. Both operands have the same
// layout, tiles of 16 keys or elements; query vectors are taken up to YAIE_TILE_ROWS at a time.

#ifdef YAIE_AMX
// Load two tiles of keys or values. Large blocks come from the L2 cache, with the hint to leave the
// L1 cache to queries, scores and accumulators, which the whole block reuses.
template <bool is_large>
YAIE_INLINE void load_block_tiles(const uint32_t* first, const uint32_t* second) {
    if (is_large) {
        _tile_stream_loadd(6, first, 64);
        _tile_stream_loadd(7, second, 64);
    } else {
        _tile_loadd(6, first, 64);
        _tile_loadd(7, second, 64);
    }
}

// scores[q, k - begin] = queries[q, :] . keys[k, :], for Tiles x 16 query vectors, k from begin to
// end.
template <int Tiles, bool is_large>
static void score_tiles(const TileBlock& block, const TileState& state, int width, int query,
                        int begin, int end, float* scores) {
    const uint16_t* queries = state.queries + static_cast<int64_t>(query) * width;
    int64_t stride = width * sizeof(uint16_t);
    int steps = width / kTileDepth;
    YAIE_MEMORY_IS_WRITTEN;
    for (int k = begin; k < end; k += kTileDepth) {
        const uint32_t* keys =
            block.keys + static_cast<int64_t>(k / kTileRows) * steps * kTileWords;
        const uint32_t* next = keys + steps * kTileWords;
        float* to = scores + k - begin;
        _tile_zero(0);
        _tile_zero(1);
        if (Tiles == 2) {
            _tile_zero(2);
            _tile_zero(3);
        }
        for (int t = 0; t < steps; ++t) {
            _tile_loadd(4, queries + t * kTileDepth, stride);
            load_block_tiles<is_large>(keys + t * kTileWords, next + t * kTileWords);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            if (Tiles == 2) {
                _tile_loadd(5, queries + kTileRows * width + t * kTileDepth, stride);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
        }
        _tile_stored(0, to, kTileScores * 4);
        _tile_stored(1, to + kTileRows, kTileScores * 4);
        if (Tiles == 2) {
            _tile_stored(2, to + kTileRows * kTileScores, kTileScores * 4);
            _tile_stored(3, to + kTileRows * kTileScores + kTileRows, kTileScores * 4);
        }
    }
}

// accumulators[q, :] += weights[q, k - begin] * values[k, :], as above.
template <int Tiles, bool is_large>
static void add_tiles(const TileBlock& block, const TileState& state, int width, int query,
                      int begin, int end, const float* weights) {
    float* accumulators = state.accumulators + static_cast<int64_t>(query) * width;
    int64_t stride = width * sizeof(float);
    int columns = width / kTileRows;
    const uint16_t* rows = reinterpret_cast<const uint16_t*>(weights);
    YAIE_MEMORY_IS_WRITTEN;
    for (int c = 0; c < columns; c += 2) {
        float* at = accumulators + c * kTileRows;
        _tile_loadd(0, at, stride);
        _tile_loadd(1, at + kTileRows, stride);
        if (Tiles == 2) {
            _tile_loadd(2, at + kTileRows * width, stride);
            _tile_loadd(3, at + kTileRows * width + kTileRows, stride);
        }
        for (int k = begin; k < end; k += kTileDepth) {
            const uint32_t* values =
                block.values + (static_cast<int64_t>(k / kTileDepth) * columns + c) * kTileWords;
            const uint16_t* from = rows + k - begin;
            _tile_loadd(4, from, kTileScores * 4);
            load_block_tiles<is_large>(values, values + kTileWords);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            if (Tiles == 2) {
                _tile_loadd(5, from + kTileRows * 2 * kTileScores, kTileScores * 4);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
        }
        _tile_stored(0, at, stride);
        _tile_stored(1, at + kTileRows, stride);
        if (Tiles == 2) {
            _tile_stored(2, at + kTileRows * width, stride);
            _tile_stored(3, at + kTileRows * width + kTileRows, stride);
        }
    }
}

// A single tile of query vectors, the last of many, shares one copy for both block sizes.
YAIE_INLINE void multiply_scores(const TileBlock& block, const TileState& state, int width,
                                 int query, int num_queries, int begin, int end, float* scores) {
    if (num_queries <= kTileRows)
        score_tiles<1, false>(block, state, width, query, begin, end, scores);
    else if (block.is_large)
        score_tiles<2, true>(block, state, width, query, begin, end, scores);
    else
        score_tiles<2, false>(block, state, width, query, begin, end, scores);
}

YAIE_INLINE void multiply_values(const TileBlock& block, const TileState& state, int width,
                                 int query, int num_queries, int begin, int end,
                                 const float* weights) {
    if (num_queries <= kTileRows)
        add_tiles<1, false>(block, state, width, query, begin, end, weights);
    else if (block.is_large)
        add_tiles<2, true>(block, state, width, query, begin, end, weights);
    else
        add_tiles<2, false>(block, state, width, query, begin, end, weights);
}
#else
// accumulators[r] += rows[r] . words for `pairs` consecutive pairs of bf16, with the words of two
// tiles.
template <int Rows>
YAIE_INLINE void add_pairs(Pair* accumulators, const int32_t* rows, int64_t stride,
                           const uint32_t* low, const uint32_t* high, int pairs) {
    for (int p = 0; p < pairs; ++p) {
        Bits a = load_bits(low + p * kLanes), b = load_bits(high + p * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            accumulators[r].a = dot_pairs(accumulators[r].a, a, rows[r * stride + p]);
            accumulators[r].b = dot_pairs(accumulators[r].b, b, rows[r * stride + p]);
        }
    }
}

// scores[q, k - begin] = queries[q, :] . keys[k, :], for `num_queries` query vectors, k from begin
// to end.
struct ScoreRows {
    const TileBlock& block;
    const TileState& state;
    int width, query, begin, end;
    float* scores;

    template <int Rows>
    void add(int64_t row) const {
        const int32_t* queries =
            reinterpret_cast<const int32_t*>(state.queries + (query + row) * width);
        int words = width / 2 * kLanes;  // of a tile's keys
        for (int k = begin; k < end; k += kTileDepth) {
            const uint32_t* keys = block.keys + static_cast<int64_t>(k / kTileRows) * words;
            Pair accumulators[Rows] = {};
            add_pairs<Rows>(accumulators, queries, width / 2, keys, keys + words, width / 2);
            float* to = scores + row * kTileScores + k - begin;
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r) store_chunk(to + r * kTileScores, accumulators[r]);
        }
    }
};

// accumulators[q, :] += weights[q, k - begin] * values[k, :], as above.
struct ValueRows {
    const TileBlock& block;
    const TileState& state;
    int width, query, begin, end;
    const float* weights;

    template <int Rows>
    void add(int64_t row) const {
        int columns = width / kTileRows;
        for (int c = 0; c < columns; c += 2) {
            float* to = state.accumulators + (query + row) * width + c * kTileRows;
            Pair accumulators[Rows];
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r)
                accumulators[r] = load_chunk(to + static_cast<int64_t>(r) * width);
            for (int k = begin; k < end; k += kTileDepth) {
                const uint32_t* values =
                    block.values +
                    (static_cast<int64_t>(k / kTileDepth) * columns + c) * kTileWords;
                const int32_t* from =
                    reinterpret_cast<const int32_t*>(weights + row * kTileScores) + (k - begin) / 2;
                add_pairs<Rows>(accumulators, from, kTileScores, values, values + kTileWords,
                                kTileDepth / 2);
            }
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r)
                store_chunk(to + static_cast<int64_t>(r) * width, accumulators[r]);
        }
    }
};

YAIE_INLINE void multiply_scores(const TileBlock& block, const TileState& state, int width,
                                 int query, int num_queries, int begin, int end, float* scores) {
    add_rows(ScoreRows{block, state, width, query, begin, end, scores}, 0, num_queries);
}

YAIE_INLINE void multiply_values(const TileBlock& block, const TileState& state, int width,
                                 int query, int num_queries, int begin, int end,
                                 const float* weights) {
    add_rows(ValueRows{block, state, width, query, begin, end, weights}, 0, num_queries);
}
#endif
