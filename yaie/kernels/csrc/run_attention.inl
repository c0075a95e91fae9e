// Runs attention of one layer: schedule, partial results and merge. Needs: kernels.cpp.

// Kept between calls, under the lock of shared().
struct AttentionState {
    Schedules schedules;
    Scratch partials;
};

AttentionState& attention_state() {
    static AttentionState* state = new AttentionState;
    return *state;
}

// True if the output exceeds the caches and consists of whole aligned vectors.
bool has_large_output(const YaieStep& step, const YaieLayer& layer, const RoundedOutput& rounded) {
    if (rounded.bytes)
        return step.num_rows * rounded.block_stride >= kLargeResult * rounded.block_rows;
    int64_t row_bytes = layer.output_row_stride * int64_t{sizeof(float)};
    int64_t head_bytes = layer.output_head_stride * int64_t{sizeof(float)};
    int64_t starts = reinterpret_cast<intptr_t>(layer.output) | row_bytes | head_bytes;
    return layer.dtype == YAIE_FLOAT32 && layer.value_width % chosen()->chunk == 0 &&
           starts % 64 == 0 && step.num_rows * row_bytes >= kLargeResult;
}

void run_attention(Pool& pool, const YaieStep& step, const YaieLayer& layer,
                   const RoundedOutput& rounded) {
    AttentionKernels kernels = chosen()->attention(layer.pool_dtype);
    AttentionState& state = attention_state();
    const Schedule& schedule =
        state.schedules.get(step, layer, pool.threads(), chosen()->has_tiles(layer));
    AttentionCall call{};
    call.step = &step;
    call.layer = &layer;
    call.schedule = &schedule;
    call.rounded = rounded;
    call.large_output = has_large_output(step, layer, rounded);
    if (schedule.has_partials()) {
        int64_t width = padded(layer.value_width, chosen()->chunk);
        int64_t floats = schedule.num_partials * (width + 2);
        float* memory = reinterpret_cast<float*>(state.partials.get(floats * sizeof(float)));
        call.partial_values = memory;
        call.partial_max = memory + schedule.num_partials * width;
        call.partial_sum = call.partial_max + schedule.num_partials;
        call.large_partials = floats * int64_t{sizeof(float)} >= kLargeResult;
        if (step.exact) std::fill_n(call.partial_max, schedule.num_partials, kMasked);
    }
    for (int64_t end : schedule.level_ends) {
        pool.run(kernels.attend, &call, end - call.first_task);
        call.first_task = end;
    }
    int64_t merged = static_cast<int64_t>(schedule.merged_rows.size());
    pool.run(kernels.merge, &call, (merged + kRowsInMerge - 1) / kRowsInMerge);
}
