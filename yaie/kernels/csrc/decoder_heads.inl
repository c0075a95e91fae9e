// Heads of a decoder's attention: norms and rotary positions of queries and keys, which go to the
// pool with the values, and the gates of outputs. Included by decoder.inl.

struct HeadsCall {
    const YaieDecoderLayer* layer;
    const int64_t* positions;
    const float* qkv;
    const int64_t* slot_of_row;  // -1: keys and values are cached already
    float* queries;
    int64_t num_rows;
    bool non_temporal;  // queries are stored non-temporally
    // Or null: the same in bf16.
    const uint16_t* qkv_halves;
    uint16_t* query_halves;
};

YAIE_INLINE void store_query(const HeadsCall& call, const float* from, int width, int64_t to) {
    if constexpr (kHasBf16)
        if (call.query_halves)
            return store_halves(from, width, call.query_halves + to, call.non_temporal);
    __builtin_memcpy(call.queries + to, from, width * sizeof(float));
}

// Return a head of the QKV layer's output, from element `at` on.
YAIE_INLINE const float* head_at(const HeadsCall& call, int64_t at, int width, float* spare) {
    if constexpr (kHasBf16)
        if (call.qkv_halves) {
            upcast_halves(call.qkv_halves + at, width, spare);
            return spare;
        }
    return call.qkv + at;
}

// Normalize and rotate one head of the QKV layer's output.
template <bool non_temporal = false>
YAIE_INLINE void norm_and_rotate_head(const float* x, const float* weight, float epsilon,
                                      const float* cosines, const float* sines, int rotary,
                                      int width, float* out, float* spare) {
    if (weight) {
        norm_row(x, weight, spare, width, epsilon);
        x = spare;
    }
    int half = rotary / 2;
    int i = 0;
    for (; i + kLanes <= half; i += kLanes) {
        Vec low = load(x + i), high = load(x + half + i);
        store_result<non_temporal>(out + i, low * load(cosines + i) - high * load(sines + i));
        store_result<non_temporal>(out + half + i,
                                   high * load(cosines + half + i) + low * load(sines + half + i));
    }
    for (; i < half; ++i) {
        out[i] = x[i] * cosines[i] - x[half + i] * sines[i];
        out[half + i] = x[half + i] * cosines[half + i] + x[i] * sines[half + i];
    }
    for (i = rotary; i < width; ++i) out[i] = x[i];
}

static void heads_task(void* context, int64_t index, Scratch& scratch) {
    const HeadsCall& call = *static_cast<const HeadsCall*>(context);
    const YaieDecoderLayer& layer = *call.layer;
    const YaieLayer& at = layer.attention;
    int width = at.key_width;
    bool spreads = at.pool_dtype == YAIE_INT8 && can_spread(width);
    int widest = width > at.value_width ? width : at.value_width;
    float* spare = (float*)scratch.get(3 * widest * sizeof(float));
    float *rotated = spare + widest, *upcasted = rotated + widest;
    int64_t qkv_width = layer.qkv.num_outputs + layer.key.num_outputs + layer.value.num_outputs;
    int rotary = layer.rotary_width,
        query_step = layer.output_gates == YAIE_WIDE_GATES ? 2 * width : width;
    int64_t end =
        (index + 1) * kRowsInTask < call.num_rows ? (index + 1) * kRowsInTask : call.num_rows;
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        int64_t x = row * qkv_width;
        const float* cosines = layer.cosines + call.positions[row] * rotary;
        const float* sines = layer.sines + call.positions[row] * rotary;
        for (int head = 0; head < at.num_heads; ++head, x += query_step) {
            const float* from = head_at(call, x, width, upcasted);
            int64_t to = (row * at.num_heads + head) * width;
            if (spreads || call.query_halves) {
                norm_and_rotate_head(from, layer.query_norm, layer.epsilon, cosines, sines, rotary,
                                     width, rotated, spare);
                if (spreads) spread_head(rotated, width);
                store_query(call, rotated, width, to);
            } else if (call.non_temporal)
                norm_and_rotate_head<true>(from, layer.query_norm, layer.epsilon, cosines, sines,
                                           rotary, width, call.queries + to, spare);
            else
                norm_and_rotate_head(from, layer.query_norm, layer.epsilon, cosines, sines, rotary,
                                     width, call.queries + to, spare);
        }
        int64_t slot = call.slot_of_row[row];
        if (slot < 0) continue;
        for (int head = 0; head < at.num_kv_heads; ++head, x += width) {
            norm_and_rotate_head(head_at(call, x, width, upcasted), layer.key_norm, layer.epsilon,
                                 cosines, sines, rotary, width, rotated, spare);
            if (spreads) spread_head(rotated, width);
            store_pool_row(rotated, width, at.pool_dtype, at.keys,
                           slot * at.key_slot_stride + head * at.key_head_stride, at.key_scales,
                           slot * at.num_kv_heads + head);
        }
        for (int head = 0; head < at.num_kv_heads; ++head, x += at.value_width)
            store_pool_row(head_at(call, x, at.value_width, upcasted), at.value_width,
                           at.pool_dtype, at.values,
                           slot * at.value_slot_stride + head * at.value_head_stride,
                           at.value_scales, slot * at.num_kv_heads + head);
    }
    if (call.non_temporal) fence_non_temporal();
}

struct WideNormCall {
    const YaieDecoderLayer* layer;
    float* qkv;
    int64_t row_stride, count;
};

// Normalize a row's query heads together, and its key heads, where they are.
static void wide_norm_task(void* context, int64_t index, Scratch&) {
    const WideNormCall& call = *static_cast<const WideNormCall*>(context);
    const YaieDecoderLayer& layer = *call.layer;
    const YaieLayer& at = layer.attention;
    int64_t queries = (int64_t)at.num_heads * at.key_width;
    int64_t keys = (int64_t)at.num_kv_heads * at.key_width;
    int64_t end = min_of((index + 1) * kRowsInTask, call.count);
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        float* query = call.qkv + row * call.row_stride;
        float* key = query + queries;
        norm_row(query, layer.wide_query_norm, query, queries, layer.epsilon);
        norm_row(key, layer.wide_key_norm, key, keys, layer.epsilon);
    }
}

YAIE_INLINE Vec sigmoid(Vec x) {
    return 1.0f / (1.0f + exp2(min_lanes(x * -1.4426950408889634f, splat(126.0f))));
}

struct OutputGatesCall {
    const YaieDecoderLayer* layer;
    const float* qkv;
    float* output;  // [num_rows, num_heads, value_width]
    int64_t row_stride, num_rows;
};

// Multiply each head's output by the sigmoid of its gate.
static void output_gates_task(void* context, int64_t index, Scratch&) {
    const OutputGatesCall& call = *static_cast<const OutputGatesCall*>(context);
    const YaieLayer& at = call.layer->attention;
    int64_t end = min_of((index + 1) * kRowsInTask, call.num_rows), width = at.value_width;
    bool is_wide = call.layer->output_gates == YAIE_WIDE_GATES;
    for (int64_t row = index * kRowsInTask; row < end; ++row)
        for (int64_t head = 0; head < at.num_heads; ++head) {
            float* output = call.output + (row * at.num_heads + head) * width;
            const float* columns = call.qkv + row * call.row_stride;
            const float* gates = columns + (2 * head + 1) * width;
            Vec gate = sigmoid(splat(columns[call.row_stride - at.num_heads + head]));
            for (int64_t i = 0; i < width; i += kLanes) {
                int64_t count = width - i;
                if (is_wide) gate = sigmoid(get(gates + i, count));
                put<false>(output + i, get(output + i, count) * gate, count);
            }
        }
}
