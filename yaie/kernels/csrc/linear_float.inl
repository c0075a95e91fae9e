// Linear layers with fp32 rows, and weights in fp32, bf16 or fp8. Needs: linear.inl.

constexpr int64_t kFewRows = 4 * YAIE_TILE_ROWS;

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

#include "linear_float8.inl"

struct FloatPanel {
    const float* floats;
    static inline __attribute__((always_inline)) TwoInputs at(const FloatPanel& p, int64_t i) {
        return {last(p, i), last(p, i + 1)};
    }
    static inline __attribute__((always_inline)) Pair last(const FloatPanel& p, int64_t i) {
        return load_chunk(p.floats + i * kChunk);
    }
};

// An upcast panel, while the words of the next one are prefetched: with few tiles of rows, memory
// and arithmetic would otherwise alternate.
struct UpcastPanel {
    const float* floats;
    const char* next;
    int64_t step;  // bytes of one input in the next panel
    static inline __attribute__((always_inline)) TwoInputs at(const UpcastPanel& p, int64_t i) {
        __builtin_prefetch(p.next + i * p.step, 0, 2);
        if (kChunk > 16) __builtin_prefetch(p.next + (i + 1) * p.step, 0, 2);
        return {last(p, i), last(p, i + 1)};
    }
    static inline __attribute__((always_inline)) Pair last(const UpcastPanel& p, int64_t i) {
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

// Number of accumulators for each row: with few rows, several hide the latency of an addition.
constexpr int accumulators_of(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }

template <class Panel>
struct FloatTile {
    const float* x;
    int64_t x_stride;
    Panel panel;
    const YaieLinear& linear;
    int64_t first;
    const Target& target;
    const float* scales = nullptr;  // of groups: see linear_float8.inl

    // Add the products of some inputs up in sum[0].
    template <int Rows, int sums>
    YAIE_MEMBER void add_inputs(const float* from, int64_t i, int64_t inputs,
                                Pair (&sum)[sums][Rows]) const {
        constexpr int step = sums > 2 ? sums : 2;
        for (int s = 0; s < sums; ++s)
            for (int r = 0; r < Rows; ++r) sum[s][r] = {Vec{}, Vec{}};
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
    }

    template <int Rows, int sums>
    void add_up(int64_t row) const {
        const float* from = x + row * x_stride;
        Pair sum[sums][Rows];
        if (!scales) {
            add_inputs<Rows, sums>(from, 0, linear.num_inputs, sum);
            return finish(target, linear, row, first, sum[0], Rows);
        }
        Pair total[Rows];
        for (int r = 0; r < Rows; ++r) total[r] = {Vec{}, Vec{}};
        for (int64_t group = 0; group < float8_groups(linear); ++group) {
            int64_t start = group * linear.group_size;
            add_inputs<Rows, sums>(from, start, start + linear.group_size, sum);
            Pair scale = load_chunk(scales + group * kChunk);
            for (int r = 0; r < Rows; ++r) {
                total[r].a = fma(sum[0][r].a, scale.a, total[r].a);
                total[r].b = fma(sum[0][r].b, scale.b, total[r].b);
            }
        }
        finish(target, linear, row, first, total, Rows);
    }

    // A batch-invariant row has one accumulator for any tile.
    template <int Rows>
    void add(int64_t row) const {
        if (linear.exact)
            add_up<Rows, 1>(row);
        else
            add_up<Rows, accumulators_of(Rows)>(row);
    }
};

template <class Panel>
YAIE_INLINE void upcast_panel(const Panel& panel, int64_t inputs, float* out) {
    int64_t i = 0;
    for (; i + 2 <= inputs; i += 2) {
        TwoInputs w = Panel::at(panel, i);
        store_chunk(out + i * kChunk, w.first);
        store_chunk(out + (i + 1) * kChunk, w.second);
    }
    if (i < inputs) store_chunk(out + i * kChunk, Panel::last(panel, i));
}

template <class Panel>
static void float_rows(const LinearCall& call, Panel panel, int64_t index, int64_t first_row,
                       int64_t end_row) {
    bool is_scaled = call.linear->weights_kind == YAIE_WEIGHTS_FLOAT8;
    const float* scales = is_scaled ? float8_scales(*call.linear, index) : nullptr;
    FloatTile<Panel> tile{call.x,         call.x_stride, panel, *call.linear,
                          index * kChunk, call.target,   scales};
    add_rows(tile, first_row, end_row);
}

// Upcast few rows' weights in registers, and those for many rows once.
template <class Panel>
static void narrow_panel(const LinearCall& call, const Panel& narrow, int64_t panel,
                         int64_t first_row, int64_t end_row, Scratch& scratch) {
    if (end_row - first_row <= kFewRows) return float_rows(call, narrow, panel, first_row, end_row);
    const YaieLinear& linear = *call.linear;
    float* wide = (float*)scratch.get(linear.num_inputs * kChunk * 4);
    upcast_panel(narrow, linear.num_inputs, wide);
    const char* next = panel_at(linear, panel + 1 < call.num_panels ? panel + 1 : panel);
    UpcastPanel both{wide, next, panel_bytes(linear) / padded_inputs(linear)};
    float_rows(call, both, panel, first_row, end_row);
}

static void float_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row,
                        Scratch& scratch) {
    const YaieLinear& linear = *call.linear;
    const char* at = panel_at(linear, panel);
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT32)
        float_rows(call, FloatPanel{(const float*)at}, panel, first_row, end_row);
    else if (linear.weights_kind == YAIE_WEIGHTS_FLOAT8)
        narrow_panel(call, Float8Panel{at}, panel, first_row, end_row, scratch);
    else
        narrow_panel(call, WordPanel{(const uint32_t*)at}, panel, first_row, end_row, scratch);
}
