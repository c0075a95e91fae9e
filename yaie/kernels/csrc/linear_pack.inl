// Packing of fp32, bf16 and fp8 weights, once at load. Needs: linear.inl.

// `from` is [outputs, inputs] in the type of the weights' kind. A gated layer interleaves the
// outputs of its two halves by kLanes, so that a pair shares a panel.
YAIE_INLINE int64_t packed_row(const PackCall& call, int64_t panel, int64_t lane) {
    if (!call.gated) return panel * kChunk + lane;
    int64_t half = call.outputs / 2, at = panel * kLanes + lane % kLanes;
    return at >= half ? call.outputs : at + (lane < kLanes ? 0 : half);
}

template <class T, class Put>
YAIE_INLINE void pack_panel(const PackCall& call, int64_t panel, Put put) {
    for (int64_t lane = 0; lane < kChunk; ++lane) {
        int64_t row = packed_row(call, panel, lane);
        const T* from = (const T*)call.from + row * call.inputs;
        for (int64_t i = 0; i < call.inputs; ++i) put(i, lane, row < call.outputs ? from[i] : T{});
    }
}

static void pack_blocks(const PackCall& call, int64_t panel);

static void pack_task(void* context, int64_t panel, Scratch&) {
    const PackCall& call = *static_cast<const PackCall*>(context);
    if (yaie::has_blocks(call.kind)) return pack_blocks(call, panel);
    if (call.kind == YAIE_WEIGHTS_FLOAT32) {
        float* to = (float*)call.to + panel * call.inputs * kChunk;
        pack_panel<float>(call, panel,
                          [&](int64_t i, int64_t lane, float w) { to[i * kChunk + lane] = w; });
        return;
    }
    // As 16-bit elements, the low half of word j is element 2 j.
    int64_t numbers = packed_inputs(call.kind, call.inputs) * kChunk;
    uint16_t* to = (uint16_t*)call.to + panel * numbers;
    __builtin_memset(to, 0, numbers * sizeof *to);
    pack_panel<uint16_t>(call, panel, [&](int64_t i, int64_t lane, uint16_t w) {
        to[word_index(i / 2, lane) * 2 + i % 2] = w;
    });
}

// Pack one panel of e4m3 values.
static void pack_float8(const PackQuantizedCall& call, int64_t panel) {
    const PackCall& rows = call.rows;
    char* to = (char*)rows.to + panel * rows.inputs * kChunk;
    float* scales = (float*)call.to_scales + panel * call.groups * kChunk;
    for (int64_t lane = 0; lane < kChunk; ++lane) {
        int64_t row = packed_row(rows, panel, lane);
        bool is_there = row < rows.outputs;
        const char* from = (const char*)rows.from + row * rows.inputs;
        for (int64_t i = 0; i < rows.inputs; ++i) to[i * kChunk + lane] = is_there ? from[i] : 0;
        for (int64_t group = 0; group < call.groups; ++group)
            scales[group * kChunk + lane] =
                is_there ? call.scales[row * call.groups + group] * kFloat8Factor : 0.0f;
    }
}
