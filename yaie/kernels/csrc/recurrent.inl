// Recurrent layers: short convolutions, gated delta rules and state space scans, and gated norms.
// Needs: simd.inl, linear_epilogue.inl, abi.h.
//
// A task computes some channels, or some columns of a head's state, for all chains of the step. No
// other task touches them, so a chain may start from what an earlier chain has left. Tokens are
// computed one after another, with the same operations wherever a chain is cut: a result depends
// neither on the other chains nor on the state from which a path was resumed.

constexpr int64_t kMaxTaps = 8;
constexpr int64_t kChannelsInTask = 8 * kChunk;
constexpr int64_t kNormedInTask = 4096;                // numbers
constexpr int64_t kPreparedInTask = 4096;              // numbers
constexpr int kColumns = YAIE_REGISTERS > 16 ? 4 : 2;  // vectors of a state's row in a task

YAIE_INLINE float* state_at(const YaieStates& states, int64_t slot) {
    return slot < states.num_slots ? states.slots + slot * states.stride
                                   : states.spare + (slot - states.num_slots) * states.stride;
}

// -- short convolutions ---------------------------------------------------------------------------

// Compute a vector of channels from `i` on, of which `count` exist.
template <bool is_whole>
YAIE_INLINE void convolve(const YaieConvolution& call, const float* const* inputs, int64_t i,
                          int64_t count, float* y) {
    auto get_some = [&](const float* p) { return is_whole ? load(p + i) : get(p + i, count); };
    Vec sum = call.bias ? get_some(call.bias) : Vec{};
    for (int64_t tap = 0; tap < call.num_taps; ++tap)
        sum = fma(get_some(inputs[tap]), get_some(call.weights + tap * call.num_channels), sum);
    if (call.has_silu) sum = sigmoid_times(sum);
    if (is_whole)
        store(y + i, sum);
    else
        put<false>(y + i, sum, count);
}

// y = the sum of the last inputs of each channel times its taps. A state is the inputs before a
// chain, [taps - 1, channels], latest last. Index: some channels.
static void convolution_task(void* context, int64_t index, Scratch& scratch) {
    const YaieConvolution& call = *static_cast<const YaieConvolution*>(context);
    int64_t channels = call.num_channels, earlier = call.num_taps - 1;
    int64_t first = index * kChannelsInTask, end = min_of(first + kChannelsInTask, channels);
    float* zeros = (float*)scratch.get(channels * sizeof(float));
    __builtin_memset(zeros + first, 0, (end - first) * sizeof(float));
    for (int64_t number = 0; number < call.num_chains; ++number) {
        const YaieChain& chain = call.chains[number];
        const float* before = chain.source < 0 ? nullptr : state_at(call.states, chain.source);
        // Return the inputs at `row`, which may precede the chain.
        auto inputs_at = [&](int64_t row) -> const float* {
            if (row >= chain.first_row) return call.x + row * call.x_stride;
            return before ? before + (row - chain.first_row + earlier) * channels : zeros;
        };
        for (int64_t row = chain.first_row; row < chain.end_row; ++row) {
            const float* inputs[kMaxTaps];
            for (int64_t tap = 0; tap <= earlier; ++tap)
                inputs[tap] = inputs_at(row + tap - earlier);
            float* y = call.y + row * call.y_stride;
            int64_t i = first;
            for (; i + kLanes <= end; i += kLanes) convolve<true>(call, inputs, i, kLanes, y);
            if (i < end) convolve<false>(call, inputs, i, end - i, y);
        }
        if (chain.target < 0) continue;
        // In ascending order: the state may replace the one that the chain started from.
        float* after = state_at(call.states, chain.target);
        for (int64_t place = 0; place < earlier; ++place)
            __builtin_memmove(after + place * channels + first,
                              inputs_at(chain.end_row - earlier + place) + first,
                              (end - first) * sizeof(float));
    }
}

static void run_convolution(Pool& pool, const YaieConvolution& call) {
    pool.run(convolution_task, (void*)&call,
             (call.num_channels + kChannelsInTask - 1) / kChannelsInTask);
}

