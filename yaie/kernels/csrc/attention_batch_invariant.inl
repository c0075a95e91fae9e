// Batch-invariant attention: a row has the same bits in any batch, however its path is divided into
// nodes and its prompt into chunks. Needs: attention.inl, attention_gemv.inl.
//
// The GEMV-like loops serve any number of query vectors. A row's
// keys are taken in blocks between multiples of kKeysInBlock positions, in order, and a masked key
// adds exactly 0. Spans of kKeysInSpan positions are accumulated separately, so that threads can
// share a long path, and are merged in order. Work items end at block borders only; a later work
// item continues from an earlier item's accumulators.

// Compiled once for each instruction set, so that all callers get the same rounding.
#ifdef __clang__
#define YAIE_ONCE static __attribute__((noinline))
#else
#define YAIE_ONCE static __attribute__((noinline, noclone))
#endif

// The query vectors of one work item and one KV head.
struct InvariantState {
    float* queries;       // [queries, padded key width], scaled
    float* accumulators;  // [queries, padded value width]
    float* maxima;        // [queries]
    float* totals;        // [queries]
};

YAIE_ONCE float softmax_invariant(const Layer& layer, int n, const float* key_scales,
                                  const float* value_scales, int32_t first_position,
                                  int32_t position, float* scores, float* maximum, float* total) {
    return update_softmax<true>(layer, n, key_scales, value_scales, first_position, position,
                                scores, maximum, total);
}

template <class T, int Queries>
static void attend_invariant_block(GemvBlock<T>& block, const Layer& layer, InvariantState& state,
                                   int first, const int32_t* positions, int32_t first_position) {
    alignas(64) float scores[Queries * kScoreStride];
    float factors[Queries];
    score_gemv<T, Queries>(block, layer, state.queries + first * layer.keys, scores);
    for (int m = 0; m < Queries; ++m)
        factors[m] =
            softmax_invariant(layer, block.n, block.key_scales, block.value_scales, first_position,
                              positions[first + m], scores + m * kScoreStride,
                              &state.maxima[first + m], &state.totals[first + m]);
    add_gemv<T, Queries>(block, layer, scores, factors, state.accumulators + first * layer.values);
}

template <class T>
static void attend_invariant_queries(GemvBlock<T>& block, const Layer& layer, InvariantState& state,
                                     int num_queries, const int32_t* positions, int32_t at) {
    int step = 4;
    for (int first = 0; first < num_queries; first += step) {
        step = num_queries - first < 4 ? num_queries - first : 4;
        bool seen = false;
        for (int i = first; i < first + step; ++i) seen |= positions[i] >= at;
        if (!seen && first) continue;  // the first query vectors also prefetch the next block
        switch (step) {
            case 1: attend_invariant_block<T, 1>(block, layer, state, first, positions, at); break;
            case 2: attend_invariant_block<T, 2>(block, layer, state, first, positions, at); break;
            case 3: attend_invariant_block<T, 3>(block, layer, state, first, positions, at); break;
            default: attend_invariant_block<T, 4>(block, layer, state, first, positions, at);
        }
    }
}

// Index of the partial results of a row, span and head.
YAIE_INLINE int64_t partial_index(const AttentionCall& call, int64_t row, int64_t span,
                                  int64_t head) {
    return (call.schedule->row_offsets[row] + span) * call.layer->num_heads + head;
}

// Load the queries, and the accumulators of earlier work items.
template <class T>
static void begin_invariant(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                            int kv_head, int num_queries, InvariantState& state) {
    int64_t span = item.first_position / kKeysInSpan;
    for (int i = 0; i < num_queries; ++i) {
        int64_t row = item.first_row + i / layer.group;
        int64_t head = static_cast<int64_t>(kv_head) * layer.group + i % layer.group;
        upcast_query<T>(layer, row, head, state.queries + i * layer.keys);
        state.maxima[i] = kMasked;
        state.totals[i] = 0;
        float* accumulators = state.accumulators + i * layer.values;
        for (int d = 0; d < layer.values; d += kLanes) store(accumulators + d, Vec{});
        if (!item.level || call.step->positions[row] < item.first_position) continue;
        int64_t place = partial_index(call, row, span, head);
        if (call.partial_max[place] == kMasked) continue;
        state.maxima[i] = call.partial_max[place];
        state.totals[i] = call.partial_sum[place];
        const float* from = call.partial_values + place * layer.values;
        for (int d = 0; d < layer.values; d += kLanes) store(accumulators + d, load(from + d));
    }
}

