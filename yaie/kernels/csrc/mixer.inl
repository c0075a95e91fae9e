// Mixers: whole recurrent layers, between and with their projections. Needs: recurrent.inl,
// linear.inl, decoder.h.

constexpr int64_t kMultipliedInTask = 4096;  // numbers

// y *= factors
struct MultiplyCall {
    float* y;
    int64_t y_stride;
    const float* factors;
    int64_t stride;  // of the factors; 0: all rows have the same
    int64_t width, rows, rows_in_task;
};

static void multiply_task(void* context, int64_t index, Scratch&) {
    const MultiplyCall& call = *static_cast<const MultiplyCall*>(context);
    int64_t end = min_of((index + 1) * call.rows_in_task, call.rows);
    for (int64_t row = index * call.rows_in_task; row < end; ++row) {
        float* y = call.y + row * call.y_stride;
        const float* factors = call.factors + row * call.stride;
        for (int64_t i = 0; i < call.width; ++i) y[i] *= factors[i];
    }
}

static void multiply(Pool& pool, MultiplyCall call) {
    call.rows_in_task = max_of(kMultipliedInTask / call.width, 1);
    pool.run(multiply_task, &call, (call.rows + call.rows_in_task - 1) / call.rows_in_task);
}

// Return the number of columns of the projections' results.
YAIE_INLINE int64_t projected_width(const YaieMixer& mixer) {
    return mixer.input.num_outputs + mixer.input_2.num_outputs + mixer.input_3.num_outputs +
           mixer.input_4.num_outputs;
}

// Return the inputs of the output projection [rows, inputs], for the projections' results, which
// are overwritten.
static float* mix(Pool& pool, DecoderBuffers& buffers, const YaieMixer& mixer,
                  const YaieChains& chains, float* projected, int64_t rows) {
    int64_t stride = projected_width(mixer);
    if (mixer.factors) multiply(pool, {projected, stride, mixer.factors, 0, stride, rows, 0});
    YaieConvolution convolution = mixer.convolution;
    int64_t channels = convolution.num_channels;
    float* convolved = buffers.floats(DecoderBuffers::kConvolved, rows * channels);
    convolution.x = projected + mixer.inputs_column;
    convolution.x_stride = stride;
    convolution.y = convolved;
    convolution.y_stride = channels;
    convolution.chains = chains.chains;
    convolution.num_chains = chains.num_chains;
    convolution.states.spare =
        buffers.floats(DecoderBuffers::kSpareInputs, chains.num_spare * convolution.states.stride);
    bool is_short = mixer.kind == YAIE_SHORT_CONVOLUTION;
    if (is_short)
        multiply(pool, {projected + mixer.inputs_column, stride, projected + mixer.product_column,
                        stride, channels, rows, 0});
    run_convolution(pool, convolution);
    if (is_short) {
        multiply(pool,
                 {convolved, channels, projected + mixer.gate_column, stride, channels, rows, 0});
        return convolved;
    }
    YaieRecurrence recurrence = mixer.recurrence;
    float* mixed = buffers.floats(DecoderBuffers::kMixed,
                                  rows * recurrence.num_heads * recurrence.value_width);
    recurrence.queries = convolved + mixer.queries_column;
    recurrence.keys = convolved + mixer.keys_column;
    recurrence.values = convolved + mixer.values_column;
    recurrence.row_stride = channels;
    recurrence.steps = projected + mixer.steps_column;
    recurrence.gates = projected + mixer.gates_column;
    recurrence.step_stride = recurrence.gate_stride = stride;
    recurrence.y = mixed;
    recurrence.num_rows = rows;
    recurrence.chains = chains.chains;
    recurrence.num_chains = chains.num_chains;
    recurrence.states.spare =
        buffers.floats(DecoderBuffers::kSpareStates, chains.num_spare * recurrence.states.stride);
    run_recurrence(pool, recurrence);
    YaieGatedNorm norm = mixer.gated_norm;
    norm.x = norm.y = mixed;
    norm.gate = projected + mixer.gate_column;
    norm.gate_stride = stride;
    norm.num_rows = rows;
    run_gated_norm(pool, norm);
    return mixed;
}

static void run_mixer(Pool& pool, const YaieMixer& mixer, const YaieMixerCall& call,
                      DecoderBuffers& buffers) {
    int64_t rows = call.num_rows, stride = projected_width(mixer), hidden = mixer.input.num_inputs;
    float* projected = buffers.floats(DecoderBuffers::kProjected, rows * stride);
    float* to = projected;
    for (const YaieLinear* part : {&mixer.input, &mixer.input_2, &mixer.input_3, &mixer.input_4}) {
        if (!part->num_outputs) continue;
        run_linear(pool, *part, call.x, hidden, rows, Target{to, stride, YAIE_SET, 0.0f});
        to += part->num_outputs;
    }
    float* mixed = mix(pool, buffers, mixer, call.chains, projected, rows);
    run_linear(pool, mixer.output, mixed, mixer.output.num_inputs, rows,
               Target{call.y, mixer.output.num_outputs, YAIE_SET, 0.0f});
}
