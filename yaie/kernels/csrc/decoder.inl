// Whole decoder layers: included once for each instruction set, after linear.inl.
//
// Between the linear layers there is little to compute, and what there is costs more in calls than
// in arithmetic when one row is decoded; so a step runs through all layers in one call. Hidden
// states are float32 from the embedding to the logits, whatever the weights are.

constexpr int64_t kRowsInTask = 8;
constexpr int64_t kRowsInMlp = 512;  // bounds the memory of the widest intermediate

struct NormCall {
    const float* x;
    float* y;
    const float* weight;
    int64_t width, count;
    float epsilon;
    float factor;         // of the result
    RoundedRows rounded;  // where the rows go as bf16, instead of y, if it has memory
};

// y = x / sqrt(mean(x^2) + epsilon) * weight * factor
YAIE_INLINE void norm_row(const float* x, const float* weight, float* y, int64_t width,
                          float epsilon, float factor = 1.0f) {
    Vec squares{};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) squares += load(x + i) * load(x + i);
    float total = sum_of_lanes(squares);
    for (; i < width; ++i) total += x[i] * x[i];
    factor /= __builtin_sqrtf(total / static_cast<float>(width) + epsilon);
    for (i = 0; i + kLanes <= width; i += kLanes)
        store(y + i, load(x + i) * factor * load(weight + i));
    for (; i < width; ++i) y[i] = x[i] * factor * weight[i];
}

static void norm_task(void* context, int64_t index, Scratch& scratch) {
    const NormCall& call = *static_cast<const NormCall*>(context);
    int64_t end = (index + 1) * kRowsInTask < call.count ? (index + 1) * kRowsInTask : call.count;
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        bool rounds = call.rounded.bytes != nullptr;
        float* y = rounds ? (float*)scratch.get(call.width * sizeof(float)) : call.y + row * call.width;
        norm_row(call.x + row * call.width, call.weight, y, call.width, call.epsilon, call.factor);
#ifdef YAIE_BF16
        if (rounds) round_row(y, call.width, call.rounded, row);
#endif
    }
}

// A linear layer of normed rows of x, which are `linear.num_inputs` wide, times a factor.
static void normed_linear(Pool& pool, DecoderSpace& space, const YaieLinear& linear, const float* x,
                          int64_t count, const float* weight, float epsilon, const Target& target,
                          float factor = 1.0f) {
    int64_t width = linear.num_inputs;
    NormCall call{x, nullptr, weight, width, count, epsilon, factor, {}};
#ifdef YAIE_BF16
    if (linear.weights_kind == YAIE_WEIGHTS_BFLOAT16)
        call.rounded = bf16_rows(linear, space.bytes(DecoderSpace::kNormed, bf16_bytes(linear, count)));
#endif
    if (!call.rounded.bytes) call.y = space.floats(DecoderSpace::kNormed, count * width);
    pool.run(norm_task, &call, (count + kRowsInTask - 1) / kRowsInTask);
    run_linear(pool, linear, call.y, width, count, target, call.rounded);
}

YAIE_INLINE float widen_one(float x) { return x; }

YAIE_INLINE float widen_one(Bf16 x) {
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

struct HeadsCall {
    const YaieDecoderLayer* layer;
    const YaieDecoder* decoder;
    const int64_t* positions;
    const float* qkv;
    const int64_t* slot_of_row;  // -1: its keys and values are held
    float* queries;
    int64_t num_rows;
    bool past_caches;  // queries go
    // Or null: the same as bf16 numbers.
    const uint16_t* qkv_halves;
    uint16_t* query_halves;
};

#ifdef YAIE_BF16
YAIE_INLINE void widen_halves(const uint16_t* from, int width, float* to) {
    for (int i = 0; i < width; i += kLanes) {
        __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(from + i)));
        store(to + i, (Vec)_mm512_slli_epi32(words, 16));
    }
}
#endif

// A head as it came out of the QKV layer, `at` numbers behind its beginning.
YAIE_INLINE const float* head_at(const HeadsCall& call, int64_t at, int width, float* spare) {
#ifdef YAIE_BF16
    if (call.qkv_halves) {
        widen_halves(call.qkv_halves + at, width, spare);
        return spare;
    }
#endif
    (void)width;
    (void)spare;
    return call.qkv + at;
}

