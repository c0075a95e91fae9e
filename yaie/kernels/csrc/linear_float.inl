// Linear layers with fp32 rows, and fp32 or bf16 weights. Needs: linear.inl.

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
    const uint32_t* next;
    static inline __attribute__((always_inline)) TwoInputs at(const UpcastPanel& p, int64_t i) {
        __builtin_prefetch(p.next + i * kLanes, 0, 2);
        if (kChunk > 16) __builtin_prefetch(p.next + (i + 1) * kLanes, 0, 2);
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

    // A batch-invariant row has one accumulator for any tile.
    template <int Rows>
    void add(int64_t row) const {
        if (linear.exact)
            add_up<Rows, 1>(row);
        else
            add_up<Rows, accumulators_of(Rows)>(row);
    }
};

YAIE_INLINE void upcast_panel(const YaieLinear& linear, int64_t panel, float* out) {
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
        upcast_panel(linear, panel, wide);
        int64_t next = panel + 1 < call.num_panels ? panel + 1 : panel;
        UpcastPanel both{wide, (const uint32_t*)panel_at(linear, next)};
        float_rows(call, both, panel, first_row, end_row);
    }
}
