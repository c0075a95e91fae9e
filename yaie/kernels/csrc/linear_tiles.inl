// Linear layers in AMX tiles (YAIE_AMX). Needs: linear.inl, linear_quantized.inl, linear_bf16.inl.
//
// A tile is 16 rows of 64 bytes. One instruction adds the products of 16 rows by 64 bytes of inputs
// with the same inputs by 16 outputs to a tile of 16 x 16 accumulators. A tile loads a block of
// rows from contiguous memory; panels are packed as tiles. Two blocks of rows meet the two halves
// of a panel: four tiles of accumulators, so that each loaded tile is used twice.
//
// Rows of a block beyond the last are undefined, and so are their accumulators, which are never
// read. A row's result depends neither on other rows nor on the steps of inputs between stores of
// its accumulators: it is batch-invariant.

static_assert(kTileRows == kRowsInBlock, "a block of rows is a tile");
constexpr int64_t kBlockPairBytes = 2 * kTileRows * kChunk * 4;  // accumulators of two row blocks
constexpr int64_t kDepthSteps = 16;  // steps of a panel and a row block that share the L1 cache
constexpr int64_t kTileBytes = kTileRows * 64;
constexpr int64_t kPanelsAtOnce = 8;
constexpr int64_t kFewPasses =
    4;  // pairs of blocks that take less time than reading the next steps

// Nibbles are unpacked to bytes first, which too few rows do not repay.
constexpr int64_t kFewNibbleRows = 16;
// int4: up to this size a group's sum is exact in float32, with and without the weights' offset.
constexpr int64_t kMaxGroup = 4096;

// Return the step of blocks of rows as a shift, or 0 if tiles do not help this layer and row count.
static int32_t tile_shift(const YaieLinear& linear, int64_t rows) {
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT32 || has_blocks(linear)) return 0;
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT8) return 0;
    if (linear.weights_kind == YAIE_WEIGHTS_BFLOAT16) return kStepShift;
    if (linear.weights_kind == YAIE_WEIGHTS_INT8) return kStepShift;
    if (rows <= kFewNibbleRows || linear.group_size > kMaxGroup) return 0;
    return linear.group_size % 64 == 0 ? 6 : linear.group_size % 32 == 0 ? 5 : 0;
}

// Products of the first and the second block of rows with both halves of a panel.
#define YAIE_TILE_PRODUCTS(name, instruction, integers)                 \
    struct name {                                                       \
        static constexpr bool kIntegers = integers;                     \
        static inline __attribute__((always_inline)) void add_one() {   \
            instruction(0, 4, 6);                                       \
            instruction(1, 4, 7);                                       \
        }                                                               \
        static inline __attribute__((always_inline)) void add_other() { \
            instruction(2, 5, 6);                                       \
            instruction(3, 5, 7);                                       \
        }                                                               \
    };
YAIE_TILE_PRODUCTS(PairProducts, _tile_dpbf16ps, false)
YAIE_TILE_PRODUCTS(ByteProducts, _tile_dpbsud, true)
YAIE_TILE_PRODUCTS(SignedProducts, _tile_dpbssd, true)
#undef YAIE_TILE_PRODUCTS

// Rows and weights of some steps, with the distances between steps.
struct TileStream {
    const char *first, *second, *weights;
    int64_t row_step, row_stride, weight_step, steps;
    // Weights to prefetch, and their bytes per step. An explicit prefetch is necessary because tile
    // loads in flight stall, unlike the hardware prefetcher.
    const char* prefetched;
    int64_t prefetch_bytes;
};

// An empty epilogue.
struct NoEpilogue {
    YAIE_MEMBER void some(int64_t) {}
};

// `from_memory`: weights are read for the first time. They are prefetched line by line in order,
// one tile ahead: then the hardware prefetcher runs further ahead than its few line buffers allow
// explicit prefetches. `epilogue` computes in every step: vector units idle while tiles are
// multiplied.
template <class Products, bool both, bool from_memory, class Epilogue>
YAIE_INLINE void add_steps(TileStream from, Epilogue& epilogue, int64_t rows_each) {
    int64_t half = from.weight_step / 2;
    for (int64_t i = 0; i < from.steps; ++i) {
        if (from_memory)
            for (int64_t j = 0; j < 2 * kTileBytes; j += 64)
                __builtin_prefetch(from.weights + kTileBytes + j);
        else
            for (int64_t j = 0; j < from.prefetch_bytes; j += 64)
                __builtin_prefetch(from.prefetched + j, 0, 2);
        _tile_loadd(6, from.weights, 64);
        _tile_loadd(7, from.weights + half, 64);
        _tile_stream_loadd(4, from.first, from.row_stride);
        if (both) _tile_stream_loadd(5, from.second, from.row_stride);
        Products::add_one();
        if (both) Products::add_other();
        from.prefetched += from.prefetch_bytes;
        from.weights += from.weight_step;
        from.first += from.row_step;
        if (both) from.second += from.row_step;
        epilogue.some(rows_each);
    }
}

