// Linear layers: y = x W^T (+ bias), with weights packed once at load and streamed once a call.
// Needs: simd.inl, decoder.h.
//
// A panel holds the weights of kChunk outputs, input after input, so that one pass over it reads
// memory in order. A tile is a group of rows that meets one panel: its accumulators, one for each
// row and output, stay in registers for the whole pass. Each kind of weights has one or two pairs
// of them:
//
//   weights      panel                                           tile          file
//   fp32         [inputs][kChunk]                                FloatTile     linear_float.inl
//   bf16         [inputs / 2][kChunk] words                      FloatTile     linear_float.inl
//                (low half: input 2 i, high half: 2 i + 1)       PairTile      linear_bf16.inl
//   float8       [inputs][kChunk] bytes                          FloatTile     linear_float8.inl
//   int8, int4   see linear_quantized.inl                        Byte-, NibbleTile
//   GGUF blocks  see block_kinds.inl                             BlockTile     linear_blocks.inl
//   with AMX     [words / 16][2][16][kLanes] words, two AMX      AMX's own     linear_tiles.inl
//                tiles after each other (bf16 and int8)
//
// A panel type has `at(panel, i)`, the weights of inputs i and i + 1, or `add(...)`, which adds the
// products of some inputs; a tile type has `add<Rows>(row)`, which computes `Rows` rows from `row`
// on with its panel and passes them to the epilogue (linear_epilogue.inl). Weights are packed by
// linear_pack.inl. Inputs are padded with zeros to packed_inputs. Accumulators are float32, or
// int32 for a group of quantized weights.
//
// If the processor multiplies bf16, rows are rounded to bf16 once a call and use the panels
// directly. Otherwise rows stay float32 and weights are upcast: for few rows in registers, while
// the panel is in cache; for many rows once for a block of them.

constexpr int64_t kMinPanelBytes = 32 << 10;  // weights per task, to repay starting a stream
// Input bytes per block, to fit in the L2 cache: processors with AMX have 2 MiB.
constexpr int64_t kRowBlockBytes = kHasAmx ? 17 << 16 : 768 << 10;
constexpr int64_t kPrefetchWords = 1024;
// Return whether a tile of `rows` prefetches its panel's next words. Rows are divided into tiles of
// equal size, so a tile of less than half the maximum is alone and waits for memory. There the
// hardware prefetchers of AMD's processors, which use this set (see instruction_sets.py), are
// faster undisturbed.
YAIE_INLINE constexpr bool prefetches_words(int rows) {
    return kHasBf16 && !kHasAmx ? rows >= YAIE_TILE_ROWS / 2 : rows > 0;
}
// Tasks for each thread. Threads wait for the last task: with many rows, of which a task takes a
// millisecond, small tasks are better; with few rows, long streams of weights are.
constexpr int64_t kReadingRows = 128;
constexpr int64_t kTasksReading = 8, kTasksMultiplying = 32;

#include "linear_rows.inl"
#include "linear_epilogue.inl"

struct LinearCall {
    const YaieLinear* linear;
    const float* x;
    int64_t x_stride, rows;
    Target target;
    int64_t row_block, panel_group, num_groups, num_panels;
    RoundedRows rounded;
    int64_t streams;
};

YAIE_INLINE bool has_blocks(const YaieLinear& linear) {
    return yaie::has_blocks(linear.weights_kind);
}

YAIE_INLINE bool is_quantized(const YaieLinear& linear) {
    return linear.weights_kind >= YAIE_WEIGHTS_INT8 && linear.weights_kind != YAIE_WEIGHTS_FLOAT8;
}

YAIE_INLINE int64_t padded_inputs(const YaieLinear& linear) {
    return packed_inputs(linear.weights_kind, linear.num_inputs);
}

YAIE_INLINE int64_t panel_bytes(const YaieLinear& linear) {
    if (has_blocks(linear))
        return block_output_bytes(linear.weights_kind, linear.num_inputs) * kChunk;
    int64_t weights = padded_inputs(linear) * kChunk;
    switch (linear.weights_kind) {
        case YAIE_WEIGHTS_FLOAT32: return weights * 4;
        case YAIE_WEIGHTS_BFLOAT16: return weights * 2;
        case YAIE_WEIGHTS_FLOAT8:
        case YAIE_WEIGHTS_INT8: return weights;
        default: return weights / 2;
    }
}

YAIE_INLINE const char* panel_at(const YaieLinear& linear, int64_t panel) {
    return (const char*)linear.weights + panel * panel_bytes(linear);
}

// A prefetch of the next panel while the tiles of rows use this one: each tile prefetches some
// lines, so that reading continues during multiplication. A single tile prefetches its own panel.
struct PanelPrefetch {
    const char* at;
    int64_t lines;  // 64-byte lines per step of words

    YAIE_MEMBER void advance() {
        for (int64_t i = 0; i < lines; ++i, at += 64) __builtin_prefetch(at, 0, 2);
    }
};

constexpr int64_t kWordsInStep = 16;  // divides the words of bf16 and int8 panels
constexpr int64_t kLinesInStep = kWordsInStep * kChunk * 4 / 64;

// As add_rows; tiles have a PanelPrefetch. With more tiles than cache lines in a step, reading a
// panel is a small part of multiplying it.
template <class Tile>
static void add_rows_prefetching(Tile tile, const YaieLinear& linear, int64_t panel,
                                 int64_t first_row, int64_t end_row) {
    const char* next = panel_at(linear, panel + 1);
    int64_t steps = panel_bytes(linear) / (kLinesInStep * 64);
    cut_into_tiles(first_row, end_row, [&](int64_t t, int64_t tiles, int64_t row, int64_t rows) {
        int64_t first = kLinesInStep * t / tiles, end = kLinesInStep * (t + 1) / tiles;
        bool prefetches = tiles > 1 && tiles <= kLinesInStep;
        tile.prefetch = {next + first * steps * 64, prefetches ? end - first : 0};
        add_tile(tile, row, rows);
    });
}

