// Low-rank adapters: products that are added to the outputs of linear layers, for rows that have an
// adapter. Needs: linear.inl and its companions, decoder.h.
//
// A task takes a few rows of one adapter through both products of one layer, so that a call of the
// pool serves all adapters of a step. The products read the inputs that the layer reads. Weights
// are packed in chunks, the same way for both types; with AMX bf16 is packed in adapter_tiles.inl's
// way:
//
//   down  [rank][padded inputs]                     fp32, or bf16 as words: element i of a chunk
//   up    [padded outputs / kChunk][rank][kChunk]   in the low half, kLanes + i in the high half

constexpr int kRowsInThin = 4;
constexpr int64_t kRowsInThinTask = kHasAmx ? kRowsInBlock : kRowsInThin;
constexpr int kRanksAtOnce = 4;
constexpr int64_t kAheadInThin = 512;  // weights to prefetch ahead

// A low-rank product's place in a layer's results.
struct ThinPart {
    const YaieLowRank YaieAdapterLayer::* low_rank;
    float* y;          // result of the first row that the call covers
    uint16_t* halves;  // or null: the same in bf16
    int64_t outputs;
    int64_t chunk_step;  // elements from a vector of outputs to the next one
};

struct ThinCall {
    // Inputs of the first row: float32 [rows, width], or null: bf16 rows.
    const float* x;
    const RoundedRows* rounded;
    float factor;
    int64_t width, y_stride;
    ThinPart parts[3];
    int64_t num_parts;
    const ThinTask* tasks;
};

YAIE_INLINE Pair load_weights(const float* at) { return {load(at), load(at + kLanes)}; }

YAIE_INLINE Pair load_weights(const Bf16* at) {
    Bits words;
    __builtin_memcpy(&words, at, sizeof words);
    return {as_float(words << 16), as_float(words & 0xffff0000u)};
}

// t[row][k] = x[row] . down[k], for `Ranks` rows of weights.
template <int Rows, int Ranks, class Weight>
YAIE_INLINE void thin_dots(const Weight* down, int64_t width, const float* const* x, float* t,
                           int64_t rank) {
    Vec sums[Rows][Ranks];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int j = 0; j < Ranks; ++j) sums[r][j] = Vec{};
    for (int64_t i = 0; i < width; i += kChunk) {
        Pair inputs[Rows];
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) inputs[r] = {load(x[r] + i), load(x[r] + i + kLanes)};
#pragma GCC unroll 4
        for (int j = 0; j < Ranks; ++j) {
            const Weight* at = down + j * width + i;
            __builtin_prefetch(at + Ranks * width);
            Pair weights = load_weights(at);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                sums[r][j] = fma(weights.a, inputs[r].a, sums[r][j]);
                sums[r][j] = fma(weights.b, inputs[r].b, sums[r][j]);
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int j = 0; j < Ranks; ++j) t[r * rank + j] = sum_of_lanes(sums[r][j]);
}

template <int Rows, class Weight>
static void thin_down(const Weight* down, int64_t rank, int64_t width, const float* const* x,
                      float* t) {
    int64_t k = 0;
    for (; k + kRanksAtOnce <= rank; k += kRanksAtOnce)
        thin_dots<Rows, kRanksAtOnce>(down + k * width, width, x, t + k, rank);
    for (; k < rank; ++k) thin_dots<Rows, 1>(down + k * width, width, x, t + k, rank);
}

YAIE_INLINE void add_to(float* y, Vec sum, Vec factor, int64_t count) {
    if (count > 0) put<false>(y, fma(sum, factor, get(y, count)), count);
}

// Add a chunk of a row's products, of outputs from `first` on.
YAIE_INLINE void add_thin_chunk(const ThinCall& call, const ThinPart& part, int64_t row,
                                int64_t first, Pair sums) {
    Vec factor = splat(call.factor);
#ifdef YAIE_BF16
    if (part.halves) {
        uint16_t* halves = part.halves + row * call.y_stride + first;
        float both[kChunk];
        upcast_halves(halves, kChunk, both);
        store(both, fma(sums.a, factor, load(both)));
        store(both + kLanes, fma(sums.b, factor, load(both + kLanes)));
        store_halves(both, kChunk, halves, false);
        return;
    }
#endif
    float* y = part.y + row * call.y_stride + first / kLanes * part.chunk_step;
    add_to(y, sums.a, factor, part.outputs - first);
    add_to(y + part.chunk_step, sums.b, factor, part.outputs - first - kLanes);
}

// y[row] += factor * t[row] up
template <int Rows, class Weight>
static void thin_up(const ThinCall& call, const ThinPart& part, const Weight* up, int64_t rank,
                    int64_t row, const float* t) {
    for (int64_t first = 0; first < part.outputs; first += kChunk, up += rank * kChunk) {
        Pair sums[Rows];
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) sums[r] = {Vec{}, Vec{}};
        for (int64_t k = 0; k < rank; ++k) {
            const Weight* weights_at = up + k * kChunk;
            __builtin_prefetch(weights_at + kAheadInThin);
            Pair weights = load_weights(weights_at);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                Vec x = splat(t[r * rank + k]);
                sums[r].a = fma(weights.a, x, sums[r].a);
                sums[r].b = fma(weights.b, x, sums[r].b);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) add_thin_chunk(call, part, row + r, first, sums[r]);
    }
}

