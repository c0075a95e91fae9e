// Linear layers: y = x W^T (+ bias), with weights packed once at load and streamed once a call.
//
// A panel holds the weights of kChunk outputs, input after input, so that one pass reads memory in
// order:
//
//   bf16   [panels][inputs / 2][kChunk] words     low half: input 2 i, high half: input 2 i + 1
//   fp32   [panels][inputs][kChunk]
//
//   with tiles, bf16 and int8   [panels][words / 16][2][16][kLanes] words     two tiles after another
//
//   int8, int4   see linear_integer.inl
//
// Inputs are padded with zeros to packed_inputs. Sums are float32.
//
// Where the processor multiplies bf16 numbers, rows are rounded to bf16 once a call and meet panels
// as they are (linear_bf16.inl, linear_tiles.inl). Elsewhere rows stay float32 and weights are
// widened: for few rows on the way, while a panel is in cache; for many rows once for a block of them.

constexpr int64_t kFewRows = 4 * YAIE_TILE_ROWS;
constexpr int64_t kLeastPanelBytes = 32 << 10;  // of weights in a task: a stream worth starting
// Of inputs in a block, which should stay in the L2 cache: processors with tiles have 2 MiB of it.
#ifdef YAIE_AMX
constexpr int64_t kRowBlockBytes = 17 << 16;
#else
constexpr int64_t kRowBlockBytes = 768 << 10;
#endif
constexpr int64_t kPrefetchWords = 1024;
// Whether a tile of so many rows asks for its panel's next words. Rows are cut into tiles of one size, so
// one that has less than half of the rows that fit has no other beside it and waits for memory alone. There
// the prefetchers of AMD's processors, the ones that use this set (see instruction_sets.py), do better
// undisturbed.
YAIE_INLINE constexpr bool asks_for_words(int rows) {
#if defined(YAIE_BF16) && !defined(YAIE_AMX)
    return rows >= YAIE_TILE_ROWS / 2;
#else
    return rows > 0;
#endif
}
// Tasks for each thread. The threads wait for whoever has the last one: with many rows, of which a task
// takes a millisecond, small ones are better; with few, long streams of weights are.
constexpr int64_t kReadingRows = 128;
constexpr int64_t kTasksReading = 8, kTasksMultiplying = 32;

// Rows as signed bytes, for integer weights, or as bf16 numbers.
struct RoundedRows {
    char* bytes;
    int64_t block_stride, row_stride, step_stride;  // in bytes: kRowsInBlock rows, a row, a step
    int32_t step_shift;  // a step of a row is 1 << step_shift bytes that lie together
    bool blocked;
    // Of integers:
    int64_t groups, group_size;
    float* scales;  // [rows, groups]
    int32_t* sums;  // [rows, groups] of the bytes
};

constexpr int64_t kRowsInBlock = 16;
constexpr int64_t kRowsInRound = 4;
constexpr int32_t kStepShift = 6;  // the bytes of a row of a tile

// One after the other, or in blocks [steps][kRowsInBlock][step], where a step of a block is what a
// tile holds.
YAIE_INLINE void place_rows(RoundedRows& rows, int64_t row_bytes, int32_t step_shift, bool blocked) {
    int64_t step = (int64_t)1 << step_shift;
    rows.blocked = blocked;
    rows.step_shift = step_shift;
    rows.block_stride = kRowsInBlock * row_bytes;
    rows.row_stride = blocked ? step : row_bytes;
    rows.step_stride = blocked ? kRowsInBlock * step : step;
}

// Where word `i` of an output lies in its panel: two bf16 inputs or four bytes.
YAIE_INLINE int64_t word_of(int64_t i, int64_t lane) {
#ifdef YAIE_AMX
    int64_t tile = i / kTileRows * 2 + lane / kLanes;
    return (tile * kTileRows + i % kTileRows) * kLanes + lane % kLanes;
#else
    return i * kChunk + lane;
#endif
}

