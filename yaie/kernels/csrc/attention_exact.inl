// Batch-invariant attention: a row has the same bits beside any other rows, for any division of its
// path into nodes and of its prompt into chunks.
//
// The GEMV-like form serves any number of query vectors. A row's keys are taken in blocks between
// multiples of kKeysInBlock positions, in order, and a masked key adds exactly 0. Spans of
// kKeysInSpan positions are accumulated separately, so that threads can share a long path, and are
// merged in order. Pieces end at block borders only; a later piece continues from the accumulators
// of an earlier one.

// Compiled once for each instruction set, so that all callers get the same rounding.
#ifdef __clang__
#define YAIE_ONCE static __attribute__((noinline))
#else
#define YAIE_ONCE static __attribute__((noinline, noclone))
#endif

// The query vectors of one piece and one KV head.
struct ExactState {
    float* queries;       // [lanes, padded key width], scaled
    float* accumulators;  // [lanes, padded value width]
    float* maxima;        // [lanes]
    float* totals;        // [lanes]
};

YAIE_ONCE float softmax_exact(const Layer& layer, int n, const float* key_scales,
                              const float* value_scales, int32_t first_position, int32_t position,
                              float* scores, float* maximum, float* total) {
    return update_softmax<true>(layer, n, key_scales, value_scales, first_position, position,
                                scores, maximum, total);
}

template <class T, int Queries>
static void attend_exact_block(GemvBlock<T>& block, const Layer& layer, ExactState& state,
                               int first, const int32_t* positions, int32_t first_position) {
    alignas(64) float scores[Queries * kScoreStride];
    float factors[Queries];
    score_gemv<T, Queries>(block, layer, state.queries + first * layer.keys, scores);
    for (int m = 0; m < Queries; ++m)
        factors[m] = softmax_exact(layer, block.n, block.key_scales, block.value_scales,
                                   first_position, positions[first + m], scores + m * kScoreStride,
                                   &state.maxima[first + m], &state.totals[first + m]);
    add_gemv<T, Queries>(block, layer, scores, factors, state.accumulators + first * layer.values);
}

template <class T>
static void attend_exact_lanes(GemvBlock<T>& block, const Layer& layer, ExactState& state,
                               int lanes, const int32_t* positions, int32_t at) {
    int step = 4;
    for (int first = 0; first < lanes; first += step) {
        step = lanes - first < 4 ? lanes - first : 4;
        bool seen = false;
        for (int i = first; i < first + step; ++i) seen |= positions[i] >= at;
        if (!seen && first) continue;  // the first lanes also prefetch the next block
        switch (step) {
            case 1: attend_exact_block<T, 1>(block, layer, state, first, positions, at); break;
            case 2: attend_exact_block<T, 2>(block, layer, state, first, positions, at); break;
            case 3: attend_exact_block<T, 3>(block, layer, state, first, positions, at); break;
            default: attend_exact_block<T, 4>(block, layer, state, first, positions, at);
        }
    }
}

// Index of the partial results of a row, span and head.
YAIE_INLINE int64_t exact_place(const AttentionCall& call, int64_t row, int64_t span,
                                int64_t head) {
    return (call.schedule->row_offsets[row] + span) * call.layer->num_heads + head;
}

// Load the queries, and the accumulators of the pieces above.
template <class T>
static void begin_exact(const AttentionCall& call, const Layer& layer, const Piece& piece,
                        int kv_head, int lanes, ExactState& state) {
    int64_t span = piece.first_position / kKeysInSpan;
    for (int i = 0; i < lanes; ++i) {
        int64_t row = piece.first_row + i / layer.group;
        int64_t head = static_cast<int64_t>(kv_head) * layer.group + i % layer.group;
        upcast_query<T>(layer, row, head, state.queries + i * layer.keys);
        state.maxima[i] = kMasked;
        state.totals[i] = 0;
        float* accumulators = state.accumulators + i * layer.values;
        for (int d = 0; d < layer.values; d += kLanes) store(accumulators + d, Vec{});
        if (!piece.level || call.step->positions[row] < piece.first_position) continue;
        int64_t place = exact_place(call, row, span, head);
        if (call.partial_max[place] == kMasked) continue;
        state.maxima[i] = call.partial_max[place];
        state.totals[i] = call.partial_sum[place];
        const float* from = call.partial_values + place * layer.values;
        for (int d = 0; d < layer.values; d += kLanes) store(accumulators + d, load(from + d));
    }
}