// Write complete rows as output, and store incomplete rows for later work items and the merge.
template <class T>
static void end_invariant(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                          int kv_head, int num_queries, const InvariantState& state) {
    int64_t span = item.first_position / kKeysInSpan;
    int64_t end = item.first_position + item.num_keys;
    for (int i = 0; i < num_queries; ++i) {
        int64_t row = item.first_row + i / layer.group;
        int64_t head = static_cast<int64_t>(kv_head) * layer.group + i % layer.group;
        int64_t position = call.step->positions[row];
        if (position < item.first_position) continue;  // complete before this work item
        const float* accumulators = state.accumulators + i * layer.values;
        if (position < end && !call.schedule->is_merged(row)) {
            write_output<T>(call, layer, row, head, accumulators, state.maxima[i], state.totals[i]);
            continue;
        }
        int64_t place = partial_index(call, row, span, head);
        call.partial_max[place] = state.maxima[i];
        call.partial_sum[place] = state.totals[i];
        float* to = call.partial_values + place * layer.values;
        for (int d = 0; d < layer.values; d += kLanes) store(to + d, load(accumulators + d));
    }
}

template <class T>
static void attend_invariant(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                             int first_head, int end_head, Scratch& scratch) {
    const YaieLayer& at = layer.at;
    int heads = end_head - first_head;
    int num_queries = static_cast<int>(item.end_row - item.first_row) * layer.group;
    size_t state_bytes = padded(heads * sizeof(InvariantState) + num_queries * sizeof(int32_t), 64);
    int64_t query_floats = padded(2 * num_queries, 16);
    int64_t floats = query_floats + static_cast<int64_t>(num_queries) * (layer.keys + layer.values);
    char* memory = scratch.get(state_bytes + heads * floats * sizeof(float));
    InvariantState* states = reinterpret_cast<InvariantState*>(memory);
    int32_t* positions = reinterpret_cast<int32_t*>(states + heads);
    float* vectors = reinterpret_cast<float*>(memory + state_bytes);
    for (int i = 0; i < num_queries; ++i)
        positions[i] = static_cast<int32_t>(call.step->positions[item.first_row + i / layer.group]);
    for (int h = 0; h < heads; ++h, vectors += floats) {
        states[h].queries = vectors;
        states[h].accumulators = vectors + num_queries * layer.keys;
        states[h].maxima = states[h].accumulators + num_queries * layer.values;
        states[h].totals = states[h].maxima + num_queries;
        begin_invariant<T>(call, layer, item, first_head + h, num_queries, states[h]);
    }
    BlockScales<T> scales;
    int64_t n = 0;
    for (int64_t key = 0; key < item.num_keys; key += n) {
        int64_t position = item.first_position + key, left = item.num_keys - key;
        n = min_of(kKeysInBlock - position % kKeysInBlock, left);
        const int64_t* slots = item.slots + key;
        int next_n = static_cast<int>(min_of(kKeysInBlock, left - n));
        for (int h = 0; h < heads; ++h) {
            int head = first_head + h;
            GemvBlock<T> block(at, head, slots, static_cast<int>(n), scales,
                               prefetch_after<T>(at, first_head, end_head, head, slots,
                                                 static_cast<int>(n), next_n));
            attend_invariant_queries(block, layer, states[h], num_queries, positions,
                                     static_cast<int32_t>(position));
        }
    }
    for (int h = 0; h < heads; ++h)
        end_invariant<T>(call, layer, item, first_head + h, num_queries, states[h]);
}

// Add a later span's accumulators to the accumulators of earlier spans.
YAIE_ONCE void add_span(const Layer& layer, const float* from, float found, float found_sum,
                        float* accumulators, float* maximum, float* sum) {
    float larger = found > *maximum ? found : *maximum;
    Vec old_factor = exp2(splat(*maximum - larger));
    Vec factor = exp2(splat(found - larger));
    for (int d = 0; d < layer.values; d += kLanes)
        store(accumulators + d, fma(load(from + d), factor, load(accumulators + d) * old_factor));
    *sum = *sum * old_factor[0] + found_sum * factor[0];
    *maximum = larger;
}

template <class T>
static void merge_invariant(const AttentionCall& call, const Layer& layer, int64_t index,
                            float* accumulators) {
    const Schedule& schedule = *call.schedule;
    int64_t end =
        min_of((index + 1) * kRowsInMerge, static_cast<int64_t>(schedule.merged_rows.size()));
    for (int64_t i = index * kRowsInMerge; i < end; ++i) {
        int64_t row = schedule.merged_rows[i];
        int64_t spans = schedule.row_offsets[row + 1] - schedule.row_offsets[row];
        for (int64_t head = 0; head < layer.at.num_heads; ++head) {
            float maximum = kMasked, sum = 0;
            for (int d = 0; d < layer.values; d += kLanes) store(accumulators + d, Vec{});
            for (int64_t span = 0; span < spans; ++span) {
                int64_t place = partial_index(call, row, span, head);
                float found = call.partial_max[place];
                if (found == kMasked) continue;  // outside the row's window
                add_span(layer, call.partial_values + place * layer.values, found,
                         call.partial_sum[place], accumulators, &maximum, &sum);
            }
            write_output<T>(call, layer, row, head, accumulators, maximum, sum);
        }
    }
}
