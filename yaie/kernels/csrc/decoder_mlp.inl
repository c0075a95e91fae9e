// MLPs of a decoder, also as the shared experts of a mixture. Needs: decoder.inl up to its include.

// Compute the gated inputs of the last MLP layer, with adapters on gates and values: the layer
// before it first without its activation.
static void run_adapted_gates(Decoding& d, const YaieDecoderLayer& layer, const float* h,
                              int64_t first_row, int64_t count, const Target& target) {
    bool has_gate = layer.gate.num_outputs != 0;  // then gate_up has the values only
    int64_t inner = layer.down.num_inputs, stride = round_up(inner, kLanes) * 2;
    YaieLinear wide = has_gate ? layer.gate : layer.gate_up;
    if (has_gate)
        stride = inner;
    else
        wide.num_outputs = (int32_t)stride;  // the padding too, so that panels are whole
    float* raw = d.buffers.floats(DecoderBuffers::kGates, count * stride);
    const float* normed = normed_linear(d.pool, d.buffers, wide, h, count, layer.mlp_norm,
                                        layer.epsilon, Target{raw, stride, YAIE_SET, 0.0f});
    RoundedRows rounded = rounded_inputs(d.buffers, wide, count, normed);
    int64_t step = has_gate ? kLanes : kChunk;
    ThinCall gates{normed, &rounded, 1.0f, d.decoder.hidden, stride, {}, 1, nullptr};
    ThinCall values = gates;
    gates.parts[0] = {&YaieAdapterLayer::gate, raw, nullptr, inner, step};
    values.parts[0] = {&YaieAdapterLayer::up, has_gate ? target.y : raw + kLanes, nullptr, inner,
                       step};
    if (has_gate) values.y_stride = target.y_stride;
    add_low_rank(d.pool, d.buffers, d.adapted, first_row, first_row + count, gates);
    add_low_rank(d.pool, d.buffers, d.adapted, first_row, first_row + count, values);
    GateCall call{raw, target, inner, count, has_gate ? raw : nullptr};
    d.pool.run(gate_task, &call, (count + kRowsInThin - 1) / kRowsInThin);
}

// The inputs of the last layer of an MLP: floats, or the same rounded to bf16.
struct GatedInputs {
    const float* floats;
    RoundedRows rounded;

    YAIE_MEMBER AddedProducts products(int64_t first_row) const {
        return {&YaieAdapterLayer::down, floats, floats ? nullptr : &rounded, first_row};
    }
};

// Compute the gated inputs for rows of hidden states from `first_row` on.
static GatedInputs run_gates(Decoding& d, const YaieDecoderLayer& layer, const float* h,
                             int64_t first_row, int64_t count) {
    int64_t width = d.decoder.hidden, inner = layer.down.num_inputs;
    GatedInputs inputs{};
    float* gated = nullptr;
    Target target{nullptr, inner, layer.activation, 0.0f};
    target.gate_factor = layer.gate_factor;
    bool has_gate = layer.gate.num_outputs != 0;  // then gate_up has the values only
    bool is_adapted = d.adapted.has(first_row, first_row + count,
                                    {&YaieAdapterLayer::gate, &YaieAdapterLayer::up});
    if (has_gate) target.store = YAIE_SET;
    if constexpr (kHasBf16)
        if (layer.down.weights_kind == YAIE_WEIGHTS_BFLOAT16 && !has_gate) {
            int64_t bytes = bf16_bytes(layer.down, count);
            inputs.rounded = bf16_rows(layer.down, d.buffers.bytes(DecoderBuffers::kGated, bytes));
            target.rounded = &inputs.rounded;
        }
    if (!target.rounded) target.y = gated = d.buffers.floats(DecoderBuffers::kGated, count * inner);
    const float* normed = nullptr;
    if (has_gate || !is_adapted)
        normed = normed_linear(d.pool, d.buffers, layer.gate_up, h, count, layer.mlp_norm,
                               layer.epsilon, target);
    bool is_silu = layer.activation == YAIE_GATED_SILU;
    if (has_gate) target.store = is_silu ? YAIE_SILU_TIMES : YAIE_GELU_TIMES;
    if (is_adapted)
        run_adapted_gates(d, layer, h, first_row, count, target);
    else if (has_gate && normed)
        run_linear(d.pool, layer.gate, normed, width, count, target);
    else if (has_gate)
        normed_linear(d.pool, d.buffers, layer.gate, h, count, layer.mlp_norm, layer.epsilon,
                      target);
    inputs.floats = gated;
    return inputs;
}

static void run_mlp(Decoding& d, const YaieDecoderLayer& layer, float* h, int64_t first_row,
                    int64_t count) {
    GatedInputs inputs = run_gates(d, layer, h, first_row, count);
    add_linear(d, layer.down, inputs.products(first_row), count, h, layer.norm_after_mlp,
               layer.epsilon, layer.residual_factor);
}