YAIE_INLINE char* row_of(const RoundedRows& rows, int64_t row) {
    return rows.bytes + row / kRowsInBlock * rows.block_stride + row % kRowsInBlock * rows.row_stride;
}

// Byte `i` of a row.
YAIE_INLINE char* byte_of(const RoundedRows& rows, char* row, int64_t i) {
    return row + (i >> rows.step_shift) * rows.step_stride + (i & ((1 << rows.step_shift) - 1));
}

YAIE_INLINE int64_t round_up(int64_t count, int64_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

// Where sums go. A gated pair of outputs lies in one panel: the gate in the first half, the value in
// the second, and kLanes numbers come out of it.
struct Target {
    float* y;  // [rows, outputs]
    int64_t y_stride;
    int32_t store;  // YaieStore
    float factor;   // of what is added
    // Or null. Gated results can go to a next layer of bf16 weights as it reads them.
    const RoundedRows* rounded = nullptr;
    // Or null: [rows, outputs] of bf16 numbers instead of y, in whole chunks, for YAIE_SET.
    char* halves = nullptr;
};

#ifdef YAIE_BF16
// Numbers `first` to first + kLanes - 1 of a row of `count`, and zeros where its padding begins.
YAIE_INLINE void put_bf16(const RoundedRows& rows, int64_t row, int64_t first, Vec v, int64_t count) {
    struct Step {
        __m256bh numbers[2];
    } step{{_mm512_cvtneps_pbh((__m512)v), {}}};
    int64_t bytes = first % kChunk == 0 && first + kLanes >= count ? 64 : 32;
    char* to = byte_of(rows, row_of(rows, row), first * (int64_t)sizeof(Bf16));
    if (bytes == 64)
        __builtin_memcpy(to, &step, 64);
    else
        __builtin_memcpy(to, &step, 32);
}
#endif

YAIE_INLINE Vec sigmoid_times(Vec x) {
    return x / (1.0f + exp2(smaller(x * -1.4426950408889634f, splat(126.0f))));
}

YAIE_INLINE Vec gelu_tanh(Vec x) {
    Vec inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanh(inner));
}

template <bool past_caches>
YAIE_INLINE void put(float* y, Vec v, int64_t count) {
    if (count >= kLanes) return store_result<past_caches>(y, v);
    for (int64_t j = 0; j < count; ++j) y[j] = v[j];
}

YAIE_INLINE Vec get(const float* y, int64_t count) {
    if (count >= kLanes) return load(y);
    Vec v{};
    for (int64_t j = 0; j < count; ++j) v[j] = y[j];
    return v;
}

template <bool past_caches = false>
YAIE_INLINE void finish_row(const Target& target, const YaieLinear& linear, int64_t row,
                            int64_t first, Vec low, Vec high) {
    if (linear.bias) {
        low += load(linear.bias + first);
        high += load(linear.bias + first + kLanes);
    }
#ifdef YAIE_BF16
    if (target.halves) {
        __m512bh both = _mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
        char* to = target.halves + (row * target.y_stride + first) * (int64_t)sizeof(Bf16);
        return put_line(to, &both, past_caches);
    }
#endif
    float* y = target.y + row * target.y_stride;
    if (target.store == YAIE_GATED_SILU || target.store == YAIE_GATED_GELU) {
        Vec gate = target.store == YAIE_GATED_SILU ? sigmoid_times(low) : gelu_tanh(low);
#ifdef YAIE_BF16
        if (!past_caches && target.rounded)
            return put_bf16(*target.rounded, row, first / 2, gate * high, linear.num_outputs / 2);
#endif
        put<past_caches>(y + first / 2, gate * high, linear.num_outputs / 2 - first / 2);
        return;
    }
    y += first;
    int64_t count = linear.num_outputs - first;
    if (!past_caches && target.store == YAIE_ADD) {
        Vec factor = splat(target.factor);
        low = fma(low, factor, get(y, count));
        if (count > kLanes) high = fma(high, factor, get(y + kLanes, count - kLanes));
    }
    put<past_caches>(y, low, count);
    if (count > kLanes) put<past_caches>(y + kLanes, high, count - kLanes);
}