template <class Products, class Epilogue>
YAIE_INLINE void add_steps(const TileStream& from, bool both, bool from_memory, Epilogue& epilogue,
                           int64_t rows_each) {
    if (both && from_memory) return add_steps<Products, true, true>(from, epilogue, rows_each);
    if (both) return add_steps<Products, true, false>(from, epilogue, rows_each);
    if (from_memory) return add_steps<Products, false, true>(from, epilogue, rows_each);
    add_steps<Products, false, false>(from, epilogue, rows_each);
}

YAIE_INLINE void clear_accumulators() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

// Accumulators are stored as [2 * kTileRows][kChunk].
YAIE_INLINE void load_accumulators(const char* from, bool both) {
    _tile_loadd(0, from, 4 * kChunk);
    _tile_loadd(1, from + 2 * kChunk, 4 * kChunk);
    if (!both) return;
    _tile_loadd(2, from + kBlockPairBytes / 2, 4 * kChunk);
    _tile_loadd(3, from + kBlockPairBytes / 2 + 2 * kChunk, 4 * kChunk);
}

YAIE_INLINE void store_accumulators(char* to, bool both) {
    _tile_stored(0, to, 4 * kChunk);
    _tile_stored(1, to + 2 * kChunk, 4 * kChunk);
    if (!both) return;
    _tile_stored(2, to + kBlockPairBytes / 2, 4 * kChunk);
    _tile_stored(3, to + kBlockPairBytes / 2 + 2 * kChunk, 4 * kChunk);
}

// Unpack the nibbles of a panel to tiles of signed bytes, minus their zero points:
// [steps][2][rows][kLanes][4].
static void unpack_nibbles(const LinearCall& call, int64_t panel, char* to) {
    const YaieLinear& linear = *call.linear;
    const char* from = panel_at(linear, panel);
    int64_t groups = call.rounded.groups, quads = linear.group_size / kQuad;
    int64_t tile_rows = call.rounded.row_stride / kQuad, half = tile_rows * kQuad * kLanes;
    bool is_mxfp4 = linear.weights_kind == YAIE_WEIGHTS_MXFP4;
    __m512i mask = _mm512_set1_epi8(15);
    __m512i zero_low = _mm512_set1_epi8(is_mxfp4 ? kMxfp4Zero : kNibbleOffset);
    __m512i zero_high = zero_low;
    for (int64_t group = 0; group < groups; ++group) {
        if (linear.zero_points) {
            const uint8_t* zeros = linear.zero_points + (panel * groups + group) * kChunk;
            __m512i bytes = _mm512_set1_epi32(0x01010101);
            zero_low = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)zeros));
            zero_high = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)(zeros + kLanes)));
            zero_low = _mm512_mullo_epi32(zero_low, bytes);
            zero_high = _mm512_mullo_epi32(zero_high, bytes);
        }
        for (int64_t i = 0; i < quads; ++i, from += kQuad * kLanes) {
            __builtin_prefetch(from + kPrefetchBytes);
            __m512i both = _mm512_loadu_si512(from);
            __m512i low = _mm512_and_si512(both, mask);
            __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
            if (is_mxfp4) {
                low = (__m512i)Mxfp4Codes::bytes((Bits)low);
                high = (__m512i)Mxfp4Codes::bytes((Bits)high);
            }
            _mm512_storeu_si512(to, _mm512_sub_epi8(low, zero_low));
            _mm512_storeu_si512(to + half, _mm512_sub_epi8(high, zero_high));
            to += kQuad * kLanes;
            if ((i + 1) % tile_rows == 0) to += half;
        }
    }
    YAIE_MEMORY_IS_WRITTEN;
}