// One head on its way out of the QKV layer: normed and rotated.
template <bool past_caches = false>
YAIE_INLINE void turn_head(const float* x, const float* weight, float epsilon, const float* cosines,
                          const float* sines, int rotary, int width, float* out,
                           float* spare) {
    if (weight) {
        norm_row(x, weight, spare, width, epsilon);
        x = spare;
    }
    int half = rotary / 2;
    int i = 0;
    for (; i + kLanes <= half; i += kLanes) {
        Vec low = load(x + i), high = load(x + half + i);
        store_result<past_caches>(out + i, low * load(cosines + i) - high * load(sines + i));
        store_result<past_caches>(out + half + i,
                                  high * load(cosines + half + i) + low * load(sines + half + i));
    }
    for (; i < half; ++i) {
        out[i] = x[i] * cosines[i] - x[half + i] * sines[i];
        out[half + i] = x[half + i] * cosines[half + i] + x[i] * sines[half + i];
    }
    for (i = rotary; i < width; ++i) out[i] = x[i];
}

#ifdef YAIE_BF16
// Whole chunks.
YAIE_INLINE void put_halves(const float* from, int width, uint16_t* to, bool past_caches) {
    for (int i = 0; i < width; i += kChunk) {
        char chunk[kChunk * sizeof(uint16_t)];
        round_chunk(from + i, chunk);
        put_line(to + i, chunk, past_caches);
    }
}
#endif

static void heads_task(void* context, int64_t index, Scratch& scratch) {
    const HeadsCall& call = *static_cast<const HeadsCall*>(context);
    const YaieDecoderLayer& layer = *call.layer;
    const YaieLayer& at = layer.attention;
    int width = at.key_width;
    int widest = width > at.value_width ? width : at.value_width;
    float* spare = (float*)scratch.get(3 * widest * sizeof(float));
    float *turned = spare + widest, *widened = turned + widest;
    int64_t qkv_width = layer.qkv.num_outputs;
    int64_t rotary_width = call.decoder->rotary_width;
    int rotary = layer.rotates ? static_cast<int>(rotary_width) : 0;
    int64_t end = (index + 1) * kRowsInTask < call.num_rows ? (index + 1) * kRowsInTask : call.num_rows;
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        int64_t x = row * qkv_width;
        const float* cosines = call.decoder->cosines + call.positions[row] * rotary_width;
        const float* sines = call.decoder->sines + call.positions[row] * rotary_width;
        for (int head = 0; head < at.num_heads; ++head, x += width) {
            const float* from = head_at(call, x, width, widened);
            int64_t to = (row * at.num_heads + head) * width;
#ifdef YAIE_BF16
            if (call.query_halves) {
                turn_head(from, layer.query_norm, layer.epsilon, cosines, sines, rotary, width, turned,
                          spare);
                put_halves(turned, width, call.query_halves + to, call.past_caches);
                continue;
            }
#endif
            if (call.past_caches)
                turn_head<true>(from, layer.query_norm, layer.epsilon, cosines, sines, rotary, width,
                                call.queries + to, spare);
            else
                turn_head(from, layer.query_norm, layer.epsilon, cosines, sines, rotary, width,
                          call.queries + to, spare);
        }
        int64_t slot = call.slot_of_row[row];
        if (slot < 0) continue;
        for (int head = 0; head < at.num_kv_heads; ++head, x += width) {
            turn_head(head_at(call, x, width, widened), layer.key_norm, layer.epsilon, cosines, sines,
                      rotary, width, turned, spare);
            put_row(turned, width, at.pool_dtype, at.keys,
                    slot * at.key_slot_stride + head * at.key_head_stride, at.key_scales,
                    slot * at.num_kv_heads + head);
        }
        for (int head = 0; head < at.num_kv_heads; ++head, x += at.value_width)
            put_row(head_at(call, x, at.value_width, widened), at.value_width, at.pool_dtype, at.values,
                    slot * at.value_slot_stride + head * at.value_head_stride, at.value_scales,
                    slot * at.num_kv_heads + head);
    }
    if (call.past_caches) finish_past_caches();
}

struct GatherCall {
    const float* from;
    const int64_t* rows;
    float* to;
    int64_t width;
};

static void gather_task(void* context, int64_t index, Scratch&) {
    const GatherCall& call = *static_cast<const GatherCall*>(context);
    __builtin_memcpy(call.to + index * call.width, call.from + call.rows[index] * call.width,
                     call.width * sizeof(float));
}

// One embedded token: a row of the table, or an output of the packed head.
struct EmbedCall {
    const YaieDecoder* decoder;
    const int64_t* token_ids;
    float* hidden;
    int64_t num_rows;
};