// Not inlined: it is the end of a long loop, and there are many loops.
static __attribute__((noinline)) void finish(const Target& target, const YaieLinear& linear,
                                             int64_t row, int64_t first, const Pair* sums,
                                             int count) {
    for (int r = 0; r < count; ++r)
        finish_row(target, linear, row + r, first, sums[r].a, sums[r].b);
}

// The weights of inputs i and i + 1, where i is even, for kChunk outputs.
struct TwoInputs {
    Pair first, second;
};

struct WordPanel {  // bf16
    const uint32_t* words;
    static inline __attribute__((always_inline)) TwoInputs at(const WordPanel& p, int64_t i) {
        const uint32_t* word = p.words + i * kLanes;
        __builtin_prefetch(word + kPrefetchWords);
        if (kChunk > 16) __builtin_prefetch(word + kPrefetchWords + kLanes);
        Bits low = load_bits(word), high = load_bits(word + kLanes);
        return {{as_float(low << 16), as_float(high << 16)},
                {as_float(low & 0xffff0000u), as_float(high & 0xffff0000u)}};
    }
    static inline __attribute__((always_inline)) Pair last(const WordPanel& p, int64_t i) {
        const uint32_t* word = p.words + i * kLanes;
        return {as_float(load_bits(word) << 16), as_float(load_bits(word + kLanes) << 16)};
    }
};

struct FloatPanel {
    const float* floats;
    static inline __attribute__((always_inline)) TwoInputs at(const FloatPanel& p, int64_t i) {
        return {last(p, i), last(p, i + 1)};
    }
    static inline __attribute__((always_inline)) Pair last(const FloatPanel& p, int64_t i) {
        return load_chunk(p.floats + i * kChunk);
    }
};

// A widened panel, while the words of the next one come nearer: with a few tiles of rows, waiting for
// memory and multiplying would else take turns.
struct WidePanel {
    const float* floats;
    const uint32_t* next;
    static inline __attribute__((always_inline)) TwoInputs at(const WidePanel& p, int64_t i) {
        __builtin_prefetch(p.next + i * kLanes, 0, 2);
        if (kChunk > 16) __builtin_prefetch(p.next + (i + 1) * kLanes, 0, 2);
        return {last(p, i), last(p, i + 1)};
    }
    static inline __attribute__((always_inline)) Pair last(const WidePanel& p, int64_t i) {
        return load_chunk(p.floats + i * kChunk);
    }
};

template <int Rows>
YAIE_INLINE void add_products(const float* x, int64_t x_stride, Pair w, Pair* sum) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
        Vec value = splat(x[r * x_stride]);
        sum[r].a = fma(value, w.a, sum[r].a);
        sum[r].b = fma(value, w.b, sum[r].b);
    }
}

// Fewer rows than it takes to hide the latency of an addition have several sums each.
constexpr int sums_of(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }

template <class Panel>
struct FloatTile {
    const float* x;
    int64_t x_stride;
    Panel panel;
    const YaieLinear& linear;
    int64_t first;
    const Target& target;

