// Low-rank adapters in AMX tiles (YAIE_AMX), for weights in bf16. Needs: adapters.inl's types.
//
// Rows of one adapter share each tile of its weights: a task reads them once and multiplies up to
// kTileRows rows. Inputs and the results in between are rounded to bf16, as a linear layer's inputs
// are; sums are float32. A row's result does not depend on other rows.
//
//   down  [rank / columns][steps][kTileRows][columns] words; a word has two inputs
//   up    [padded outputs / kChunk][rank / depth][2][depth / 2][kLanes] words; a word has two ranks
//
// The rank is padded with zeros: to an even number, or to whole tiles if there are several.

YAIE_INLINE int64_t padded_rank(int64_t rank) {
    return rank <= kTileRows ? round_up(rank, 2) : round_up(rank, kTileDepth);
}

// Return the first row's inputs in steps of kTileRows x 64 bytes, of which `count` rows are used.
static const char* thin_tile_inputs(const ThinCall& call, int64_t first, int64_t count,
                                    char* memory, int64_t steps) {
    if (!call.x) return row_address(*call.rounded, first);
    RoundedRows to{};
    place_rows(to, steps * kTileDepth * (int64_t)sizeof(Bf16), kStepShift, true);
    to.bytes = memory;
    for (int64_t r = 0; r < count; ++r)
        round_row(call.x + (first + r) * call.width, call.width, to, r);
    return memory;
}

// Add the products of one step in accumulator `n`.
#define YAIE_THIN_STEP(n)                                                                \
    for (int64_t j = 0; j < bytes; j += 64) __builtin_prefetch(weights + 2 * bytes + j); \
    _tile_loadd(4, x, 64);                                                               \
    _tile_loadd(6, weights, columns * 4);                                                \
    _tile_dpbf16ps(n, 4, 6);                                                             \
    x += kTileBytes;                                                                     \
    weights += bytes;

// t[row][0 to columns] = x[row] . down, in bf16. Four accumulators take turns: one would wait for
// its last product.
static const char* thin_tile_down(const char* x, const char* weights, int64_t steps, int64_t count,
                                  int64_t columns, char* sums, uint16_t* t, int64_t rank) {
    int64_t bytes = kTileRows * columns * 4, step = 0;
    clear_accumulators();
    for (; step + 4 <= steps; step += 4) {
        YAIE_THIN_STEP(0)
        YAIE_THIN_STEP(1)
        YAIE_THIN_STEP(2)
        YAIE_THIN_STEP(3)
    }
    for (; step < steps; ++step) {
        YAIE_THIN_STEP(0)
    }
    _tile_stored(0, sums, 64);
    _tile_stored(1, sums + kTileBytes, 64);
    _tile_stored(2, sums + 2 * kTileBytes, 64);
    _tile_stored(3, sums + 3 * kTileBytes, 64);
    YAIE_MEMORY_IS_WRITTEN;
    for (int64_t r = 0; r < count; ++r) {
        const char* at = sums + r * 64;
        Vec sum = load((const float*)at) + load((const float*)(at + kTileBytes));
        Vec other =
            load((const float*)(at + 2 * kTileBytes)) + load((const float*)(at + 3 * kTileBytes));
        __m256bh rounded = _mm512_cvtneps_pbh((__m512)(sum + other));
        __builtin_memcpy(t + r * rank, &rounded, columns * sizeof(Bf16));
    }
    return weights;
}
#undef YAIE_THIN_STEP

// Add a task's products: y[row] += factor * (x[row] down) up.
static void thin_tiles(const ThinCall& call, const ThinPart& part, const YaieLowRank& low_rank,
                       int64_t first, int64_t count, Scratch& scratch) {
    int64_t rank = padded_rank(low_rank.rank),
            steps = round_up(call.width, kTileDepth) / kTileDepth;
    int64_t columns = min_of(rank, (int64_t)kTileRows), depth = min_of(rank, (int64_t)kTileDepth);
    char* sums =
        scratch.get(4 * kTileBytes + kTileRows * rank * (int64_t)sizeof(Bf16) + kTileBytes * steps);
    char* memory = sums + 4 * kTileBytes;
    uint16_t* t = (uint16_t*)(memory + kTileBytes * steps);
    const char* x = thin_tile_inputs(call, first, count, memory, steps);
    const char* up = (const char*)low_rank.up;
    for (int64_t j = 0; j < 2 * kTileBytes; j += 64) __builtin_prefetch(up + j, 0, 2);
    {
        TileRegisters registers(count, 64, columns);
        const char* down = (const char*)low_rank.down;
        for (int64_t k = 0; k < rank; k += columns)
            down = thin_tile_down(x, down, steps, count, columns, sums, t + k, rank);
    }
    YAIE_MEMORY_IS_WRITTEN;
    TileRegisters registers(count, depth * (int64_t)sizeof(Bf16), kTileRows);
    int64_t bytes = depth / 2 * 64;
    _tile_loadd(4, t, rank * sizeof(Bf16));
    for (int64_t output = 0; output < part.outputs; output += kChunk) {
        _tile_zero(0);
        _tile_zero(1);
        for (int64_t k = 0; k < rank; k += depth, up += 2 * bytes) {
            if (rank > depth) _tile_loadd(4, t + k, rank * sizeof(Bf16));
            for (int64_t j = 0; j < 2 * bytes; j += 64) __builtin_prefetch(up + 2 * kTileBytes + j);
            _tile_loadd(6, up, 64);
            _tile_loadd(7, up + bytes, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        }
        // Two places in turn: results are added while the next products are computed.
        char* at = sums + (output / kChunk % 2) * 2 * kTileBytes;
        _tile_stored(0, at, 4 * kChunk);
        _tile_stored(1, at + 2 * kChunk, 4 * kChunk);
        YAIE_MEMORY_IS_WRITTEN;
        for (int64_t r = 0; r < count; ++r)
            add_thin_chunk(call, part, first + r, output,
                           load_chunk((const float*)(at + r * 4 * kChunk)));
    }
}