static void quantized_panel(const LinearCall& call, int64_t panel, int64_t first_row,
                            int64_t end_row);
static void block_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row,
                        Scratch& scratch);
static RoundedRows round_to_bytes(Pool& pool, const LinearCall& call, int32_t tile_shift);
// Defined if the set has bf16 products.
static void round_to_bf16(Pool& pool, const LinearCall& call);
static void round_row(const float* x, int64_t inputs, const RoundedRows& to, int64_t row);
static RoundedRows bf16_rows(const YaieLinear& linear, char* memory);
static int64_t bf16_bytes(const YaieLinear& linear, int64_t rows);
static void bf16_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row);
// Defined if the set has AMX.
static int32_t tile_shift(const YaieLinear& linear, int64_t rows);
static void tile_task(void* context, int64_t index, Scratch& scratch);
struct LinearPart;
static void tile_part(const LinearCall& call, const LinearPart& part, Scratch& scratch);

#include "linear_float.inl"

// The rows and panels of a task.
struct LinearPart {
    int64_t first_row, end_row, first_panel, end_panel;
};

// Threads claim tasks in turns, so every `streams`-th task mostly belongs to one thread: these get
// adjacent panels, and the thread continues its stream of memory.
YAIE_INLINE int64_t in_streams(int64_t index, int64_t count, int64_t streams) {
    int64_t stream = index % streams;
    return stream * (count / streams) + min_of(stream, count % streams) + index / streams;
}

YAIE_INLINE LinearPart part_of(const LinearCall& call, int64_t index) {
    int64_t first_row = index / call.num_groups * call.row_block;
    int64_t group = in_streams(index % call.num_groups, call.num_groups, call.streams);
    int64_t first_panel = group * call.panel_group;
    return {first_row, min_of(first_row + call.row_block, call.rows), first_panel,
            min_of(first_panel + call.panel_group, call.num_panels)};
}

static void linear_part(const LinearCall& call, const LinearPart& part, Scratch& scratch) {
    for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
        if (has_blocks(*call.linear)) {
            block_panel(call, panel, part.first_row, part.end_row, scratch);
            continue;
        }
        if (is_quantized(*call.linear)) {
            quantized_panel(call, panel, part.first_row, part.end_row);
            continue;
        }
        if constexpr (kHasBf16 && !kHasAmx)
            if (call.rounded.bytes) {
                bf16_panel(call, panel, part.first_row, part.end_row);
                continue;
            }
        float_panel(call, panel, part.first_row, part.end_row, scratch);
    }
}

static void linear_task(void* context, int64_t index, Scratch& scratch) {
    const LinearCall& call = *static_cast<const LinearCall*>(context);
    linear_part(call, part_of(call, index), scratch);
}

// Round the rows if the weights need it and the caller has not, and return the task function.
static Task prepare_rows(Pool& pool, LinearCall& call) {
    const YaieLinear& linear = *call.linear;
    int32_t shift = 0;
    if constexpr (kHasAmx) shift = tile_shift(linear, call.rows);
    if (is_quantized(linear)) call.rounded = round_to_bytes(pool, call, shift);
    if constexpr (kHasBf16)
        if (linear.weights_kind == YAIE_WEIGHTS_BFLOAT16 && !call.rounded.bytes) {
            char* memory = pool.caller_memory().get(bf16_bytes(linear, call.rows));
            call.rounded = bf16_rows(linear, memory);
            round_to_bf16(pool, call);
        }
    if constexpr (kHasAmx)
        if (shift) return tile_task;
    return linear_task;
}

static void run_linear(Pool& pool, const YaieLinear& linear, const float* x, int64_t x_stride,
                       int64_t rows, const Target& target, const RoundedRows& rounded = {}) {
    if (rows <= 0) return;
    LinearCall call{&linear, x, x_stride, rows, target, 0, 0, 0, 0, rounded, pool.threads()};
    Task task = prepare_rows(pool, call);
    int64_t row_bytes = call.rounded.bytes ? call.rounded.block_stride / kRowsInBlock
                                           : linear.num_inputs * (int64_t)sizeof(float);
    int64_t step = call.rounded.blocked ? 2 * kRowsInBlock : YAIE_TILE_ROWS;
    call.num_panels = (linear.num_outputs + kChunk - 1) / kChunk;
    int64_t block = max_of(kRowBlockBytes / row_bytes / step * step, 4 * step);
    int64_t blocks = (rows + block - 1) / block;
    call.row_block = round_up((rows + blocks - 1) / blocks, call.rounded.blocked ? step : 1);
    int64_t least = max_of(1, kMinPanelBytes / panel_bytes(linear));
    int64_t wanted = pool.threads() * (rows > kReadingRows ? kTasksMultiplying : kTasksReading);
    call.panel_group = max_of(least, call.num_panels * blocks / wanted);
    call.panel_group = min_of(call.panel_group, call.num_panels);
    call.num_groups = (call.num_panels + call.panel_group - 1) / call.panel_group;
    pool.run(task, &call, call.num_groups * blocks);
}

static void whole_linear(Pool& pool, const YaieLinear& linear, const float* x, int64_t rows,
                         float* y, int32_t store, float factor) {
    int64_t y_stride = is_gated_store(store) ? linear.num_outputs / 2 : linear.num_outputs;
    run_linear(pool, linear, x, linear.num_inputs, rows, Target{y, y_stride, store, factor});
}

#include "linear_pack.inl"