    template <int Rows, int sums>
    void add_up(int64_t row) const {
        constexpr int step = sums > 2 ? sums : 2;
        const float* from = x + row * x_stride;
        Pair sum[sums][Rows];
        for (int s = 0; s < sums; ++s)
            for (int r = 0; r < Rows; ++r) sum[s][r] = {Vec{}, Vec{}};
        int64_t inputs = linear.num_inputs, i = 0;
        for (; i + step <= inputs; i += step) {
#pragma GCC unroll 4
            for (int s = 0; s < step; s += 2) {
                TwoInputs w = Panel::at(panel, i + s);
                add_products<Rows>(from + i + s, x_stride, w.first, sum[s % sums]);
                add_products<Rows>(from + i + s + 1, x_stride, w.second, sum[(s + 1) % sums]);
            }
        }
        for (; i + 2 <= inputs; i += 2) {
            TwoInputs w = Panel::at(panel, i);
            add_products<Rows>(from + i, x_stride, w.first, sum[0]);
            add_products<Rows>(from + i + 1, x_stride, w.second, sum[0]);
        }
        if (i < inputs) add_products<Rows>(from + i, x_stride, Panel::last(panel, i), sum[0]);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r)
            for (int s = 1; s < sums; ++s) {
                sum[0][r].a += sum[s][r].a;
                sum[0][r].b += sum[s][r].b;
            }
        finish(target, linear, row, first, sum[0], Rows);
    }

    // In exact mode a row is added up in the same order whatever the tile.
    template <int Rows>
    void add(int64_t row) const {
        if (linear.exact)
            add_up<Rows, 1>(row);
        else
            add_up<Rows, sums_of(Rows)>(row);
    }
};

struct LinearCall {
    const YaieLinear* linear;
    const float* x;
    int64_t x_stride, rows;
    Target target;
    int64_t row_block, panel_group, num_groups, num_panels;
    RoundedRows rounded;
    int64_t streams;
};

YAIE_INLINE bool has_integers(const YaieLinear& linear) {
    return linear.weights_kind == YAIE_WEIGHTS_INT8 || linear.weights_kind == YAIE_WEIGHTS_INT4;
}

YAIE_INLINE int64_t padded_inputs(const YaieLinear& linear) {
    return packed_inputs(linear.weights_kind, linear.num_inputs);
}

YAIE_INLINE int64_t panel_bytes(const YaieLinear& linear) {
    int64_t weights = padded_inputs(linear) * kChunk;
    switch (linear.weights_kind) {
        case YAIE_WEIGHTS_FLOAT32: return weights * 4;
        case YAIE_WEIGHTS_BFLOAT16: return weights * 2;
        case YAIE_WEIGHTS_INT8: return weights;
        default: return weights / 2;
    }
}

YAIE_INLINE const char* panel_at(const YaieLinear& linear, int64_t panel) {
    return (const char*)linear.weights + panel * panel_bytes(linear);
}

// The next panel, which comes nearer while the tiles of rows meet this one: each tile asks for a part of
// it, so that reading goes on while rows are multiplied. One tile alone is read ahead by itself.
struct PanelAhead {
    const char* at;
    int64_t lines;  // of 64 bytes, asked for with each step of words

    YAIE_MEMBER void ask() {
        for (int64_t i = 0; i < lines; ++i, at += 64) __builtin_prefetch(at, 0, 2);
    }
};

constexpr int64_t kWordsInStep = 16;  // panels of bf16 and int8 have a multiple of them
constexpr int64_t kLinesInStep = kWordsInStep * kChunk * 4 / 64;

// As add_rows; tiles have a PanelAhead. With more tiles than a step has lines, reading a panel is a small
// part of multiplying it.
template <class Tile>
static void add_rows_ahead(Tile tile, const YaieLinear& linear, int64_t panel, int64_t first_row,
                           int64_t end_row) {
    const char* next = panel_at(linear, panel + 1);
    int64_t steps = panel_bytes(linear) / (kLinesInStep * 64);
    cut_into_tiles(first_row, end_row, [&](int64_t t, int64_t tiles, int64_t row, int64_t rows) {
        int64_t first = kLinesInStep * t / tiles, end = kLinesInStep * (t + 1) / tiles;
        bool asks = tiles > 1 && tiles <= kLinesInStep;
        tile.ahead = {next + first * steps * 64, asks ? end - first : 0};
        add_tile(tile, row, rows);
    });
}

static void integer_panel(const LinearCall& call, int64_t panel, int64_t first_row,
                          int64_t end_row);