// -- recurrences ----------------------------------------------------------------------------------

struct RecurrenceRun {
    const YaieRecurrence& call;
    float* decays;   // [rows, heads]: of the state
    float* factors;  // [rows, heads]: of what is added to it
    int64_t rows_in_task;
    int64_t blocks;  // of columns in a head
};

// Return log(1 + exp(x)), as torch does.
YAIE_INLINE float softplus(float x) { return x > 20.0f ? x : __builtin_log1pf(__builtin_expf(x)); }

// Scale a vector to the length `length`; epsilon avoids a division by 0.
YAIE_INLINE void scale_to_length(float* x, int64_t width, float length) {
    Vec squares{};
    for (int64_t i = 0; i < width; i += kLanes) {
        Vec v = get(x + i, width - i);
        squares = fma(v, v, squares);
    }
    Vec factor = splat(length / __builtin_sqrtf(sum_of_lanes(squares) + 1e-6f));
    for (int64_t i = 0; i < width; i += kLanes)
        put<false>(x + i, get(x + i, width - i) * factor, width - i);
}

// Normalize queries and keys, and compute decays and factors. Index: some rows.
static void prepare_recurrence_task(void* context, int64_t index, Scratch&) {
    const RecurrenceRun& run = *static_cast<const RecurrenceRun*>(context);
    const YaieRecurrence& call = run.call;
    int64_t end = min_of((index + 1) * run.rows_in_task, call.num_rows);
    float length = 1.0f / __builtin_sqrtf((float)call.key_width);
    for (int64_t row = index * run.rows_in_task; row < end; ++row) {
        for (int64_t head = 0; call.is_delta_rule && head < call.num_key_heads; ++head) {
            int64_t place = row * call.row_stride + head * call.key_width;
            scale_to_length(call.queries + place, call.key_width, length);
            scale_to_length(call.keys + place, call.key_width, 1.0f);
        }
        for (int64_t head = 0; head < call.num_heads; ++head) {
            float step = softplus(call.steps[row * call.step_stride + head] + call.step_bias[head]);
            step = step < call.min_step ? call.min_step : step;
            step = step > call.max_step ? call.max_step : step;
            int64_t place = row * call.num_heads + head;
            run.decays[place] = __builtin_expf(call.rates[head] * step);
            run.factors[place] = step;
            if (!call.is_delta_rule) continue;
            float gate = call.gates[row * call.gate_stride + head];
            run.factors[place] = call.gate_factor / (1.0f + __builtin_expf(-gate));
        }
    }
}

// Some columns of a head's state, [key_width, width], and where they are read and written.
struct StateColumns {
    const float* from;
    float* to;
    int64_t from_stride, to_stride;
};

// Return the products of a vector with the columns.
template <int Count, bool is_whole>
YAIE_INLINE void read_columns(const float* from, int64_t stride, int64_t keys, const float* key,
                              int64_t width, Vec* sums) {
#pragma GCC unroll 4
    for (int c = 0; c < Count; ++c) sums[c] = Vec{};
    for (int64_t i = 0; i < keys; ++i)
#pragma GCC unroll 4
        for (int c = 0; c < Count; ++c) {
            const float* p = from + i * stride + c * kLanes;
            sums[c] = fma(splat(key[i]), is_whole ? load(p) : get(p, width), sums[c]);
        }
}

