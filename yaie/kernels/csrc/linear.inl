// Linear layers: y = x W^T (+ bias), with weights packed once at load and streamed once a call.
//
// A panel holds the weights of kChunk outputs, input after input, so that one pass reads memory in
// order:
//
//   bf16   [panels][inputs][kLanes] words     low half: output j, high half: output kLanes + j
//   fp32   [panels][inputs][kChunk]
//
//   int8, int4   see linear_integer.inl
//
// Few rows: tiles of rows meet a panel while it is in cache and widen it on the way. Many rows: a
// block of rows meets a panel that was widened once. Sums are float32.

constexpr int64_t kFewRows = 4 * YAIE_TILE_ROWS;
constexpr int64_t kLeastPanelBytes = 32 << 10;  // of weights in a task: a stream worth starting
constexpr int64_t kRowBlockBytes = 768 << 10;   // of inputs in a block: they stay in the L2 cache
constexpr int64_t kPrefetchWords = 1024;

// Where sums go. A gated pair of outputs lies in one panel: the gate in the first half, the value in
// the second, and kLanes numbers come out of it.
struct Target {
    float* y;  // [rows, outputs]
    int64_t y_stride;
    int32_t store;  // YaieStore
    float factor;   // of what is added
};

YAIE_INLINE Vec sigmoid_times(Vec x) {
    return x / (1.0f + exp2(smaller(x * -1.4426950408889634f, splat(126.0f))));
}

YAIE_INLINE Vec gelu_tanh(Vec x) {
    Vec inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanh(inner));
}

YAIE_INLINE void put(float* y, Vec v, int64_t count) {
    if (count >= kLanes) return store(y, v);
    for (int64_t j = 0; j < count; ++j) y[j] = v[j];
}

YAIE_INLINE Vec get(const float* y, int64_t count) {
    if (count >= kLanes) return load(y);
    Vec v{};
    for (int64_t j = 0; j < count; ++j) v[j] = y[j];
    return v;
}

YAIE_INLINE void finish_row(const Target& target, const YaieLinear& linear, int64_t row,
                            int64_t first, Vec low, Vec high) {
    if (linear.bias) {
        low += load(linear.bias + first);
        high += load(linear.bias + first + kLanes);
    }
    float* y = target.y + row * target.y_stride;
    if (target.store == YAIE_GATED_SILU || target.store == YAIE_GATED_GELU) {
        Vec gate = target.store == YAIE_GATED_SILU ? sigmoid_times(low) : gelu_tanh(low);
        put(y + first / 2, gate * high, linear.num_outputs / 2 - first / 2);
        return;
    }
    y += first;
    int64_t count = linear.num_outputs - first;
    if (target.store == YAIE_ADD) {
        low = get(y, count) + low * target.factor;
        if (count > kLanes) high = get(y + kLanes, count - kLanes) + high * target.factor;
    }
    put(y, low, count);
    if (count > kLanes) put(y + kLanes, high, count - kLanes);
}

// Not inlined: it is the end of a long loop, and there are many loops.
static __attribute__((noinline)) void finish(const Target& target, const YaieLinear& linear,
                                             int64_t row, int64_t first, const Pair* sums,
                                             int count) {
    for (int r = 0; r < count; ++r)
        finish_row(target, linear, row + r, first, sums[r].a, sums[r].b);
}

struct WordPanel {  // bf16
    const uint32_t* words;
    static inline __attribute__((always_inline)) Pair at(const WordPanel& p, int64_t i) {
        const uint32_t* word = p.words + i * kLanes;
        __builtin_prefetch(word + kPrefetchWords);
        Bits v = load_bits(word);
        return {as_float(v << 16), as_float(v & 0xffff0000u)};
    }
};

struct FloatPanel {
    const float* floats;
    static inline __attribute__((always_inline)) Pair at(const FloatPanel& p, int64_t i) {
        return load_chunk(p.floats + i * kChunk);
    }
};

