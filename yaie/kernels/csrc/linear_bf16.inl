// Linear layers with bf16 weights where the processor multiplies bf16 numbers: included once for each
// such instruction set, after linear.inl.
//
// Rows are rounded to bf16 once a call. A word of a panel and a word of a row hold the same two inputs,
// and their products are added to one float32 sum: one sum for each output whatever the number of rows,
// so that a row gets the same bits beside any others.

#ifndef YAIE_AMX  // tiles multiply any number of rows
struct PairTile {
    const RoundedRows& x;
    const uint32_t* words;
    const YaieLinear& linear;
    int64_t first;
    const Target& target;
    PanelAhead ahead;

    template <int Rows>
    void add(int64_t row) const {
        const int32_t* from = (const int32_t*)row_of(x, row);
        int64_t stride = x.row_stride / (int64_t)sizeof *from;
        int64_t pairs = padded_inputs(linear) / 2;
        PanelAhead next = ahead;
        Pair sum[Rows];
        for (int r = 0; r < Rows; ++r) sum[r] = {Vec{}, Vec{}};
        for (int64_t step = 0; step < pairs; step += kWordsInStep) {
            next.ask();
            for (int64_t i = step; i < step + kWordsInStep; ++i) {
                const uint32_t* at = words + i * kChunk;
                if (asks_for_words(Rows)) {
                    __builtin_prefetch(at + kPrefetchWords);
                    __builtin_prefetch(at + kPrefetchWords + kLanes);
                }
                Bits low = load_bits(at), high = load_bits(at + kLanes);
#pragma GCC unroll 16
                for (int r = 0; r < Rows; ++r) {
                    sum[r].a = dot_pairs(sum[r].a, low, from[r * stride + i]);
                    sum[r].b = dot_pairs(sum[r].b, high, from[r * stride + i]);
                }
            }
        }
        finish(target, linear, row, first, sum, Rows);
    }
};

static void bf16_panel(const LinearCall& call, int64_t panel, int64_t first_row, int64_t end_row) {
    const YaieLinear& linear = *call.linear;
    const uint32_t* words = (const uint32_t*)panel_at(linear, panel);
    PairTile tile{call.rounded, words, linear, panel * kChunk, call.target, {}};
    add_rows_ahead(tile, linear, panel, first_row, end_row);
}
#endif

// kChunk numbers, in the order in which they lie.
YAIE_INLINE void round_chunk(const float* x, char* to) {
    Pair v = load_chunk(x);
    __m512bh both = _mm512_cvtne2ps_pbh((__m512)v.b, (__m512)v.a);
    __builtin_memcpy(to, &both, sizeof both);
}

static void round_row(const float* x, int64_t inputs, const RoundedRows& to, int64_t row) {
    char* at = row_of(to, row);
    int64_t i = 0;
    for (; i + kChunk <= inputs; i += kChunk, at += to.step_stride) round_chunk(x + i, at);
    if (i == inputs) return;
    float rest[kChunk] = {};
    for (int64_t j = 0; i + j < inputs; ++j) rest[j] = x[i + j];
    round_chunk(rest, at);
}

static void bf16_task(void* context, int64_t index, Scratch&) {
    const RoundCall& round = *static_cast<const RoundCall*>(context);
    const LinearCall& call = *round.call;
    int64_t end = least_of((index + 1) * kRowsInRound, call.rows);
    for (int64_t row = index * kRowsInRound; row < end; ++row)
        round_row(call.x + row * call.x_stride, call.linear->num_inputs, round.to, row);
}

YAIE_INLINE int64_t bf16_bytes(const YaieLinear& linear, int64_t rows) {
    return round_up(rows, kRowsInBlock) * padded_inputs(linear) * (int64_t)sizeof(Bf16);
}

// How a layer's rows lie in this memory of bf16_bytes.
static RoundedRows bf16_rows(const YaieLinear& linear, char* memory) {
    RoundedRows to{};
    bool blocked = false;
#ifdef YAIE_AMX
    blocked = true;
#endif
    place_rows(to, padded_inputs(linear) * (int64_t)sizeof(Bf16), kStepShift, blocked);
    to.bytes = memory;
    return to;
}

static void round_to_bf16(Pool& pool, const LinearCall& call) {
    RoundCall round{&call, call.rounded};
    pool.run(bf16_task, &round, (call.rows + kRowsInRound - 1) / kRowsInRound);
}