// Write complete rows as output, and store the others for the pieces below and the merge.
template <class T>
static void end_exact(const AttentionCall& call, const Layer& layer, const Piece& piece,
                      int kv_head, int lanes, const ExactState& state) {
    int64_t span = piece.first_position / kKeysInSpan;
    int64_t end = piece.first_position + piece.num_keys;
    for (int i = 0; i < lanes; ++i) {
        int64_t row = piece.first_row + i / layer.group;
        int64_t head = static_cast<int64_t>(kv_head) * layer.group + i % layer.group;
        int64_t position = call.step->positions[row];
        if (position < piece.first_position) continue;  // complete before this piece
        const float* accumulators = state.accumulators + i * layer.values;
        if (position < end && !call.schedule->is_merged(row)) {
            write_output<T>(call, layer, row, head, accumulators, state.maxima[i], state.totals[i]);
            continue;
        }
        int64_t place = exact_place(call, row, span, head);
        call.partial_max[place] = state.maxima[i];
        call.partial_sum[place] = state.totals[i];
        float* to = call.partial_values + place * layer.values;
        for (int d = 0; d < layer.values; d += kLanes) store(to + d, load(accumulators + d));
    }
}

template <class T>
static void attend_exact(const AttentionCall& call, const Layer& layer, const Piece& piece,
                         int first_head, int end_head, Scratch& scratch) {
    const YaieLayer& at = layer.at;
    int heads = end_head - first_head;
    int lanes = static_cast<int>(piece.end_row - piece.first_row) * layer.group;
    size_t state_bytes = padded(heads * sizeof(ExactState) + lanes * sizeof(int32_t), 64);
    int64_t lane_floats = padded(2 * lanes, 16);
    int64_t floats = lane_floats + static_cast<int64_t>(lanes) * (layer.keys + layer.values);
    char* memory = scratch.get(state_bytes + heads * floats * sizeof(float));
    ExactState* states = reinterpret_cast<ExactState*>(memory);
    int32_t* positions = reinterpret_cast<int32_t*>(states + heads);
    float* vectors = reinterpret_cast<float*>(memory + state_bytes);
    for (int i = 0; i < lanes; ++i)
        positions[i] =
            static_cast<int32_t>(call.step->positions[piece.first_row + i / layer.group]);
    for (int h = 0; h < heads; ++h, vectors += floats) {
        states[h].queries = vectors;
        states[h].accumulators = vectors + lanes * layer.keys;
        states[h].maxima = states[h].accumulators + lanes * layer.values;
        states[h].totals = states[h].maxima + lanes;
        begin_exact<T>(call, layer, piece, first_head + h, lanes, states[h]);
    }
    BlockScales<T> scales;
    int64_t n = 0;
    for (int64_t key = 0; key < piece.num_keys; key += n) {
        int64_t position = piece.first_position + key, left = piece.num_keys - key;
        n = min_of(kKeysInBlock - position % kKeysInBlock, left);
        const int64_t* slots = piece.slots + key;
        int next_n = static_cast<int>(min_of(kKeysInBlock, left - n));
        for (int h = 0; h < heads; ++h) {
            int head = first_head + h;
            GemvBlock<T> block(at, head, slots, static_cast<int>(n), scales,
                               prefetch_after<T>(at, first_head, end_head, head, slots,
                                                 static_cast<int>(n), next_n));
            attend_exact_lanes(block, layer, states[h], lanes, positions,
                               static_cast<int32_t>(position));
        }
    }
    for (int h = 0; h < heads; ++h)
        end_exact<T>(call, layer, piece, first_head + h, lanes, states[h]);
}

// Add the accumulators of a later span to those of earlier ones.
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
static void merge_exact(const AttentionCall& call, const Layer& layer, int64_t index,
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
                int64_t place = exact_place(call, row, span, head);
                float found = call.partial_max[place];
                if (found == kMasked) continue;  // outside the row's window
                add_span(layer, call.partial_values + place * layer.values, found,
                         call.partial_sum[place], accumulators, &maximum, &sum);
            }
            write_output<T>(call, layer, row, head, accumulators, maximum, sum);
        }
    }
}