YAIE_INLINE void unpack_output(const YaieLinear& linear, int64_t output, float* to) {
    int64_t inputs = linear.num_inputs, lane = output % kChunk;
    const char* panel = panel_at(linear, output / kChunk);
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT32) {
        const float* from = (const float*)panel + lane;
        for (int64_t i = 0; i < inputs; ++i) to[i] = from[i * kChunk];
        return;
    }
    if (linear.weights_kind == YAIE_WEIGHTS_INT8) return unpack_bytes(linear, output, to);
    const Bf16* from = (const Bf16*)panel;
    for (int64_t i = 0; i < inputs; ++i) to[i] = widen_one(from[word_of(i / 2, lane) * 2 + i % 2]);
}

static void embed_task(void* context, int64_t index, Scratch&) {
    const EmbedCall& call = *static_cast<const EmbedCall*>(context);
    const YaieDecoder& decoder = *call.decoder;
    int64_t width = decoder.hidden;
    int64_t end = (index + 1) * kRowsInTask < call.num_rows ? (index + 1) * kRowsInTask : call.num_rows;
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        float* to = call.hidden + row * width;
        int64_t token = call.token_ids[row];
        if (!decoder.embedding)
            unpack_output(decoder.head, token, to);
        else if (decoder.embedding_dtype == YAIE_FLOAT32)
            __builtin_memcpy(to, (const float*)decoder.embedding + token * width, width * 4);
        else
            for (int64_t i = 0; i < width; ++i)
                to[i] = widen_one(((const Bf16*)decoder.embedding)[token * width + i]);
        if (decoder.embedding_factor != 1.0f)
            for (int64_t i = 0; i < width; ++i) to[i] *= decoder.embedding_factor;
    }
}

struct Decoding {
    Pool& pool;
    const YaieDecoder& decoder;
    const YaieStep& step;
    const YaieDecoderCall& call;
    DecoderSpace& space;
    RunAttention attend;
};

static void run_mlp(Decoding& d, const YaieDecoderLayer& layer, float* hidden, int64_t rows) {
    int64_t width = d.decoder.hidden, inner = layer.down.num_inputs;
    for (int64_t row = 0; row < rows; row += kRowsInMlp) {
        int64_t count = rows - row < kRowsInMlp ? rows - row : kRowsInMlp;
        float* gated = nullptr;
        RoundedRows rounded{};
        Target target{nullptr, inner, layer.activation, 0.0f};
#ifdef YAIE_BF16
        if (layer.down.weights_kind == YAIE_WEIGHTS_BFLOAT16) {
            int64_t bytes = bf16_bytes(layer.down, count);
            rounded = bf16_rows(layer.down, d.space.bytes(DecoderSpace::kGated, bytes));
            target.rounded = &rounded;
        }
#endif
        if (!target.rounded)
            target.y = gated = d.space.floats(DecoderSpace::kGated, count * inner);
        float* h = hidden + row * width;
        normed_linear(d.pool, d.space, layer.gate_up, h, count, layer.mlp_norm, layer.epsilon, target);
        run_linear(d.pool, layer.down, gated, inner, count,
                   Target{h, width, YAIE_ADD, layer.residual_factor}, rounded);
    }
}

// Which results between the linear layers of a layer are bf16 numbers.
struct Halves {
    bool qkv, queries, output;
};

// The output, if it would be rounded next anyway. What comes before it, where a step has so many rows that
// it would leave the caches, and keys and values are rounded as well; not in an exact step, whose rows must
// not depend on each other.
static Halves which_halves(const Decoding& d, const YaieDecoderLayer& layer, bool is_last) {
    Halves halves{};
#ifdef YAIE_BF16
    const YaieLayer& at = layer.attention;
    if (at.key_width % kChunk || at.value_width % kChunk) return halves;
    int64_t query_bytes = d.step.num_rows * at.num_heads * at.key_width * (int64_t)sizeof(float);
    bool is_rounded = at.pool_dtype == YAIE_BFLOAT16 || at.pool_dtype == YAIE_INT8;
    halves.output = layer.output.weights_kind == YAIE_WEIGHTS_BFLOAT16 && !is_last &&
                    layer.output.num_inputs == at.num_heads * at.value_width;
    halves.qkv = layer.qkv.weights_kind != YAIE_WEIGHTS_FLOAT32 && is_rounded && !d.step.exact &&
                 query_bytes >= kLargeResult;
    halves.queries = halves.qkv && halves.output;
#else
    (void)d;
    (void)layer;
    (void)is_last;
#endif
    return halves;
}

