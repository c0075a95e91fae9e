// Decoders. Needs: attention.inl, linear.inl and its companions, experts.inl, hadamard.inl,
// decoder.h.
//
// Decoding one row computes little between the linear layers, and calls from Python would cost
// more. So one call runs a step through all layers. Hidden states are float32 from the embedding to
// the logits, for any type of the weights.

constexpr int64_t kRowsInTask = 8;
constexpr int64_t kRowsInMlp = 512;  // bounds the memory of the widest intermediate

struct NormCall {
    const float* x;
    float* y;
    const float* weight;  // or null: the rows as they are
    int64_t width, count;
    float epsilon;
    float factor;         // factor on the result
    RoundedRows rounded;  // the bf16 result instead of y, if it has memory
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

#ifdef YAIE_BF16
YAIE_INLINE void upcast_halves(const uint16_t* from, int width, float* to) {
    for (int i = 0; i < width; i += kLanes) {
        __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(from + i)));
        store(to + i, (Vec)_mm512_slli_epi32(words, 16));
    }
}

// Store whole chunks.
YAIE_INLINE void store_halves(const float* from, int width, uint16_t* to, bool non_temporal) {
    for (int i = 0; i < width; i += kChunk) {
        char chunk[kChunk * sizeof(uint16_t)];
        round_chunk(from + i, chunk);
        store_cache_line(to + i, chunk, non_temporal);
    }
}
#else  // named below in branches that this set discards
static void upcast_halves(const uint16_t* from, int width, float* to);
static void store_halves(const float* from, int width, uint16_t* to, bool non_temporal);
#endif

#include "adapters.inl"

static void norm_task(void* context, int64_t index, Scratch& scratch) {
    const NormCall& call = *static_cast<const NormCall*>(context);
    int64_t end = (index + 1) * kRowsInTask < call.count ? (index + 1) * kRowsInTask : call.count;
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        bool rounds = call.rounded.bytes != nullptr;
        float* y =
            rounds ? (float*)scratch.get(call.width * sizeof(float)) : call.y + row * call.width;
        const float* x = call.x + row * call.width;
        if (call.weight)
            norm_row(x, call.weight, y, call.width, call.epsilon, call.factor);
        else
            __builtin_memcpy(y, x, call.width * sizeof(float));
        if constexpr (kHasBf16)
            if (rounds) round_row(y, call.width, call.rounded, row);
    }
}

// Run a linear layer on normalized rows of x, which are `linear.num_inputs` wide, times a factor.
// Return these rows, or null if they were rounded to bf16.
static const float* normed_linear(Pool& pool, DecoderBuffers& buffers, const YaieLinear& linear,
                                  const float* x, int64_t count, const float* weight, float epsilon,
                                  const Target& target, float factor = 1.0f) {
    int64_t width = linear.num_inputs;
    NormCall call{x, nullptr, weight, width, count, epsilon, factor, {}};
    if constexpr (kHasBf16)
        if (linear.weights_kind == YAIE_WEIGHTS_BFLOAT16) {
            char* memory = buffers.bytes(DecoderBuffers::kNormed, bf16_bytes(linear, count));
            call.rounded = bf16_rows(linear, memory);
        }
    if (!call.rounded.bytes) call.y = buffers.floats(DecoderBuffers::kNormed, count * width);
    pool.run(norm_task, &call, (count + kRowsInTask - 1) / kRowsInTask);
    run_linear(pool, linear, call.y, width, count, target, call.rounded);
    return call.y;
}

// Return the rounded rows that `normed_linear` read last if it returned null.
static RoundedRows rounded_inputs(DecoderBuffers& buffers, const YaieLinear& linear, int64_t count,
                                  const float* normed) {
    RoundedRows rounded{};
    if constexpr (kHasBf16)
        if (!normed)
            rounded = bf16_rows(linear,
                                buffers.bytes(DecoderBuffers::kNormed, bf16_bytes(linear, count)));
    return rounded;
}

struct AddNormedCall {
    const float* x;
    float* hidden;
    const float* weight;
    int64_t width, count;
    float epsilon, factor;
};

static void add_normed_task(void* context, int64_t index, Scratch& scratch) {
    const AddNormedCall& call = *static_cast<const AddNormedCall*>(context);
    float* normed = (float*)scratch.get(call.width * sizeof(float));
    int64_t end = min_of((index + 1) * kRowsInTask, call.count);
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        float* to = call.hidden + row * call.width;
        norm_row(call.x + row * call.width, call.weight, normed, call.width, call.epsilon,
                 call.factor);
        for (int64_t i = 0; i < call.width; ++i) to[i] += normed[i];
    }
}