static RoundedRows round_to_bytes(Pool& pool, const LinearCall& call, int32_t tile_shift);
#ifdef YAIE_BF16
static void round_to_bf16(Pool& pool, const LinearCall& call);
static void round_row(const float* x, int64_t inputs, const RoundedRows& to, int64_t row);
static RoundedRows bf16_rows(const YaieLinear& linear, char* memory);
YAIE_INLINE int64_t bf16_bytes(const YaieLinear& linear, int64_t rows);
#endif
#ifdef YAIE_AMX
static int32_t tile_shift(const YaieLinear& linear, int64_t rows);
static void tile_task(void* context, int64_t index, Scratch& scratch);
#elif defined(YAIE_BF16)
static void bf16_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row);
#endif

YAIE_INLINE void widen_panel(const YaieLinear& linear, int64_t panel, float* out) {
    int64_t inputs = linear.num_inputs, i = 0;
    WordPanel words{(const uint32_t*)panel_at(linear, panel)};
    for (; i + 2 <= inputs; i += 2) {
        TwoInputs w = WordPanel::at(words, i);
        store_chunk(out + i * kChunk, w.first);
        store_chunk(out + (i + 1) * kChunk, w.second);
    }
    if (i < inputs) store_chunk(out + i * kChunk, WordPanel::last(words, i));
}

template <class Panel>
static void float_rows(const LinearCall& call, Panel panel, int64_t index, int64_t first_row,
                       int64_t end_row) {
    FloatTile<Panel> tile{call.x, call.x_stride, panel, *call.linear, index * kChunk, call.target};
    add_rows(tile, first_row, end_row);
}

static void float_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row,
                        Scratch& scratch) {
    const YaieLinear& linear = *call.linear;
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT32) {
        FloatPanel floats{(const float*)panel_at(linear, panel)};
        float_rows(call, floats, panel, first_row, end_row);
    } else if (end_row - first_row <= kFewRows) {
        WordPanel words{(const uint32_t*)panel_at(linear, panel)};
        float_rows(call, words, panel, first_row, end_row);
    } else {
        float* wide = (float*)scratch.get(linear.num_inputs * kChunk * 4);
        widen_panel(linear, panel, wide);
        int64_t next = panel + 1 < call.num_panels ? panel + 1 : panel;
        WidePanel both{wide, (const uint32_t*)panel_at(linear, next)};
        float_rows(call, both, panel, first_row, end_row);
    }
}

// The rows and panels of a task.
struct LinearPart {
    int64_t first_row, end_row, first_panel, end_panel;
};

// Tasks are claimed in turns, so every `streams`-th of them is mostly one thread's: these lie one after the
// other, and the thread reads on where it is instead of waiting for a new beginning.
YAIE_INLINE int64_t in_streams(int64_t index, int64_t count, int64_t streams) {
    int64_t stream = index % streams;
    return stream * (count / streams) + least_of(stream, count % streams) + index / streams;
}

YAIE_INLINE LinearPart part_of(const LinearCall& call, int64_t index) {
    int64_t first_row = index / call.num_groups * call.row_block;
    int64_t group = in_streams(index % call.num_groups, call.num_groups, call.streams);
    int64_t first_panel = group * call.panel_group;
    return {first_row, least_of(first_row + call.row_block, call.rows), first_panel,
            least_of(first_panel + call.panel_group, call.num_panels)};
}

static void linear_task(void* context, int64_t index, Scratch& scratch) {
    const LinearCall& call = *static_cast<const LinearCall*>(context);
    LinearPart part = part_of(call, index);
    for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
        if (has_integers(*call.linear))
            integer_panel(call, panel, part.first_row, part.end_row);
#if defined(YAIE_BF16) && !defined(YAIE_AMX)
        else if (call.rounded.bytes)
            bf16_panel(call, panel, part.first_row, part.end_row);
#endif
        else
            float_panel(call, panel, part.first_row, part.end_row, scratch);
    }
}