// state = state * decay + key (x) added. Return the query's products with the new state, and those
// of the next token's key, so that the state passes through the registers once a token.
template <int Count, bool is_whole, bool has_next>
YAIE_INLINE void update_columns(const StateColumns& columns, int64_t keys, float decay,
                                const float* key, const float* query, const float* next_key,
                                int64_t width, const Vec* added, Vec* read, Vec* next) {
    Vec factor = splat(decay), add[Count], out[Count], ahead[Count];
#pragma GCC unroll 4
    for (int c = 0; c < Count; ++c) {
        add[c] = added[c];
        out[c] = ahead[c] = Vec{};
    }
    for (int64_t i = 0; i < keys; ++i) {
        Vec k = splat(key[i]), q = splat(query[i]), n = has_next ? splat(next_key[i]) : Vec{};
#pragma GCC unroll 4
        for (int c = 0; c < Count; ++c) {
            const float* p = columns.from + i * columns.from_stride + c * kLanes;
            float* to = columns.to + i * columns.to_stride + c * kLanes;
            Vec state = fma(k, add[c], (is_whole ? load(p) : get(p, width)) * factor);
            if (is_whole)
                store(to, state);
            else
                put<false>(to, state, width);
            out[c] = fma(q, state, out[c]);
            if (has_next) ahead[c] = fma(n, state, ahead[c]);
        }
    }
#pragma GCC unroll 4
    for (int c = 0; c < Count; ++c) {
        read[c] = out[c];
        if (has_next) next[c] = ahead[c];
    }
}

template <int Count, bool is_whole>
static void recur_columns(const RecurrenceRun& run, int64_t head, int64_t column,
                          Scratch& scratch) {
    const YaieRecurrence& call = run.call;
    int64_t keys = call.key_width, values = call.value_width;
    int64_t width = min_of(Count * kLanes, values - column);
    int64_t place = head * keys * values + column, value_place = head * values + column;
    int64_t key_head =
        call.has_tiles ? head % call.num_key_heads : head / (call.num_heads / call.num_key_heads);
    int64_t key_place = key_head * keys;
    constexpr int64_t kStride = Count * kLanes;
    float* work = (float*)scratch.get(keys * kStride * sizeof(float));
    auto get_some = [&](const float* p) { return is_whole ? load(p) : get(p, width); };
    for (int64_t number = 0; number < call.num_chains; ++number) {
        const YaieChain& chain = call.chains[number];
        StateColumns columns{work, work, kStride, kStride};
        float* target = chain.target < 0 ? nullptr : state_at(call.states, chain.target) + place;
        if (chain.source < 0) {
            __builtin_memset(work, 0, keys * kStride * sizeof(float));
        } else {
            columns.from = state_at(call.states, chain.source) + place;
            columns.from_stride = values;
        }
        if (chain.first_row == chain.end_row) {
            for (int64_t i = 0; target && i < keys; ++i)
                __builtin_memmove(target + i * values, columns.from + i * columns.from_stride,
                                  width * sizeof(float));
            continue;
        }
        Vec next[Count], added[Count], out[Count];
        if (call.is_delta_rule)
            read_columns<Count, is_whole>(columns.from, columns.from_stride, keys,
                                          call.keys + chain.first_row * call.row_stride + key_place,
                                          width, next);
        for (int64_t row = chain.first_row; row < chain.end_row; ++row) {
            bool is_last = row + 1 == chain.end_row;
            const float* key = call.keys + row * call.row_stride + key_place;
            const float* query = call.queries + row * call.row_stride + key_place;
            const float* value = call.values + row * call.row_stride + value_place;
            float decay = run.decays[row * call.num_heads + head];
            Vec factor = splat(run.factors[row * call.num_heads + head]);
#pragma GCC unroll 4
            for (int c = 0; c < Count; ++c) {
                added[c] = get_some(value + c * kLanes);
                if (call.is_delta_rule) added[c] = fma(next[c], splat(-decay), added[c]);
                added[c] = added[c] * factor;
            }
            if (is_last && target) {
                columns.to = target;
                columns.to_stride = values;
            }
            if (is_last || !call.is_delta_rule)
                update_columns<Count, is_whole, false>(columns, keys, decay, key, query, nullptr,
                                                       width, added, out, next);
            else
                update_columns<Count, is_whole, true>(columns, keys, decay, key, query,
                                                      key + call.row_stride, width, added, out,
                                                      next);
            columns.from = columns.to;
            columns.from_stride = columns.to_stride;
            float* y = call.y + row * call.num_heads * values + value_place;
#pragma GCC unroll 4
            for (int c = 0; c < Count; ++c) {
                if (call.skip)
                    out[c] = fma(get_some(value + c * kLanes), splat(call.skip[head]), out[c]);
                put<false>(y + c * kLanes, out[c], is_whole ? kLanes : width);
            }
        }
    }
}

