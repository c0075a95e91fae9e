// Packing of quantized weights, once at load. Needs: linear_quantized.inl, linear_pack.inl.

YAIE_INLINE void store_scale(const PackQuantizedCall& call, int64_t first, int64_t lane,
                             float scale) {
    if (call.rows.kind == YAIE_WEIGHTS_INT8) {
        ((float*)call.to_scales)[first + lane] = scale;
        return;
    }
    uint32_t bits;
    __builtin_memcpy(&bits, &scale, sizeof bits);
    if (call.rows.kind == YAIE_WEIGHTS_MXFP4) {
        ((uint8_t*)call.to_scales)[first + lane] = (uint8_t)(bits >> 23);
        return;
    }
    int64_t place = lane < kLanes ? 2 * lane : 2 * (lane - kLanes) + 1;
    ((Bf16*)call.to_scales)[first + place].bits =
        (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);  // nearest, ties to even
}

// Read four values of a row, or fewer at its end; the rest is 0.
YAIE_INLINE uint32_t load_quad(const int8_t* values, int64_t inputs, int64_t quad) {
    uint32_t word = 0;
    if (quad * kQuad + kQuad <= inputs)
        __builtin_memcpy(&word, values + quad * kQuad, kQuad);
    else
        __builtin_memcpy(&word, values + quad * kQuad, inputs - quad * kQuad);
    return word;
}

// An offset is half of all codes: adding it changes the highest bit alone.
YAIE_INLINE void pack_byte_row(const int8_t* values, int64_t inputs, uint8_t* to, int64_t lane) {
    for (int64_t quad = 0; quad * kQuad < inputs; ++quad) {
        uint32_t word = load_quad(values, inputs, quad) ^ kByteOffset * 0x01010101u;
        __builtin_memcpy(to + word_index(quad, lane) * kQuad, &word, kQuad);
    }
}

YAIE_INLINE void pack_nibble_row(const int8_t* values, int64_t inputs, uint8_t* to, int64_t lane,
                                 uint32_t offset) {
    uint32_t mask = lane < kLanes ? 0xf0f0f0f0u : 0x0f0f0f0fu;  // of the panel's other half
    int shift = lane < kLanes ? 0 : 4;
    to += lane % kLanes * kQuad;
    for (int64_t quad = 0; quad * kQuad < inputs; ++quad, to += kLanes * kQuad) {
        uint32_t word = (load_quad(values, inputs, quad) ^ offset * 0x01010101u) & 0x0f0f0f0fu;
        uint32_t before;
        __builtin_memcpy(&before, to, kQuad);
        word = (before & mask) | word << shift;
        __builtin_memcpy(to, &word, kQuad);
    }
}

// Pack once at load: values [outputs, inputs] are signed; scales and zero points are [outputs,
// groups].
static void pack_quantized_task(void* context, int64_t panel, Scratch&) {
    const PackQuantizedCall& call = *static_cast<const PackQuantizedCall*>(context);
    const PackCall& rows = call.rows;
    if (rows.kind == YAIE_WEIGHTS_FLOAT8) return pack_float8(call, panel);
    bool is_byte = rows.kind == YAIE_WEIGHTS_INT8;
    int64_t padded = packed_inputs(rows.kind, rows.inputs);
    int64_t groups = call.groups, bytes = padded * kChunk / (is_byte ? 1 : 2);
    uint8_t* to = (uint8_t*)rows.to + panel * bytes;
    // An mxfp4 code is stored as it is, and code 0 is the number 0.
    int32_t nibble_offset = rows.kind == YAIE_WEIGHTS_MXFP4 ? 0 : kNibbleOffset;
    __builtin_memset(to, is_byte ? kByteOffset : nibble_offset * 0x11, bytes);
    for (int64_t lane = 0; lane < kChunk; ++lane) {
        int64_t row = packed_row(rows, panel, lane);
        bool is_there = row < rows.outputs;
        for (int64_t group = 0; group < groups; ++group) {
            int64_t at = (panel * groups + group) * kChunk + lane, from = row * groups + group;
            store_scale(call, at - lane, lane, is_there ? call.scales[from] : 0.0f);
            if (call.to_zero_points)
                call.to_zero_points[at] =
                    (uint8_t)(kNibbleOffset + (is_there ? call.zero_points[from] : 0));
        }
        if (!is_there) continue;
        const int8_t* values = (const int8_t*)rows.from + row * rows.inputs;
        if (is_byte)
            pack_byte_row(values, rows.inputs, to, lane);
        else
            pack_nibble_row(values, rows.inputs, to, lane, nibble_offset);
    }
}

// Dequantize one output's weights: a row of an embedding that is tied to the head.
YAIE_INLINE void unpack_bytes(const YaieLinear& linear, int64_t output, float* to) {
    int64_t panel = output / kChunk, lane = output % kChunk;
    const uint8_t* from = (const uint8_t*)panel_at(linear, panel);
    float scale = ((const float*)linear.scales)[output];  // one group: [panels][kChunk]
    for (int64_t i = 0; i < linear.num_inputs; ++i) {
        int32_t byte = from[word_index(i / kQuad, lane) * kQuad + i % kQuad];
        to[i] = (float)(byte - kByteOffset) * scale;
    }
}