// Rounds the rows, if they meet the weights so and are not yet, and returns how the products are
// computed.
static Task prepare_rows(Pool& pool, LinearCall& call) {
    const YaieLinear& linear = *call.linear;
    int32_t shift = 0;
#ifdef YAIE_AMX
    shift = tile_shift(linear, call.rows);
#endif
    if (has_integers(linear)) call.rounded = round_to_bytes(pool, call, shift);
#ifdef YAIE_BF16
    if (linear.weights_kind == YAIE_WEIGHTS_BFLOAT16 && !call.rounded.bytes) {
        call.rounded = bf16_rows(linear, pool.caller_memory().get(bf16_bytes(linear, call.rows)));
        round_to_bf16(pool, call);
    }
#endif
#ifdef YAIE_AMX
    if (shift) return tile_task;
#endif
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
    int64_t block = most_of(kRowBlockBytes / row_bytes / step * step, 4 * step);
    int64_t blocks = (rows + block - 1) / block;
    call.row_block = round_up((rows + blocks - 1) / blocks, call.rounded.blocked ? step : 1);
    int64_t least = most_of(1, kLeastPanelBytes / panel_bytes(linear));
    int64_t wanted = pool.threads() * (rows > kReadingRows ? kTasksMultiplying : kTasksReading);
    call.panel_group = most_of(least, call.num_panels * blocks / wanted);
    call.panel_group = least_of(call.panel_group, call.num_panels);
    call.num_groups = (call.num_panels + call.panel_group - 1) / call.panel_group;
    pool.run(task, &call, call.num_groups * blocks);
}

static void whole_linear(Pool& pool, const YaieLinear& linear, const float* x, int64_t rows,
                         float* y, int32_t store, float factor) {
    bool is_gated = store == YAIE_GATED_SILU || store == YAIE_GATED_GELU;
    int64_t y_stride = is_gated ? linear.num_outputs / 2 : linear.num_outputs;
    run_linear(pool, linear, x, linear.num_inputs, rows, Target{y, y_stride, store, factor});
}

// Packing, once at load: `from` is [outputs, inputs] in the dtype of the weights' kind. For a gated
// layer the outputs of the two halves are interleaved by kLanes, so that a pair shares a panel.
YAIE_INLINE int64_t packed_row(const PackCall& call, int64_t panel, int64_t lane) {
    if (!call.gated) return panel * kChunk + lane;
    int64_t half = call.outputs / 2, at = panel * kLanes + lane % kLanes;
    return at >= half ? call.outputs : at + (lane < kLanes ? 0 : half);
}

template <class T, class Put>
YAIE_INLINE void pack_panel(const PackCall& call, int64_t panel, Put put) {
    for (int64_t lane = 0; lane < kChunk; ++lane) {
        int64_t row = packed_row(call, panel, lane);
        const T* from = (const T*)call.from + row * call.inputs;
        for (int64_t i = 0; i < call.inputs; ++i)
            put(i, lane, row < call.outputs ? from[i] : T{});
    }
}

static void pack_task(void* context, int64_t panel, Scratch&) {
    const PackCall& call = *static_cast<const PackCall*>(context);
    if (call.kind == YAIE_WEIGHTS_FLOAT32) {
        float* to = (float*)call.to + panel * call.inputs * kChunk;
        pack_panel<float>(call, panel,
                          [&](int64_t i, int64_t lane, float w) { to[i * kChunk + lane] = w; });
        return;
    }
    // As 16-bit numbers, the low half of word j is number 2 j.
    int64_t numbers = packed_inputs(call.kind, call.inputs) * kChunk;
    uint16_t* to = (uint16_t*)call.to + panel * numbers;
    __builtin_memset(to, 0, numbers * sizeof *to);
    pack_panel<uint16_t>(call, panel, [&](int64_t i, int64_t lane, uint16_t w) {
        to[word_of(i / 2, lane) * 2 + i % 2] = w;
    });
}