template <class Weight>
static void thin_rows(const ThinCall& call, const ThinPart& part, const YaieLowRank& low_rank,
                      int64_t row, int64_t count, const float* const* x, float* t) {
    int64_t rank = low_rank.rank, width = round_up(call.width, kChunk);
    const Weight* down = (const Weight*)low_rank.down;
    const Weight* up = (const Weight*)low_rank.up;
    int64_t r = 0;
    for (; r + kRowsInThin <= count; r += kRowsInThin) {
        thin_down<kRowsInThin>(down, rank, width, x + r, t);
        thin_up<kRowsInThin>(call, part, up, rank, row + r, t);
    }
    for (; r < count; ++r) {
        thin_down<1>(down, rank, width, x + r, t);
        thin_up<1>(call, part, up, rank, row + r, t);
    }
}

// Return a row of the inputs in float32, padded with zeros to whole chunks.
static const float* thin_input(const ThinCall& call, int64_t row, float* memory) {
    int64_t width = call.width, padded = round_up(width, kChunk);
#ifdef YAIE_BF16
    if (!call.x) {
        const char* from = row_address(*call.rounded, row);
        for (int64_t i = 0; i < padded; i += kChunk)
            upcast_halves((const uint16_t*)byte_address(*call.rounded, (char*)from, i * 2), kChunk,
                          memory + i);
        return memory;
    }
#endif
    const float* x = call.x + row * width;
    if (width == padded) return x;
    __builtin_memcpy(memory, x, width * sizeof(float));
    for (int64_t i = width; i < padded; ++i) memory[i] = 0.0f;
    return memory;
}

#ifdef YAIE_AMX
#include "adapter_tiles.inl"
#endif

static void thin_task(void* context, int64_t index, Scratch& scratch) {
    const ThinCall& call = *static_cast<const ThinCall*>(context);
    const ThinTask& task = call.tasks[index / call.num_parts];
    const ThinPart& part = call.parts[index % call.num_parts];
    const YaieLowRank& low_rank = task.layer->*part.low_rank;
    if (!low_rank.rank) return;
    int64_t padded = round_up(call.width, kChunk), count = task.end - task.first;
#ifdef YAIE_AMX
    if (low_rank.is_bfloat16) return thin_tiles(call, part, low_rank, task.first, count, scratch);
#endif
    int64_t floats = kRowsInThinTask * padded + kRowsInThin * low_rank.rank;
    float* memory = (float*)scratch.get(floats * sizeof(float));
    const float* x[kRowsInThinTask];
    for (int64_t r = 0; r < count; ++r)
        x[r] = thin_input(call, task.first + r, memory + r * padded);
    float* t = memory + kRowsInThinTask * padded;
    if (low_rank.is_bfloat16)
        thin_rows<Bf16>(call, part, low_rank, task.first, count, x, t);
    else
        thin_rows<float>(call, part, low_rank, task.first, count, x, t);
}

// The rows of a call that have an adapter: ranges, in a layer.
struct AdaptedRows {
    const YaieAdapterRows* ranges;
    int64_t num_ranges, layer;

    // Return whether an adapter of rows `first` to `end` has one of the products.
    bool has(int64_t first, int64_t end,
             std::initializer_list<const YaieLowRank YaieAdapterLayer::*> products) const {
        for (int64_t i = 0; i < num_ranges; ++i) {
            if (ranges[i].end_row <= first || ranges[i].first_row >= end) continue;
            for (auto product : products)
                if ((ranges[i].layers[layer].*product).rank) return true;
        }
        return false;
    }
};

// Run the products for rows `first` to `end`, of which the call has the first at index 0.
static void add_low_rank(Pool& pool, DecoderBuffers& buffers, const AdaptedRows& rows,
                         int64_t first, int64_t end, ThinCall& call) {
    std::vector<ThinTask>& tasks = buffers.thin_tasks;
    tasks.clear();
    for (int64_t i = 0; i < rows.num_ranges; ++i) {
        const YaieAdapterRows& range = rows.ranges[i];
        int64_t last = min_of(range.end_row, end);
        for (int64_t row = max_of(range.first_row, first) - first, next; row < last - first;
             row = next) {
            // Within a block of rounded rows.
            next = min_of((row / kRowsInThinTask + 1) * kRowsInThinTask, last - first);
            tasks.push_back({row, next, range.layers + rows.layer});
        }
    }
    if (tasks.empty()) return;
    call.tasks = tasks.data();
    pool.run(thin_task, &call, (int64_t)tasks.size() * call.num_parts);
}

struct GateCall {
    const float* raw;  // [rows, panels, kChunk]: gates and values, interleaved as they are packed
    Target target;
    int64_t inner, count;
    const float* gates;  // or instead: [rows, inner], with the values in the target
};

static void gate_task(void* context, int64_t index, Scratch&) {
    const GateCall& call = *static_cast<const GateCall*>(context);
    int64_t end = min_of((index + 1) * kRowsInThin, call.count), inner = call.inner;
    int64_t stride = round_up(inner, kLanes) * 2;
    for (int64_t row = index * kRowsInThin; row < end; ++row)
        for (int64_t first = 0; first < inner; first += kLanes) {
            float* y = call.target.y + row * call.target.y_stride + first;
            if (call.gates) {
                Vec gate = get(call.gates + row * inner + first, inner - first);
                bool is_silu = call.target.store == YAIE_SILU_TIMES;
                Vec scaled = gate * call.target.gate_factor;
                gate = is_silu ? sigmoid_times(scaled) : gelu_tanh(gate);
                put<false>(y, gate * get(y, inner - first), inner - first);
                continue;
            }
            const float* at = call.raw + row * stride + first * 2;
            Vec result = gated(call.target, load(at), load(at + kLanes));
#ifdef YAIE_BF16
            if (call.target.rounded) {
                store_bf16(*call.target.rounded, row, first, result, inner);
                continue;
            }
#endif
            put<false>(y, result, inner - first);
        }
}