// Scale the accumulators of a group and add them to the totals.
static void add_scaled(const LinearCall& call, int64_t panel, int64_t group, int64_t row,
                       int64_t count, const char* accumulators, char* totals) {
    const RoundedRows& x = call.rounded;
    GroupScales of_group = scales_of_nibbles(*call.linear, (panel * x.groups + group) * kChunk);
    Pair scales{of_group.low, of_group.high};
    const float* factors = x.scales + row * x.groups + group;
    for (int64_t r = 0; r < count; ++r, accumulators += kChunk * 4, totals += kChunk * 4) {
        Vec factor = splat(factors[r * x.groups]);
        Pair total{};
        if (group) total = load_chunk((const float*)totals);
        total.a = fma(as_floats((Int)load_bits(accumulators)), factor * scales.a, total.a);
        total.b =
            fma(as_floats((Int)load_bits(accumulators + 2 * kChunk)), factor * scales.b, total.b);
        store_chunk((float*)totals, total);
    }
}

// Multiply one panel whose groups of inputs have separate scales.
static void nibble_panel(const LinearCall& call, int64_t panel, const LinearPart& part,
                         char* totals, char* spare) {
    const RoundedRows& x = call.rounded;
    char* weights = spare + kBlockPairBytes;
    unpack_nibbles(call, panel, weights);
    TileStream from{};
    from.row_step = x.step_stride;
    from.row_stride = x.row_stride;
    from.weight_step = x.row_stride * kChunk;
    from.steps = x.group_size >> x.step_shift;
    for (int64_t row = part.first_row; row < part.end_row; row += 2 * kTileRows) {
        int64_t count = min_of(2 * kTileRows, part.end_row - row);
        bool both = count > kTileRows;
        from.first = row_address(x, row);
        from.second = from.first + x.block_stride;
        from.weights = from.prefetched = weights;
        for (int64_t group = 0; group < x.groups; ++group) {
            NoEpilogue nothing;
            clear_accumulators();
            add_steps<SignedProducts>(from, both, false, nothing, 0);
            store_accumulators(spare, both);
            add_scaled(call, panel, group, row, count, spare, totals);
            from.first += from.steps * from.row_step;
            from.second += from.steps * from.row_step;
            from.weights += from.steps * from.weight_step;
        }
        totals += kBlockPairBytes;
    }
}

// Finish the accumulators of a row block with some panels: [panels][rows][kChunk]. Row by row, so
// that contiguous stores are longer than a panel: rows are pages apart.
static void finish_panels(const LinearCall& call, const LinearPart& part, int64_t panel_stride,
                          const char* accumulators) {
    for (int64_t row = part.first_row; row < part.end_row; ++row, accumulators += kChunk * 4)
        for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
            const char* at = accumulators + (panel - part.first_panel) * panel_stride;
            Pair pair = load_chunk((const float*)at);
            finish_row(call.target, *call.linear, row, panel * kChunk, pair.a, pair.b);
        }
}

#include "linear_tile_epilogues.inl"

// Multiply panels with one group of inputs. If there are more steps than the L1 cache holds,
// accumulators are stored in `accumulators` between runs of steps; the last run's are stored in one
// of the two pairs after it.
template <class Products, class Epilogue>
static void tile_panels(const LinearCall& call, const LinearPart& part, char* accumulators) {
    const YaieLinear& linear = *call.linear;
    const RoundedRows& x = call.rounded;
    int64_t row_bytes = x.block_stride / kRowsInBlock;
    int64_t steps = row_bytes >> x.step_shift, pair = 2 * kTileRows;
    int64_t passes = (part.end_row - part.first_row + pair - 1) / pair;
    int64_t depth = passes == 1 ? steps : kDepthSteps;
    char* last_accumulators[2] = {accumulators + passes * kBlockPairBytes,
                                  accumulators + (passes + 1) * kBlockPairBytes};
    int turn = 0;
    TileStream from{};
    from.row_step = x.step_stride;
    from.row_stride = x.row_stride;
    from.weight_step = x.row_stride * kChunk;
    // While rows use some steps of a panel the next steps are prefetched, given enough rows.
    bool overlaps = passes > kFewPasses;
    from.prefetch_bytes = overlaps ? round_up(from.weight_step / passes, 64) : 0;
    PendingEpilogue<Products, Epilogue> pending{call, {call}};
    for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
        for (int64_t step = 0; step < steps; step += depth) {
            from.steps = min_of(depth, steps - step);
            from.weights = panel_at(linear, panel) + step * from.weight_step;
            from.prefetched = from.weights + from.steps * from.weight_step;
            bool is_last = step + from.steps == steps;
            char* at = accumulators;
            for (int64_t row = part.first_row; row < part.end_row;
                 row += pair, at += kBlockPairBytes) {
                int64_t count = min_of(pair, part.end_row - row);
                bool both = count > kTileRows;
                from.first = row_address(x, row) + step * x.step_stride;
                from.second = from.first + x.block_stride;
                if (step)
                    load_accumulators(at, both);
                else
                    clear_accumulators();
                int64_t each = (pending.left + from.steps - 1) / from.steps;
                bool from_memory = !overlaps && row == part.first_row;
                add_steps<Products>(from, both, from_memory, pending, each);
                from.prefetched += from.prefetch_bytes * from.steps;
                if (!is_last) {
                    store_accumulators(at, both);
                    continue;
                }
                store_accumulators(last_accumulators[turn], both);
                pending.begin(last_accumulators[turn], panel, row, count);
                turn ^= 1;
            }
        }
    }
    pending.some(pending.left);
}