struct Decoding {
    Pool& pool;
    const YaieDecoder& decoder;
    const YaieStep& step;
    const YaieDecoderCall& call;
    DecoderBuffers& buffers;
    RunAttention attend;
    AdaptedRows adapted;
};

// The products of adapters for rows of a layer: their inputs, and the first of the rows.
struct AddedProducts {
    const YaieLowRank YaieAdapterLayer::* low_rank;
    const float* x;
    const RoundedRows* rounded;
    int64_t first_row;
};

// Add the adapters' products to results [count, outputs], times a factor.
static void add_adapters(Decoding& d, const YaieLinear& linear, const AddedProducts& products,
                         int64_t count, float* y, float factor) {
    if (!d.adapted.num_ranges) return;
    int64_t outputs = linear.num_outputs, first = products.first_row;
    ThinCall call{products.x, products.rounded, factor, linear.num_inputs, outputs, {}, 1, nullptr};
    call.parts[0] = {products.low_rank, y, nullptr, outputs, kLanes};
    add_low_rank(d.pool, d.buffers, d.adapted, first, first + count, call);
}

// Add a linear layer's results to the hidden states, times a factor; with a norm's weight they are
// normalized first.
static void add_linear(Decoding& d, const YaieLinear& linear, const AddedProducts& products,
                       int64_t count, float* hidden, const float* norm_after, float epsilon,
                       float factor) {
    const RoundedRows none{};
    const RoundedRows& rounded = products.rounded ? *products.rounded : none;
    int64_t width = linear.num_outputs, inputs = linear.num_inputs;
    if (!norm_after) {
        run_linear(d.pool, linear, products.x, inputs, count,
                   Target{hidden, width, YAIE_ADD, factor}, rounded);
        return add_adapters(d, linear, products, count, hidden, factor);
    }
    float* added = d.buffers.floats(DecoderBuffers::kAdded, count * width);
    run_linear(d.pool, linear, products.x, inputs, count, Target{added, width, YAIE_SET, 0.0f},
               rounded);
    add_adapters(d, linear, products, count, added, 1.0f);
    AddNormedCall call{added, hidden, norm_after, width, count, epsilon, factor};
    d.pool.run(add_normed_task, &call, (count + kRowsInTask - 1) / kRowsInTask);
}

struct SoftcapCall {
    float* logits;  // [rows, width]
    int64_t width;
    float cap;
};

static void softcap_task(void* context, int64_t row, Scratch&) {
    const SoftcapCall& call = *static_cast<const SoftcapCall*>(context);
    float* at = call.logits + row * call.width;
    int64_t i = 0;
    for (; i + kLanes <= call.width; i += kLanes)
        store(at + i, call.cap * tanh(load(at + i) / call.cap));
    if (i == call.width) return;
    Vec rest{};
    for (int64_t j = i; j < call.width; ++j) rest[j - i] = at[j] / call.cap;
    rest = call.cap * tanh(rest);
    for (int64_t j = i; j < call.width; ++j) at[j] = rest[j - i];
}

YAIE_INLINE float upcast(float x) { return x; }

YAIE_INLINE float upcast(Bf16 x) {
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

#include "decoder_heads.inl"

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

// Token embedding: a row of the table, or an output of the packed head.
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
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT8) return unpack_float8(linear, output, to);
    if (has_blocks(linear)) return unpack_blocks(linear, output, to);
    const Bf16* from = (const Bf16*)panel;
    for (int64_t i = 0; i < inputs; ++i) to[i] = upcast(from[word_index(i / 2, lane) * 2 + i % 2]);
}

// Unpack the weights of one output.
static void unpack_task(void* context, int64_t index, Scratch&) {
    const UnpackCall& call = *static_cast<const UnpackCall*>(context);
    unpack_output(*call.linear, call.outputs[index], call.to + index * call.linear->num_inputs);
}