// Index: some columns of a head, in the order of memory. The last ones are taken vector by vector.
static void recur_task(void* context, int64_t index, Scratch& scratch) {
    const RecurrenceRun& run = *static_cast<const RecurrenceRun*>(context);
    int64_t head = index / run.blocks, block = index % run.blocks;
    int64_t wide = run.call.value_width / (kColumns * kLanes);
    if (block < wide)
        return recur_columns<kColumns, true>(run, head, block * kColumns * kLanes, scratch);
    int64_t column = wide * kColumns * kLanes + (block - wide) * kLanes;
    if (column + kLanes <= run.call.value_width)
        recur_columns<1, true>(run, head, column, scratch);
    else
        recur_columns<1, false>(run, head, column, scratch);
}

static void run_recurrence(Pool& pool, const YaieRecurrence& call) {
    int64_t numbers = call.num_rows * call.num_heads;
    float* memory = (float*)pool.caller_memory().get(2 * numbers * sizeof(float));
    int64_t wide = call.value_width / (kColumns * kLanes);
    int64_t rest = call.value_width - wide * kColumns * kLanes;
    int64_t per_row = max_of(2 * call.num_key_heads * call.key_width, 1);
    RecurrenceRun run{call, memory, memory + numbers, max_of(kPreparedInTask / per_row, 1),
                      wide + (rest + kLanes - 1) / kLanes};
    pool.run(prepare_recurrence_task, &run,
             (call.num_rows + run.rows_in_task - 1) / run.rows_in_task);
    pool.run(recur_task, &run, call.num_heads * run.blocks);
}

// -- gated norms ----------------------------------------------------------------------------------

// Normalize one group of a row, before or after it is multiplied with silu(gate).
static void gate_and_norm(const YaieGatedNorm& call, const float* x, const float* gate,
                          const float* weight, float* y) {
    int64_t width = call.width;
    Vec squares{};
    for (int64_t i = 0; i < width; i += kLanes) {
        int64_t count = width - i;
        Vec v = get(x + i, count);
        if (!call.norm_first) {
            v = v * sigmoid_times(get(gate + i, count));
            put<false>(y + i, v, count);
        }
        squares = fma(v, v, squares);
    }
    if (!weight) return;
    float mean = sum_of_lanes(squares) / (float)width;
    Vec factor = splat(1.0f / __builtin_sqrtf(mean + call.epsilon));
    for (int64_t i = 0; i < width; i += kLanes) {
        int64_t count = width - i;
        Vec v = get((call.norm_first ? x : y) + i, count) * factor * get(weight + i, count);
        if (gate && call.norm_first) v = v * sigmoid_times(get(gate + i, count));
        put<false>(y + i, v, count);
    }
}

struct GatedNormRun {
    const YaieGatedNorm& call;
    int64_t groups_in_task;
};

// Index: some groups, row by row.
static void gated_norm_task(void* context, int64_t index, Scratch&) {
    const GatedNormRun& run = *static_cast<const GatedNormRun*>(context);
    const YaieGatedNorm& call = run.call;
    int64_t end = min_of((index + 1) * run.groups_in_task, call.num_rows * call.num_groups);
    for (int64_t i = index * run.groups_in_task; i < end; ++i) {
        int64_t row = i / call.num_groups, group = i % call.num_groups;
        gate_and_norm(call, call.x + i * call.width,
                      call.gate ? call.gate + row * call.gate_stride + group * call.width : nullptr,
                      call.weight ? call.weight + group * call.weight_stride : nullptr,
                      call.y + i * call.width);
    }
}

static void run_gated_norm(Pool& pool, const YaieGatedNorm& call) {
    GatedNormRun run{call, max_of(kNormedInTask / call.width, 1)};
    int64_t groups = call.num_rows * call.num_groups;
    pool.run(gated_norm_task, &run, (groups + run.groups_in_task - 1) / run.groups_in_task);
}