static void nibble_panels(const LinearCall& call, LinearPart part, Scratch& scratch) {
    int64_t rows = round_up(part.end_row - part.first_row, 2 * kTileRows);
    int64_t panel_stride = rows * kChunk * 4;
    int64_t spare_bytes = kBlockPairBytes + padded_inputs(*call.linear) * kChunk;
    char* spare = scratch.get(spare_bytes + kPanelsAtOnce * panel_stride);
    char* accumulators = spare + spare_bytes;
    int64_t end = part.end_panel;
    for (; part.first_panel < end; part.first_panel = part.end_panel) {
        part.end_panel = min_of(part.first_panel + kPanelsAtOnce, end);
        for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel)
            nibble_panel(call, panel, part,
                         accumulators + (panel - part.first_panel) * panel_stride, spare);
        finish_panels(call, part, panel_stride, accumulators);
    }
}

// Choose the epilogue: a common case if panels are whole and there is no bias.
template <class Products>
static void simple_panels(const LinearCall& call, const LinearPart& part, Scratch& scratch) {
    const YaieLinear& linear = *call.linear;
    const Target& target = call.target;
    int64_t pairs = (part.end_row - part.first_row + 2 * kTileRows - 1) / (2 * kTileRows);
    char* accumulators = scratch.get((pairs + 2) * kBlockPairBytes);
    bool is_simple = !linear.bias && part.end_panel * kChunk <= linear.num_outputs;
    bool needs_no_padding =
        linear.num_outputs % (2 * kChunk) == 0;  // gated rows only: see store_bf16
    bool non_temporal = is_non_temporal(call);
    bool is_gated = target.store == YAIE_GATED_SILU && target.rounded && needs_no_padding;
    if (is_simple && target.halves && non_temporal)
        tile_panels<Products, HalvesEpilogue>(call, part, accumulators);
    else if (is_simple && !target.halves && is_gated)
        tile_panels<Products, GatedEpilogue>(call, part, accumulators);
    else if (is_simple && !target.halves && target.store == YAIE_ADD)
        tile_panels<Products, AddEpilogue>(call, part, accumulators);
    else if (is_simple && !target.halves && !non_temporal && target.store == YAIE_SET)
        tile_panels<Products, SetEpilogue>(call, part, accumulators);
    else if (non_temporal)
        tile_panels<Products, GeneralEpilogue<true>>(call, part, accumulators);
    else
        tile_panels<Products, GeneralEpilogue<false>>(call, part, accumulators);
    if (non_temporal) fence_non_temporal();
}

static void tile_part(const LinearCall& call, const LinearPart& part, Scratch& scratch) {
    TileRegisters registers(min_of(kTileRows, part.end_row - part.first_row),
                            call.rounded.row_stride);
    switch (call.linear->weights_kind) {
        case YAIE_WEIGHTS_INT4:
        case YAIE_WEIGHTS_MXFP4: return nibble_panels(call, part, scratch);
        case YAIE_WEIGHTS_INT8: return simple_panels<ByteProducts>(call, part, scratch);
        default: return simple_panels<PairProducts>(call, part, scratch);
    }
}

static void tile_task(void* context, int64_t index, Scratch& scratch) {
    const LinearCall& call = *static_cast<const LinearCall*>(context);
    tile_part(call, part_of(call, index), scratch);
}