static void run_layer(Decoding& d, const YaieDecoderLayer& layer, float*& hidden, bool is_last) {
    int64_t rows = d.step.num_rows, width = d.decoder.hidden;
    YaieLayer at = layer.attention;
    int64_t query_width = (int64_t)at.num_heads * at.key_width;
    int64_t output_width = (int64_t)at.num_heads * at.value_width;
    Halves halves = which_halves(d, layer, is_last);
    int64_t qkv_width = layer.qkv.num_outputs;
    char* qkv = d.space.bytes(DecoderSpace::kQkv, rows * qkv_width * (int64_t)sizeof(float));
    Target to_qkv{(float*)qkv, qkv_width, YAIE_SET, 0.0f};
    if (halves.qkv) to_qkv.halves = qkv;
    normed_linear(d.pool, d.space, layer.qkv, hidden, rows, layer.attention_norm, layer.epsilon, to_qkv);

    float* queries = d.space.floats(DecoderSpace::kQueries, rows * query_width);
    int64_t half_bytes = d.decoder.rotary_width / 2 * (int64_t)sizeof(float);
    bool past_caches = is_aligned(queries, half_bytes) && is_aligned(nullptr, at.key_width * 4) &&
                       rows * query_width * (halves.queries ? 2 : 4) >= kLargeResult;
    HeadsCall heads{&layer,  &d.decoder, d.step.positions, (float*)qkv, d.space.slot_of_row,
                    queries, rows,       past_caches,      nullptr,     nullptr};
    if (halves.qkv) heads.qkv_halves = (const uint16_t*)qkv;
    if (halves.queries) heads.query_halves = (uint16_t*)queries;
    d.pool.run(heads_task, &heads, (rows + kRowsInTask - 1) / kRowsInTask);

    float* output = nullptr;
    RoundedRows rounded{};
    RoundedOutput rounded_output{};
    if (!halves.output) output = d.space.floats(DecoderSpace::kOutput, rows * output_width);
#ifdef YAIE_BF16
    if (halves.output) {
        rounded = bf16_rows(layer.output,
                            d.space.bytes(DecoderSpace::kOutput, bf16_bytes(layer.output, rows)));
        rounded_output = {rounded.bytes, kRowsInBlock, rounded.block_stride, rounded.row_stride,
                          rounded.step_stride};
    }
#endif
    at.dtype = halves.queries ? YAIE_BFLOAT16 : YAIE_FLOAT32;
    at.queries = queries;
    at.query_row_stride = query_width;
    at.query_head_stride = at.key_width;
    at.output = output;
    at.output_row_stride = output_width;
    at.output_head_stride = at.value_width;
    d.attend(d.pool, d.step, at, rounded_output);

    // Behind the last layer's attention only the rows whose logits are wanted go on.
    if (is_last) {
        rows = d.call.num_logit_rows;
        float* kept = d.space.floats(DecoderSpace::kKept, rows * width);
        GatherCall gather{hidden, d.call.logit_rows, kept, width};
        d.pool.run(gather_task, &gather, rows);
        hidden = kept;
        kept = d.space.floats(DecoderSpace::kNormed, rows * output_width);
        gather = {output, d.call.logit_rows, kept, output_width};
        d.pool.run(gather_task, &gather, rows);
        output = kept;
    }
    run_linear(d.pool, layer.output, output, output_width, rows,
               Target{hidden, width, YAIE_ADD, layer.residual_factor}, rounded);
    run_mlp(d, layer, hidden, rows);
}

static void run_decoder(Pool& pool, const YaieDecoder& decoder, const YaieStep& step,
                        const YaieDecoderCall& call, DecoderSpace& space, RunAttention attend) {
    Decoding d{pool, decoder, step, call, space, attend};
    float* hidden = space.floats(DecoderSpace::kHidden, step.num_rows * decoder.hidden);
    space.find_slots(step);
    EmbedCall embed{&decoder, call.token_ids, hidden, step.num_rows};
    pool.run(embed_task, &embed, (step.num_rows + kRowsInTask - 1) / kRowsInTask);
    for (int64_t i = 0; i < decoder.num_layers; ++i) {
        const YaieDecoderLayer& layer = decoder.layers[i];
        run_layer(d, layer, hidden, i + 1 == decoder.num_layers);
    }
    int64_t rows = call.num_logit_rows;
    if (!rows) return;
    // Before the head, as there are fewer numbers: where there is a factor, the head has no bias.
    normed_linear(pool, space, decoder.head, hidden, rows, decoder.final_norm, decoder.epsilon,
                  Target{call.logits, decoder.head.num_outputs, YAIE_SET, 0.0f}, decoder.logit_factor);
}
