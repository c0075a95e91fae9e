// A layer: attention, a mixer or both, then the MLP or a mixture. Included by decoder.inl.

// Run linear layers on the same normalized rows of x, with their results side by side; empty layers
// are skipped. Return the rows, or null if they were rounded for `last`, which read them last.
static const float* normed_linears(Decoding& d, std::initializer_list<const YaieLinear*> parts,
                                   const float* x, const float* weight, float epsilon,
                                   Target target, const YaieLinear*& last) {
    int64_t rows = d.step.num_rows;
    const float* normed = nullptr;
    for (const YaieLinear* part : parts) {
        if (!part->num_outputs) continue;
        if (normed)
            run_linear(d.pool, *part, normed, part->num_inputs, rows, target);
        else
            normed =
                normed_linear(d.pool, d.buffers, *(last = part), x, rows, weight, epsilon, target);
        target.y += part->num_outputs;
        if (target.halves) target.halves += part->num_outputs * (int64_t)sizeof(Bf16);
    }
    return normed;
}

// Rows that an output projection reads, in float32 or rounded.
struct ProjectedRows {
    float* rows;
    RoundedRows rounded;
};

// Return the inputs of a mixer's output projection.
static float* run_layer_mixer(Decoding& d, const YaieDecoderLayer& layer, const float* hidden) {
    const YaieMixer& mixer = layer.mixer;
    int64_t rows = d.step.num_rows, stride = projected_width(mixer);
    float* projected = d.buffers.floats(DecoderBuffers::kProjected, rows * stride);
    const YaieLinear* last = nullptr;
    normed_linears(d, {&mixer.input, &mixer.input_2, &mixer.input_3, &mixer.input_4}, hidden,
                   mixer.norm, layer.epsilon, Target{projected, stride, YAIE_SET, 0.0f}, last);
    float* mixed = mix(d.pool, d.buffers, mixer, d.call.chains, projected, rows);
    beat(d);
    return mixed;
}

// Return the inputs of attention's output projection.
static ProjectedRows run_layer_attention(Decoding& d, const YaieDecoderLayer& layer,
                                         const float* hidden, bool is_last) {
    int64_t rows = d.step.num_rows, width = d.decoder.hidden;
    YaieLayer at = layer.attention;
    int64_t query_width = (int64_t)at.num_heads * at.key_width;
    int64_t output_width = (int64_t)at.num_heads * at.value_width;
    Halves halves = which_halves(d, layer, is_last);
    int64_t qkv_width = layer.qkv.num_outputs + layer.key.num_outputs + layer.value.num_outputs;
    char* qkv = d.buffers.bytes(DecoderBuffers::kQkv, rows * qkv_width * (int64_t)sizeof(float));
    Target to_qkv{(float*)qkv, qkv_width, YAIE_SET, 0.0f};
    if (halves.qkv) to_qkv.halves = qkv;
    const YaieLinear* last = nullptr;
    const float* normed = normed_linears(d, {&layer.qkv, &layer.key, &layer.value}, hidden,
                                         layer.attention_norm, layer.epsilon, to_qkv, last);

    if (d.adapted.num_ranges) {
        RoundedRows rounded = rounded_inputs(d.buffers, *last, rows, normed);
        ThinCall call{normed, &rounded, 1.0f, width, qkv_width, {}, 3, nullptr};
        // Wide gates are outputs of the queries' layer; head gates come last, without adapters.
        int64_t kv_heads = at.num_kv_heads, place = 0;
        int64_t queries = layer.output_gates == YAIE_WIDE_GATES ? 2 * query_width : query_width;
        int64_t widths[] = {queries, kv_heads * at.key_width, kv_heads * at.value_width};
        const YaieLowRank YaieAdapterLayer::* products[] = {
            &YaieAdapterLayer::query, &YaieAdapterLayer::key, &YaieAdapterLayer::value};
        for (int i = 0; i < 3; place += widths[i++]) {
            uint16_t* half = halves.qkv ? (uint16_t*)qkv + place : nullptr;
            call.parts[i] = {products[i], (float*)qkv + place, half, widths[i], kLanes};
        }
        add_low_rank(d.pool, d.buffers, d.adapted, 0, rows, call);
    }

    if (layer.wide_query_norm) {
        WideNormCall wide{&layer, (float*)qkv, qkv_width, rows};
        d.pool.run(wide_norm_task, &wide, (rows + kRowsInTask - 1) / kRowsInTask);
    }
    float* queries = d.buffers.floats(DecoderBuffers::kQueries, rows * query_width);
    int64_t half_bytes = layer.rotary_width / 2 * (int64_t)sizeof(float);
    bool non_temporal = is_aligned(queries, half_bytes) && is_aligned(nullptr, at.key_width * 4) &&
                        rows * query_width * (halves.queries ? 2 : 4) >= kLargeResult;
    HeadsCall heads{
        &layer,       d.step.positions, (float*)qkv, d.buffers.slot_of_row, queries, rows,
        non_temporal, nullptr,          nullptr};
    if (halves.qkv) heads.qkv_halves = (const uint16_t*)qkv;
    if (halves.queries) heads.query_halves = (uint16_t*)queries;
    d.pool.run(heads_task, &heads, (rows + kRowsInTask - 1) / kRowsInTask);

    float* output = nullptr;
    RoundedRows rounded{};
    RoundedOutput rounded_output{};
    if (!halves.output) output = d.buffers.floats(DecoderBuffers::kOutput, rows * output_width);
    if constexpr (kHasBf16)
        if (halves.output) {
            int64_t bytes = bf16_bytes(layer.output, rows);
            rounded = bf16_rows(layer.output, d.buffers.bytes(DecoderBuffers::kOutput, bytes));
            rounded_output = {rounded.bytes, kRowsInBlock, rounded.block_stride, rounded.row_stride,
                              rounded.step_stride};
        }
    at.dtype = halves.queries ? YAIE_BFLOAT16 : YAIE_FLOAT32;
    at.scale *= layer.score_factor;
    at.queries = queries;
    at.sinks = layer.sinks;
    at.query_row_stride = query_width;
    at.query_head_stride = at.key_width;
    at.output = output;
    at.output_row_stride = output_width;
    at.output_head_stride = at.value_width;
    d.attend(d.pool, d.step, at, rounded_output);
    if (layer.output_gates) {
        OutputGatesCall gates{&layer, (float*)qkv, output, qkv_width, rows};
        d.pool.run(output_gates_task, &gates, (rows + kRowsInTask - 1) / kRowsInTask);
    }
    beat(d);
    return {output, rounded};
}

