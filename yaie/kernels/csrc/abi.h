// C interface of the kernel library: mirrored field by field in attention_structures.py,
// decoder_structures.py, recurrent_structures.py and sampling_calls.py of yaie/kernels. The loader
// compares both sides: add a field here, in layout.h and in the mirror. Plain C types only, so that
// the library needs neither torch's nor Python's headers. Strides are in elements; rows, slots and
// positions are counted from 0.
#pragma once

#include <cstdint>

#include "abi_recurrent.h"

enum YaieDtype : int32_t {
    YAIE_FLOAT32 = 0,
    YAIE_BFLOAT16 = 1,
    YAIE_FLOAT16 = 2,
    YAIE_INT8 = 3,  // in the pool only: each head of a slot has a float32 scale
};

extern "C" {

// Keys at consecutive positions, and the contiguous rows that attend to them.
struct YaieSegment {
    int64_t first_slot;  // index into YaieStep::slots
    int64_t end_slot;
    int64_t first_position;
    int64_t first_row;
    int64_t end_row;
};

// Inputs that all layers of one step share.
struct YaieStep {
    int64_t id;  // step number: layers with one id share the schedule
    int64_t num_rows;
    int64_t num_segments;
    int64_t num_written;
    const int64_t* positions;      // [num_rows]
    const int64_t* slots;          // all segments' slots, concatenated
    const YaieSegment* segments;   // [num_segments]
    const int64_t* written_rows;   // [num_written] rows with new keys and values
    const int64_t* written_slots;  // [num_written] their slots
    int64_t exact;  // not 0: batch-invariant; a row's path alone determines the order of its sums
};

// One attention layer. Elements of a head are contiguous in every tensor.
struct YaieLayer {
    int32_t dtype;       // queries, and output unless that is bf16 for a linear layer
    int32_t pool_dtype;  // keys and values
    int32_t num_heads;
    int32_t num_kv_heads;
    int32_t key_width;
    int32_t value_width;
    int32_t sliding_window;  // 0: none
    float scale;
    float softcap;  // 0: none
    void* keys;     // the pool: [slots, num_kv_heads, key_width]
    void* values;   // [slots, num_kv_heads, value_width]
    int64_t key_slot_stride, key_head_stride, value_slot_stride, value_head_stride;
    const void* queries;  // [num_rows, num_heads, key_width]
    int64_t query_row_stride, query_head_stride;
    void* output;  // [num_rows, num_heads, value_width]
    int64_t output_row_stride, output_head_stride;
    const float* sinks;  // [num_heads] or null
    float* key_scales;   // int8 pool: [slots, num_kv_heads]
    float* value_scales;
};

// New rows to store in one tensor of the pool.
struct YaieWrite {
    const void* rows;  // [num_rows, num_kv_heads, width]
    int64_t row_stride, head_stride;
    void* pool;  // [slots, num_kv_heads, width]
    int64_t slot_stride, pool_head_stride;
    float* scales;  // int8 pool: [slots, num_kv_heads]
    int64_t num_heads;
    int32_t width;
    int32_t rows_dtype;
    int32_t pool_dtype;
};

// How the weights of a linear layer are packed: see linear.inl and linear_quantized.inl.
enum YaieWeights : int32_t {
    YAIE_WEIGHTS_BFLOAT16 = 0,
    YAIE_WEIGHTS_FLOAT32 = 1,
    YAIE_WEIGHTS_INT8 = 2,    // a scale for each output
    YAIE_WEIGHTS_INT4 = 3,    // a scale for each output and group of inputs
    YAIE_WEIGHTS_MXFP4 = 4,   // e2m1 numbers with a power of two for each 32 inputs
    YAIE_WEIGHTS_FLOAT8 = 5,  // e4m3 numbers with a scale for each output and group of inputs
    // GGUF blocks, numbered as in files, from 16 on: see block_kinds.inl.
    YAIE_WEIGHTS_Q4_0 = 18,
    YAIE_WEIGHTS_Q4_1 = 19,
    YAIE_WEIGHTS_Q5_0 = 22,
    YAIE_WEIGHTS_Q5_1 = 23,
    YAIE_WEIGHTS_Q8_0 = 24,
    YAIE_WEIGHTS_Q2_K = 26,
    YAIE_WEIGHTS_Q3_K = 27,
    YAIE_WEIGHTS_Q4_K = 28,
    YAIE_WEIGHTS_Q5_K = 29,
    YAIE_WEIGHTS_Q6_K = 30,
    YAIE_WEIGHTS_IQ4_NL = 36,
    YAIE_WEIGHTS_IQ4_XS = 39,
    YAIE_WEIGHTS_GGUF_MXFP4 = 55,
};

// The epilogue of a linear layer: what it does with its results.
enum YaieStore : int32_t {
    YAIE_SET = 0,
    YAIE_ADD = 1,         // add to y, times a factor
    YAIE_GATED_SILU = 2,  // silu(gate) * value; half as many outputs
    YAIE_GATED_GELU = 3,  // tanh approximation
    // gate * sigmoid(factor * gate) * (value + 1), both clamped; in a mixture's experts only.
    YAIE_GATED_CLAMPED = 4,
    YAIE_SILU_TIMES = 5,  // y = silu(gate) * y, where y has the values already
    YAIE_GELU_TIMES = 6,
};

// A linear layer without its inputs.
struct YaieLinear {
    int32_t weights_kind;  // YaieWeights
    int32_t num_inputs;
    int32_t num_outputs;
    int32_t group_size;   // inputs per scale; of int8 all inputs
    const void* weights;  // packed panels; outputs are padded to whole panels with zeros
    const float* bias;    // [padded outputs] or null
    // Quantized weights: [panels, groups, outputs per panel]. int8 and float8 have float32
    // scales; int4 has bf16 scales, in which the outputs of a panel's two halves alternate.
    const void* scales;
    const uint8_t* zero_points;  // int4: [panels, groups, outputs per panel], or null
    int64_t exact;  // not 0: batch-invariant; the number of rows does not change a row's result
};

// A layer's mixture of experts. Each expert is down(act(gate) * up).
struct YaieExperts {
    int64_t num_experts;
    int64_t hidden;
    const YaieLinear* gate_up;  // [num_experts], gate and up interleaved, also in the bias
    const YaieLinear* down;     // [num_experts]
    int32_t activation;         // YaieStore: the gated activation
    float factor;               // of YAIE_GATED_CLAMPED: of the gate in the sigmoid
    float limit;                // the largest gate, and the largest magnitude of a value
    float reserved;
};

// The rows of one step and their experts.
struct YaieExpertsCall {
    const float* x;        // [num_rows, hidden]
    const int64_t* ids;    // [num_rows, num_chosen]; ids that are no expert's are skipped
    const float* weights;  // [num_rows, num_chosen]
    float* y;              // [num_rows, hidden]: the weighted sums of the experts' outputs
    int64_t num_rows;
    int64_t num_chosen;
};

// What a mixer computes between its projections.
enum YaieMixerKind : int32_t {
    YAIE_NO_MIXER = 0,
    YAIE_RECURRENCE = 1,         // a convolution, a recurrence and a gated norm
    YAIE_SHORT_CONVOLUTION = 2,  // a convolution of a product, times other columns
};

// A recurrent layer with its projections, whose results are the columns of one row. The call fills
// in rows and chains.
struct YaieMixer {
    int32_t kind;  // YaieMixerKind
    float residual_factor;
    const float* norm;  // [hidden], or null, as the next one
    const float* norm_after;
    YaieLinear input;  // the projections; those that are quantized differently are apart
    YaieLinear input_2;
    YaieLinear input_3;
    YaieLinear input_4;
    YaieLinear output;
    const float* factors;    // [columns] of the projections' results, or null
    int64_t inputs_column;   // the convolution's inputs
    int64_t product_column;  // a short convolution's inputs are multiplied with these
    int64_t gate_column;     // of the norm; of a short convolution, factors of its results
    int64_t steps_column;
    int64_t gates_column;  // of the delta rule
    // Columns of the convolution's results.
    int64_t queries_column;
    int64_t keys_column;
    int64_t values_column;
    YaieConvolution convolution;
    YaieRecurrence recurrence;
    YaieGatedNorm gated_norm;
};

// The rows of one step, for a mixer alone, without norms.
struct YaieMixerCall {
    const float* x;  // [num_rows, hidden]
    float* y;        // the same
    int64_t num_rows;
    YaieChains chains;
};

// How a router scores experts by its results.
enum YaieScores : int32_t {
    YAIE_SOFTMAX = 0,
    YAIE_SIGMOID = 1,
};

// A mixture in a decoder layer: each row chooses the experts with the largest scores. The scores of
// the chosen ones are their weights. A shared expert serves every row.
struct YaieMixture {
    YaieExperts experts;
    YaieLinear router;         // float32, batch-invariant; an output for each expert
    const float* choice_bias;  // [num_experts] added to scores for the choice only, or null
    const float* shared_gate;  // [hidden] or null: sigmoid(x . gate) scales the shared expert
    int64_t num_chosen;
    int32_t scores;         // YaieScores
    int32_t normalises;     // not 0: a row's weights are divided by their sum
    int32_t num_groups;     // of neighbouring experts, of which rows choose some first; 1: none
    int32_t chosen_groups;  // those with the largest sum of their two best experts
    float factor;           // on the weights
    float reserved;
};

// Gates of attention's outputs, whose sigmoids are factors.
enum YaieOutputGates : int32_t {
    YAIE_NO_GATES = 0,
    YAIE_WIDE_GATES = 1,  // each query head is followed by a gate as wide
    YAIE_HEAD_GATES = 2,  // one number for each query head, after the values
};

// A decoder layer: h += norm(output(attention(norm(h)))); h += norm(down(act(gate) * up)(norm(h))).
// Norms before and after are optional. A mixer comes instead of attention, or beside it.
struct YaieDecoderLayer {
    const float* attention_norm;  // [hidden], or null, as the next three
    const float* mlp_norm;
    const float* norm_after_attention;
    const float* norm_after_mlp;
    const float* query_norm;  // [key_width] for each head, or null
    const float* key_norm;
    const float* wide_query_norm;  // [num_heads, key_width] of all heads together, or null
    const float* wide_key_norm;
    YaieLinear qkv;    // all query heads, then key heads, then value heads; empty: no attention
    YaieLinear key;    // the key heads, if their weights are quantized differently: else empty
    YaieLinear value;  // the same for the value heads
    YaieLinear output;
    YaieLinear gate_up;  // gate and up interleaved: see linear.inl
    YaieLinear gate;     // the gate, if it is quantized differently: else empty
    YaieLinear down;
    YaieLayer attention;  // the pool; the call fills in queries and output
    YaieMixer mixer;
    const float* cosines;  // [positions, rotary_width]
    const float* sines;
    float epsilon;
    float residual_factor;   // of what the MLP adds
    int32_t rotary_width;    // 0: no rotary embedding
    int32_t activation;      // YaieStore: the gated activation
    int32_t output_gates;    // YaieOutputGates
    float attention_factor;  // as residual_factor, of attention
    float gate_factor;       // of the gates of an MLP with silu
    float score_factor;      // of attention's scores, besides their scale
    // Or null. The MLP above is the shared expert then, or empty.
    const YaieMixture* mixture;
    const float* sinks;  // [num_heads] or null
};

// A stack of layers, with the embedding below and the head above.
struct YaieDecoder {
    int64_t num_layers;
    int64_t hidden;
    const YaieDecoderLayer* layers;
    const float* final_norm;  // [hidden]
    YaieLinear head;
    YaieLinear table;         // the embedding in GGUF blocks, or empty
    const void* embedding;    // [vocabulary, hidden], or null: the rows of the head (tied weights)
    int32_t embedding_dtype;  // YaieDtype
    float epsilon;
    float embedding_factor;
    float logit_factor;
    float logit_softcap;  // 0: none
    float reserved;
};

// A product that an adapter adds to a linear layer's results: see adapters.inl.
struct YaieLowRank {
    const void* down;  // [rank, padded inputs]
    const void* up;    // scaled; [padded outputs / outputs per panel, rank, outputs per panel]
    int64_t rank;      // 0: none
    int64_t is_bfloat16;
};

// An adapter's products in one decoder layer.
struct YaieAdapterLayer {
    YaieLowRank query, key, value, output, gate, up, down;
};

// Consecutive rows with one adapter.
struct YaieAdapterRows {
    int64_t first_row;
    int64_t end_row;
    const YaieAdapterLayer* layers;  // [num_layers]
};

// Inputs and outputs of a decoder in one step.
struct YaieDecoderCall {
    const int64_t* token_ids;    // [num_rows]
    const int64_t* output_rows;  // [num_logit_rows + num_hidden_rows]: rows with logits come first
    int64_t num_logit_rows;
    float* logits;    // [num_logit_rows, num_outputs of the head]
    uint64_t* beats;  // counts parts of the step that are done, for a watching process
    int64_t num_hidden_rows;
    float* hidden;  // [num_hidden_rows, hidden] after the final norm
    int64_t num_adapted;
    const YaieAdapterRows* adapted;  // [num_adapted]
    int64_t num_adapted_outputs;
    const YaieAdapterRows* adapted_outputs;  // the same, with indices into output_rows
    YaieChains chains;
};

// The most likely token of each row of logits.
struct YaieBest {
    const float* logits;  // [count, vocabulary]
    int64_t row_stride;
    int64_t vocabulary;
    int64_t count;
    float* best;      // [count] the largest logit, or NaN if the row has one
    int64_t* tokens;  // [count] the lowest token with that logit
};

// Tokens to sample, each from one row of logits. A token's weight is 2 ^ ((logit - best) * scale),
// or 0 if that exponent is below the floor.
struct YaieSamples {
    const float* logits;  // [rows, vocabulary], finite or negative infinity
    int64_t row_stride;
    int64_t vocabulary;
    int64_t count;
    const int64_t* rows;            // [count] indices into logits; samples may share a row
    const float* best;              // [count] the largest logit of that row
    const float* scales;            // [count] log2(e) / temperature
    const float* floors;            // [count] at least -126, the smallest normal exponent
    const double* uniforms;         // [count] random numbers in [0, 1)
    const int64_t* forbidden;       // all samples' tokens with weight 0, concatenated
    const int64_t* forbidden_ends;  // [count] end of each sample's forbidden tokens
    int64_t* tokens;                // [count] the result, or -1 if all weights are 0
};
}