static void embed_task(void* context, int64_t index, Scratch&) {
    const EmbedCall& call = *static_cast<const EmbedCall*>(context);
    const YaieDecoder& decoder = *call.decoder;
    int64_t width = decoder.hidden;
    int64_t end =
        (index + 1) * kRowsInTask < call.num_rows ? (index + 1) * kRowsInTask : call.num_rows;
    for (int64_t row = index * kRowsInTask; row < end; ++row) {
        float* to = call.hidden + row * width;
        int64_t token = call.token_ids[row];
        if (decoder.table.num_outputs)
            unpack_output(decoder.table, token, to);
        else if (!decoder.embedding)
            unpack_output(decoder.head, token, to);
        else if (decoder.embedding_dtype == YAIE_FLOAT32)
            __builtin_memcpy(to, (const float*)decoder.embedding + token * width, width * 4);
        else
            for (int64_t i = 0; i < width; ++i)
                to[i] = upcast(((const Bf16*)decoder.embedding)[token * width + i]);
        if (decoder.embedding_factor != 1.0f)
            for (int64_t i = 0; i < width; ++i) to[i] *= decoder.embedding_factor;
    }
}

static void beat(const Decoding& d) { __atomic_fetch_add(d.call.beats, 1, __ATOMIC_RELAXED); }

#include "decoder_mlp.inl"
#include "decoder_mixture.inl"

// Results within a layer that are stored as bf16.
struct Halves {
    bool qkv, queries, output;
};

// The output, if it is rounded next anyway. The results before it, if the step has so many rows
// that they exceed the caches, and keys and values are rounded as well; except in a batch-invariant
// step, whose rows must not depend on the number of rows.
static Halves which_halves(const Decoding& d, const YaieDecoderLayer& layer, bool is_last) {
    Halves halves{};
    if constexpr (!kHasBf16) return halves;
    const YaieLayer& at = layer.attention;
    if (at.key_width % kChunk || at.value_width % kChunk || layer.output_gates) return halves;
    int64_t query_bytes = d.step.num_rows * at.num_heads * at.key_width * (int64_t)sizeof(float);
    bool is_rounded = at.pool_dtype == YAIE_BFLOAT16 || at.pool_dtype == YAIE_INT8;
    halves.output = layer.output.weights_kind == YAIE_WEIGHTS_BFLOAT16 && !is_last &&
                    layer.output.num_inputs == at.num_heads * at.value_width;
    halves.qkv = !layer.wide_query_norm && layer.qkv.weights_kind != YAIE_WEIGHTS_FLOAT32 &&
                 is_rounded && !d.step.exact && query_bytes >= kLargeResult;
    halves.queries = halves.qkv && halves.output;
    return halves;
}

#include "decoder_layer.inl"

static void run_decoder(Pool& pool, const YaieDecoder& decoder, const YaieStep& step,
                        const YaieDecoderCall& call, DecoderBuffers& buffers, RunAttention attend) {
    AdaptedRows adapted{call.adapted, call.num_adapted, 0};
    Decoding d{pool, decoder, step, call, buffers, attend, adapted};
    float* hidden = buffers.floats(DecoderBuffers::kMasked, step.num_rows * decoder.hidden);
    buffers.look_up_slots(step);
    EmbedCall embed{&decoder, call.token_ids, hidden, step.num_rows};
    pool.run(embed_task, &embed, (step.num_rows + kRowsInTask - 1) / kRowsInTask);
    for (int64_t i = 0; i < decoder.num_layers; ++i) {
        const YaieDecoderLayer& layer = decoder.layers[i];
        d.adapted.layer = i;
        run_layer(d, layer, hidden, i + 1 == decoder.num_layers);
    }
    int64_t rows = call.num_logit_rows, others = call.num_hidden_rows;
    if (others) {
        NormCall norm{hidden + rows * decoder.hidden,
                      call.hidden,
                      decoder.final_norm,
                      decoder.hidden,
                      others,
                      decoder.epsilon,
                      1.0f,
                      {}};
        pool.run(norm_task, &norm, (others + kRowsInTask - 1) / kRowsInTask);
    }
    if (!rows) return;
    // The logit factor is applied before the head, to fewer elements: a head with a factor has no
    // bias.
    normed_linear(pool, buffers, decoder.head, hidden, rows, decoder.final_norm, decoder.epsilon,
                  Target{call.logits, decoder.head.num_outputs, YAIE_SET, 0.0f},
                  decoder.logit_factor);
    if (!decoder.logit_softcap) return;
    SoftcapCall softcap{call.logits, decoder.head.num_outputs, decoder.logit_softcap};
    pool.run(softcap_task, &softcap, rows);
}