// A widened panel, while the words of the next one come nearer: with a few tiles of rows, waiting for
// memory and multiplying would else take turns.
struct WidePanel {
    const float* floats;
    const uint32_t* next;
    static inline __attribute__((always_inline)) Pair at(const WidePanel& p, int64_t i) {
        __builtin_prefetch(p.next + i * kLanes, 0, 2);
        return load_chunk(p.floats + i * kChunk);
    }
};

template <int Rows, int sums, class Panel>
static void float_tile(const float* x, int64_t x_stride, Panel panel, const YaieLinear& linear,
                int64_t row, int64_t first, const Target& target) {
    Pair sum[sums][Rows];
    for (int s = 0; s < sums; ++s)
        for (int r = 0; r < Rows; ++r) sum[s][r] = {Vec{}, Vec{}};
    int64_t inputs = linear.num_inputs, i = 0;
    for (; i + sums <= inputs; i += sums) {
#pragma GCC unroll 4
        for (int s = 0; s < sums; ++s) {
            Pair w = Panel::at(panel, i + s);
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r) {
                Vec value = splat(x[r * x_stride + i + s]);
                sum[s][r].a = fma(value, w.a, sum[s][r].a);
                sum[s][r].b = fma(value, w.b, sum[s][r].b);
            }
        }
    }
    for (; i < inputs; ++i) {
        Pair w = Panel::at(panel, i);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
            Vec value = splat(x[r * x_stride + i]);
            sum[0][r].a = fma(value, w.a, sum[0][r].a);
            sum[0][r].b = fma(value, w.b, sum[0][r].b);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
        for (int s = 1; s < sums; ++s) {
            sum[0][r].a += sum[s][r].a;
            sum[0][r].b += sum[s][r].b;
        }
    finish(target, linear, row, first, sum[0], Rows);
}

template <class Panel, int Rows = YAIE_TILE_ROWS>
static void float_rows(int64_t rows, const float* x, int64_t x_stride, Panel panel,
                const YaieLinear& linear, int64_t row, int64_t first, const Target& target) {
    // Fewer rows than it takes to hide the latency of an addition have several sums each, except
    // where a row must be added up in the same order whatever the tile.
    constexpr int sums = Rows == 1 ? 4 : Rows <= 3 ? 2 : 1;
    if constexpr (Rows > 0) {
        if (rows == Rows && linear.exact)
            float_tile<Rows, 1>(x, x_stride, panel, linear, row, first, target);
        else if (rows == Rows)
            float_tile<Rows, sums>(x, x_stride, panel, linear, row, first, target);
        else
            float_rows<Panel, Rows - 1>(rows, x, x_stride, panel, linear, row, first, target);
    }
}

// Rows in tiles of nearly equal height: a last tile of one row would waste the panel's loads.
template <class Panel>
static void float_block(int64_t first_row, int64_t end_row, const float* x, int64_t x_stride, Panel panel,
                 const YaieLinear& linear, int64_t first, const Target& target) {
    int64_t rows = end_row - first_row;
    int64_t tiles = (rows + YAIE_TILE_ROWS - 1) / YAIE_TILE_ROWS;
    for (int64_t t = 0; t < tiles; ++t) {
        int64_t row = first_row + rows * t / tiles, end = first_row + rows * (t + 1) / tiles;
        float_rows<Panel>(end - row, x + row * x_stride, x_stride, panel, linear, row, first,
                          target);
    }
}

// Rows as signed bytes, for integer weights.
struct IntegerRows {
    int8_t* bytes;   // [rows, stride]
    float* scales;   // [rows, groups]
    int32_t* sums;   // [rows, groups] of the bytes
    int64_t stride, groups, group_size;
};

struct LinearCall {
    const YaieLinear* linear;
    const float* x;
    int64_t x_stride, rows;
    Target target;
    int64_t row_block, panel_group, num_groups, num_panels;
    IntegerRows integers;
};

constexpr int64_t kRowsInRound = 4;

YAIE_INLINE bool has_integers(const YaieLinear& linear) {
    return linear.weights_kind == YAIE_WEIGHTS_INT8 || linear.weights_kind == YAIE_WEIGHTS_INT4;
}

