// Mixtures of experts. Needs: linear.inl and its companions, experts.h.
//
// Rows are sorted by expert, so that each chosen expert's weights are read once, and no others. An
// expert's rows lie next to each other; a task computes some panels of one expert with them. The
// two layers of all experts are two runs of the pool, with the gated results between them, and the
// outputs of a row's experts are added at the end, in the row's own order: a result depends neither
// on other rows nor on the number of threads.

constexpr int64_t kExpertRowsInTask = 4;

// The rows of the sorted order as one layer reads them: float32, or rounded by expert.
struct SortedRows {
    char* memory;
    int64_t place_bytes;  // per row
    float* scales;        // quantized rows
    int32_t* sums;
    Outlier* outliers;
    int32_t* counts;
    int64_t groups;
};

struct ExpertsRun {
    const YaieExperts& experts;
    const YaieExpertsCall& call;
    const ExpertOrder& order;
    const YaieLinear* layers;  // gate_up or down
    SortedRows sorted;
    const float* from;  // rows of the layer: the call's, or those of the sorted order
    bool is_first;      // gate_up
    float* to;          // results, [places, width]
    int64_t width;
    int64_t first_row, num_rows;
};

YAIE_INLINE bool rounds_to_bf16(const YaieLinear& linear) {
    return kHasBf16 && linear.weights_kind == YAIE_WEIGHTS_BFLOAT16;
}

static int64_t bytes_of_place(const YaieLinear& linear) {
    if (is_quantized(linear)) return padded_inputs(linear);
    if (rounds_to_bf16(linear)) return padded_inputs(linear) * (int64_t)sizeof(Bf16);
    return linear.num_inputs * (int64_t)sizeof(float);
}

// Divide memory for all places. All experts of a layer have the same shape and kind of weights.
static SortedRows sorted_rows(ExpertBuffers& buffers, ExpertBuffers::Place where,
                              const YaieLinear& linear, int64_t places) {
    SortedRows rows{};
    rows.place_bytes = bytes_of_place(linear);
    bool is_byte = linear.weights_kind == YAIE_WEIGHTS_INT8;
    if (is_quantized(linear)) rows.groups = is_byte ? 1 : padded_inputs(linear) / linear.group_size;
    int64_t room = is_byte ? most_outliers(linear.num_inputs) : 0;
    int64_t main = round_up(places * rows.place_bytes, 64), scales = places * rows.groups;
    int64_t more = scales * 8 + places * room * (int64_t)sizeof(Outlier) + places * 4;
    rows.memory = buffers.bytes(where, main + more);
    rows.scales = (float*)(rows.memory + main);
    rows.sums = (int32_t*)(rows.scales + scales);
    rows.counts = rows.sums + scales;
    if (is_byte) rows.outliers = (Outlier*)(rows.counts + places);
    return rows;
}

// Return one expert's part of a layer, with its rows counted from 0.
static LinearCall call_of(const ExpertsRun& run, const HitExpert& hit, bool& tiles) {
    const YaieLinear& linear = run.layers[hit.expert];
    int64_t place = hit.first_place;
    LinearCall call{};
    call.linear = &linear;
    call.rows = hit.num_rows;
    call.num_panels = (linear.num_outputs + kChunk - 1) / kChunk;
    call.x = (const float*)(run.sorted.memory + place * run.sorted.place_bytes);
    call.x_stride = linear.num_inputs;
    call.target = {run.to + place * run.width, run.width, YAIE_SET, 0.0f};
    if (run.is_first) {
        call.target.store = run.experts.activation;
        call.target.factor = run.experts.factor;
        call.target.limit = run.experts.limit;
    }
    int32_t shift = 0;
    if constexpr (kHasAmx) shift = tile_shift(linear, hit.num_rows);
    tiles = shift != 0;
    RoundedRows& rounded = call.rounded;
    if (is_quantized(linear)) {
        rounded.groups = run.sorted.groups;
        rounded.group_size =
            linear.weights_kind == YAIE_WEIGHTS_INT8 ? padded_inputs(linear) : linear.group_size;
        place_rows(rounded, run.sorted.place_bytes, shift ? shift : kStepShift, shift != 0);
        rounded.scales = run.sorted.scales + place * rounded.groups;
        rounded.sums = run.sorted.sums + place * rounded.groups;
        int64_t room = most_outliers(linear.num_inputs);
        if (run.sorted.outliers)
            rounded.outliers = {run.sorted.outliers + place * room, run.sorted.counts + place,
                                room};
    } else if (rounds_to_bf16(linear)) {
        place_rows(rounded, run.sorted.place_bytes, kStepShift, kHasAmx);
    } else {
        return call;
    }
    rounded.bytes = run.sorted.memory + place * run.sorted.place_bytes;
    return call;
}