// Return the rows with outputs [rows, width], copied to a place of the buffers.
static float* keep_output_rows(Decoding& d, const float* from, int64_t width,
                               DecoderBuffers::Place place) {
    int64_t rows = d.call.num_logit_rows + d.call.num_hidden_rows;
    float* kept = d.buffers.floats(place, rows * width);
    GatherCall gather{from, d.call.output_rows, kept, width};
    d.pool.run(gather_task, &gather, rows);
    return kept;
}

static void run_layer(Decoding& d, const YaieDecoderLayer& layer, float*& hidden, bool is_last) {
    int64_t rows = d.step.num_rows;
    const YaieMixer& mixer = layer.mixer;
    float* mixed = mixer.kind ? run_layer_mixer(d, layer, hidden) : nullptr;
    bool attends = layer.qkv.num_outputs != 0;
    ProjectedRows attended{};
    if (attends) attended = run_layer_attention(d, layer, hidden, is_last);
    // From here on, the last layer computes the rows that have outputs.
    if (is_last) {
        rows = d.call.num_logit_rows + d.call.num_hidden_rows;
        hidden = keep_output_rows(d, hidden, d.decoder.hidden, DecoderBuffers::kKept);
        if (attends)
            attended.rows = keep_output_rows(d, attended.rows, layer.output.num_inputs,
                                             DecoderBuffers::kNormed);
        if (mixed)
            mixed = keep_output_rows(d, mixed, mixer.output.num_inputs, DecoderBuffers::kProjected);
        d.adapted.ranges = d.call.adapted_outputs;
        d.adapted.num_ranges = d.call.num_adapted_outputs;
    }
    if (mixed) {
        AddedProducts none{nullptr, mixed, nullptr, 0};
        add_linear(d, mixer.output, none, rows, hidden, mixer.norm_after, layer.epsilon,
                   mixer.residual_factor);
    }
    if (attends) {
        AddedProducts products{&YaieAdapterLayer::output, attended.rows,
                               attended.rows ? nullptr : &attended.rounded, 0};
        add_linear(d, layer.output, products, rows, hidden, layer.norm_after_attention,
                   layer.epsilon, layer.attention_factor);
    }
    run_feed_forward(d, layer, hidden, rows);
}