YAIE_INLINE int64_t padded_inputs(const YaieLinear& linear) {
    return has_integers(linear) ? (linear.num_inputs + 3) / 4 * 4 : linear.num_inputs;
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

static void integer_panel(const LinearCall& call, int64_t panel, int64_t first_row,
                          int64_t end_row);
static IntegerRows round_rows(Pool& pool, const YaieLinear& linear, const float* x,
                              int64_t x_stride, int64_t rows);

YAIE_INLINE void widen_panel(const YaieLinear& linear, int64_t panel, float* out) {
    int64_t inputs = linear.num_inputs;
    const uint32_t* words = (const uint32_t*)linear.weights + panel * inputs * kLanes;
    for (int64_t i = 0; i < inputs; ++i) {
        Bits v = load_bits(words + i * kLanes);
        store(out + i * kChunk, as_float(v << 16));
        store(out + i * kChunk + kLanes, as_float(v & 0xffff0000u));
    }
}

static void float_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row,
                        Scratch& scratch) {
    const YaieLinear& linear = *call.linear;
    int64_t inputs = linear.num_inputs, first = panel * kChunk;
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT32) {
        FloatPanel floats{(const float*)linear.weights + panel * inputs * kChunk};
        float_block(first_row, end_row, call.x, call.x_stride, floats, linear, first, call.target);
    } else if (end_row - first_row <= kFewRows) {
        WordPanel words{(const uint32_t*)linear.weights + panel * inputs * kLanes};
        float_block(first_row, end_row, call.x, call.x_stride, words, linear, first, call.target);
    } else {
        float* wide = (float*)scratch.get(inputs * kChunk * 4);
        widen_panel(linear, panel, wide);
        int64_t next = panel + 1 < call.num_panels ? panel + 1 : panel;
        WidePanel both{wide, (const uint32_t*)linear.weights + next * inputs * kLanes};
        float_block(first_row, end_row, call.x, call.x_stride, both, linear, first, call.target);
    }
}

static void linear_task(void* context, int64_t index, Scratch& scratch) {
    const LinearCall& call = *static_cast<const LinearCall*>(context);
    int64_t block = index / call.num_groups, group = index % call.num_groups;
    int64_t first_row = block * call.row_block;
    int64_t end_row = least_of(first_row + call.row_block, call.rows);
    int64_t end = least_of((group + 1) * call.panel_group, call.num_panels);
    for (int64_t panel = group * call.panel_group; panel < end; ++panel) {
        if (has_integers(*call.linear))
            integer_panel(call, panel, first_row, end_row);
        else
            float_panel(call, panel, first_row, end_row, scratch);
    }
}

static void run_linear(Pool& pool, const YaieLinear& linear, const float* x, int64_t x_stride,
                       int64_t rows, const Target& target) {
    if (rows <= 0) return;
    LinearCall call{&linear, x, x_stride, rows, target, 0, 0, 0, 0, {}};
    if (has_integers(linear)) call.integers = round_rows(pool, linear, x, x_stride, rows);
    int64_t row_bytes = padded_inputs(linear) * (has_integers(linear) ? 1 : 4);
    call.num_panels = (linear.num_outputs + kChunk - 1) / kChunk;
    int64_t block = kRowBlockBytes / row_bytes / YAIE_TILE_ROWS * YAIE_TILE_ROWS;
    block = most_of(block, 4 * YAIE_TILE_ROWS);
    int64_t blocks = (rows + block - 1) / block;
    call.row_block = (rows + blocks - 1) / blocks;
    int64_t least = most_of(1, kLeastPanelBytes / panel_bytes(linear));
    int64_t wanted = (int64_t)pool.threads() * 8;
    call.panel_group = most_of(least, call.num_panels * blocks / wanted);
    call.panel_group = least_of(call.panel_group, call.num_panels);
    call.num_groups = (call.num_panels + call.panel_group - 1) / call.panel_group;
    pool.run(linear_task, &call, call.num_groups * blocks);
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
    uint16_t* to = (uint16_t*)call.to + panel * call.inputs * kChunk;
    pack_panel<uint16_t>(call, panel, [&](int64_t i, int64_t lane, uint16_t w) {
        to[i * kChunk + 2 * (lane % kLanes) + lane / kLanes] = w;
    });
}
