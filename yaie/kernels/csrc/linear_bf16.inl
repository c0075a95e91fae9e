// Linear layers with bf16 weights and products (YAIE_BF16). Needs: linear.inl.
//
// Rows are rounded to bf16 once a call. A panel word and a row word have the same two inputs, and
// one float32 accumulator adds their products: one accumulator for each output with any number of
// rows, so that the result is batch-invariant.

#ifndef YAIE_AMX  // AMX tiles serve any number of rows
struct PairTile {
    const RoundedRows& x;
    const uint32_t* words;
    const YaieLinear& linear;
    int64_t first;
    const Target& target;
    PanelPrefetch prefetch;

    template <int Rows>
    void add(int64_t row) const {
        const int32_t* from = (const int32_t*)row_address(x, row);
        int64_t stride = x.row_stride / (int64_t)sizeof *from;
        int64_t pairs = padded_inputs(linear) / 2;
        PanelPrefetch next = prefetch;
        Pair sum[Rows];
        for (int r = 0; r < Rows; ++r) sum[r] = {Vec{}, Vec{}};
        for (int64_t step = 0; step < pairs; step += kWordsInStep) {
            next.advance();
            for (int64_t i = step; i < step + kWordsInStep; ++i) {
                const uint32_t* at = words + i * kChunk;
                if (prefetches_words(Rows)) {
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
    add_rows_prefetching(tile, linear, panel, first_row, end_row);
}
#endif

// Round kChunk elements, in order.
YAIE_INLINE void round_chunk(const float* x, char* to) {
    Pair v = load_chunk(x);
    __m512bh both = _mm512_cvtne2ps_pbh((__m512)v.b, (__m512)v.a);
    __builtin_memcpy(to, &both, sizeof both);
}

static void round_row(const float* x, int64_t inputs, const RoundedRows& to, int64_t row) {
    char* at = row_address(to, row);
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
    int64_t end = min_of((index + 1) * kRowsInRound, call.rows);
    for (int64_t row = index * kRowsInRound; row < end; ++row)
        round_row(call.x + row * call.x_stride, call.linear->num_inputs, round.to, row);
}

static int64_t bf16_bytes(const YaieLinear& linear, int64_t rows) {
    return round_up(rows, kRowsInBlock) * padded_inputs(linear) * (int64_t)sizeof(Bf16);
}

// Return the layout of a layer's rows in memory of bf16_bytes.
static RoundedRows bf16_rows(const YaieLinear& linear, char* memory) {
    RoundedRows to{};
    place_rows(to, padded_inputs(linear) * (int64_t)sizeof(Bf16), kStepShift, kHasAmx);
    to.bytes = memory;
    return to;
}

static void round_to_bf16(Pool& pool, const LinearCall& call) {
    RoundCall round{&call, call.rounded};
    pool.run(bf16_task, &round, (call.rows + kRowsInRound - 1) / kRowsInRound);
}