static void expert_task(void* context, int64_t index, Scratch& scratch) {
    const ExpertsRun& run = *static_cast<const ExpertsRun*>(context);
    const ExpertTask& task = run.order.tasks[index];
    const HitExpert& hit = run.order.hits[task.hit];
    bool tiles;
    LinearCall call = call_of(run, hit, tiles);
    int64_t row_bytes = max_of(run.sorted.place_bytes, 1);
    int64_t block = max_of(round_up(kRowBlockBytes / row_bytes, 2 * kRowsInBlock), 64);
    for (int64_t row = 0; row < hit.num_rows; row += block) {
        LinearPart part{row, min_of(row + block, hit.num_rows), task.first_panel, task.end_panel};
        if constexpr (kHasAmx)
            if (tiles) {
                tile_part(call, part, scratch);
                continue;
            }
        linear_part(call, part, scratch);
    }
}

// Sort, and round, the rows of one expert: index is a block of places.
static void sort_task(void* context, int64_t index, Scratch& scratch) {
    const ExpertsRun& run = *static_cast<const ExpertsRun*>(context);
    const HitExpert* hit = run.order.hits.data();
    const HitExpert* end = hit + run.order.hits.size();
    int64_t place = index * kExpertRowsInTask;
    while (hit + 1 < end && hit[1].first_place <= place) ++hit;
    bool tiles;
    LinearCall call = call_of(run, *hit, tiles);
    const YaieLinear& linear = *call.linear;
    int64_t inputs = linear.num_inputs;
    float* rest = nullptr;
    if (call.rounded.outliers.entries) rest = (float*)scratch.get(inputs * sizeof(float));
    for (int64_t i = 0; i < kExpertRowsInTask; ++i) {
        int64_t row = place + i - hit->first_place;
        if (row >= hit->num_rows) return;
        int64_t source = run.is_first ? run.order.row_of_place[place + i] : place + i;
        const float* x = run.from + source * inputs;
        if (is_quantized(linear)) {
            round_row_to_bytes(x, inputs, call.rounded, row, rest);
            continue;
        }
        if constexpr (kHasBf16)
            if (call.rounded.bytes) {
                round_row(x, inputs, call.rounded, row);
                continue;
            }
        __builtin_memcpy((float*)call.x + row * inputs, x, inputs * sizeof(float));
    }
}

// y = the sum of a row's experts' outputs, each times its weight.
static void weigh_task(void* context, int64_t index, Scratch&) {
    const ExpertsRun& run = *static_cast<const ExpertsRun*>(context);
    int64_t chosen = run.call.num_chosen, width = run.width;
    int64_t end = min_of((index + 1) * kExpertRowsInTask, run.num_rows);
    for (int64_t row = index * kExpertRowsInTask; row < end; ++row) {
        float* y = run.call.y + (run.first_row + row) * width;
        __builtin_memset(y, 0, width * sizeof(float));
        for (int64_t slot = 0; slot < chosen; ++slot) {
            int64_t place = run.order.place_of_pair[row * chosen + slot];
            if (place < 0) continue;
            float weight = run.call.weights[(run.first_row + row) * chosen + slot];
            const float* from = run.to + place * width;
            int64_t i = 0;
            for (; i + kLanes <= width; i += kLanes)
                store(y + i, fma(load(from + i), splat(weight), load(y + i)));
            for (; i < width; ++i) y[i] += from[i] * weight;
        }
    }
}

static void run_experts_layer(Pool& pool, ExpertsRun& run, ExpertOrder& order) {
    int64_t places = order.num_places();
    pool.run(sort_task, &run, (places + kExpertRowsInTask - 1) / kExpertRowsInTask);
    const YaieLinear& linear = run.layers[0];
    order.cut((linear.num_outputs + kChunk - 1) / kChunk, panel_bytes(linear), pool.threads());
    pool.run(expert_task, &run, (int64_t)order.tasks.size());
}

static void run_experts(Pool& pool, const YaieExperts& experts, const YaieExpertsCall& call,
                        ExpertBuffers& buffers) {
    int64_t most = max_of(kPairsAtOnce / call.num_chosen, 1);
    for (int64_t row = 0; row < call.num_rows; row += most) {
        ExpertOrder& order = buffers.order;
        int64_t count = min_of(most, call.num_rows - row);
        order.sort(experts, call, row, count);
        int64_t places = order.num_places(), inner = experts.down[0].num_inputs;
        ExpertsRun run{experts, call, order, experts.gate_up, {}, call.x, true, nullptr,
                       inner,   row,  count};
        if (places) {
            run.sorted = sorted_rows(buffers, ExpertBuffers::kRows, experts.gate_up[0], places);
            run.to = (float*)buffers.bytes(ExpertBuffers::kGated,
                                           places * inner * (int64_t)sizeof(float));
            run_experts_layer(pool, run, order);
            run.layers = experts.down;
            run.sorted = sorted_rows(buffers, ExpertBuffers::kGatedRows, experts.down[0], places);
            run.from = run.to;
            run.is_first = false;
            run.to = (float*)buffers.bytes(ExpertBuffers::kOutputs,
                                           places * experts.hidden * (int64_t)sizeof(float));
        }
        run.width = experts.hidden;
        if (places) run_experts_layer(pool, run, order);
        pool.run(weigh_task, &run, (count + kExpertRowsInTask - 1) / kExpertRowsInTask);
    }
}
