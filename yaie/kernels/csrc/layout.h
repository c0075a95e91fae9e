// Layout: describes the C interface as text, so that its Python mirrors are checked at load.
//
// One line a structure, `struct <name> <bytes> <field>:<offset>:<type>...`, and one an enumeration,
// `enum <name> <value>:<number>...`. A type is its kind and its bytes: `i` a signed integer, `u` an
// unsigned one, `f` a float, `p` a pointer, `s` a structure. Read by yaie/kernels/layout_check.py.
//
// A structure whose list of fields is incomplete does not compile.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "abi.h"

namespace yaie {

// Converts to any field, so that the fields of an aggregate can be counted.
struct AnyField {
    template <class T>
    constexpr operator T() const;
};

template <class T, size_t... I>
constexpr auto takes_fields(std::index_sequence<I...>)
    -> decltype(T{(static_cast<void>(I), std::declval<AnyField>())...}, true) {
    return true;
}

template <class T>
constexpr bool takes_fields(...) {
    return false;
}

template <class T, size_t Count = 1>
constexpr size_t count_fields() {
    if constexpr (takes_fields<T>(std::make_index_sequence<Count + 1>{}))
        return count_fields<T, Count + 1>();
    else
        return Count;
}

struct FieldLayout {
    const char* name;
    size_t offset;
    char kind;
    size_t bytes;
};

template <class T>
constexpr char kind_of() {
    if (std::is_pointer_v<T>) return 'p';
    if (std::is_floating_point_v<T>) return 'f';
    if (std::is_class_v<T>) return 's';
    return std::is_signed_v<T> ? 'i' : 'u';
}

template <class T, size_t Count>
void describe_struct(std::string& text, const char* name, const FieldLayout (&fields)[Count]) {
    static_assert(Count == count_fields<T>(), "the list of fields is not that of the structure");
    static_assert(std::is_standard_layout_v<T>, "offsets are defined for these alone");
    text.append("struct ").append(name).append(" ").append(std::to_string(sizeof(T)));
    for (const FieldLayout& field : fields) {
        text.append(" ").append(field.name).append(":").append(std::to_string(field.offset));
        text.append(":").append(1, field.kind).append(std::to_string(field.bytes));
    }
    text.append("\n");
}

struct EnumValue {
    const char* name;
    int32_t number;
};

template <size_t Count>
void describe_enum(std::string& text, const char* name, const EnumValue (&values)[Count]) {
    text.append("enum ").append(name);
    for (const EnumValue& value : values)
        text.append(" ").append(value.name).append(":").append(std::to_string(value.number));
    text.append("\n");
}

// Offset and type of a field in the structure that `Described` names.
#define YAIE_FIELD(field)                                                       \
    {#field, offsetof(Described, field), kind_of<decltype(Described::field)>(), \
     sizeof(Described::field)}

#define YAIE_STRUCT(type, ...)                                  \
    {                                                           \
        using Described = type;                                 \
        describe_struct<Described>(text, #type, {__VA_ARGS__}); \
    }

inline std::string describe_layout() {
    std::string text;
    YAIE_STRUCT(YaieSegment, YAIE_FIELD(first_slot), YAIE_FIELD(end_slot),
                YAIE_FIELD(first_position), YAIE_FIELD(first_row), YAIE_FIELD(end_row))
    YAIE_STRUCT(YaieStep, YAIE_FIELD(id), YAIE_FIELD(num_rows), YAIE_FIELD(num_segments),
                YAIE_FIELD(num_written), YAIE_FIELD(positions), YAIE_FIELD(slots),
                YAIE_FIELD(segments), YAIE_FIELD(written_rows), YAIE_FIELD(written_slots),
                YAIE_FIELD(exact))
    YAIE_STRUCT(YaieLayer, YAIE_FIELD(dtype), YAIE_FIELD(pool_dtype), YAIE_FIELD(num_heads),
                YAIE_FIELD(num_kv_heads), YAIE_FIELD(key_width), YAIE_FIELD(value_width),
                YAIE_FIELD(sliding_window), YAIE_FIELD(scale), YAIE_FIELD(softcap),
                YAIE_FIELD(keys), YAIE_FIELD(values), YAIE_FIELD(key_slot_stride),
                YAIE_FIELD(key_head_stride), YAIE_FIELD(value_slot_stride),
                YAIE_FIELD(value_head_stride), YAIE_FIELD(queries), YAIE_FIELD(query_row_stride),
                YAIE_FIELD(query_head_stride), YAIE_FIELD(output), YAIE_FIELD(output_row_stride),
                YAIE_FIELD(output_head_stride), YAIE_FIELD(sinks), YAIE_FIELD(key_scales),
                YAIE_FIELD(value_scales))
    YAIE_STRUCT(YaieWrite, YAIE_FIELD(rows), YAIE_FIELD(row_stride), YAIE_FIELD(head_stride),
                YAIE_FIELD(pool), YAIE_FIELD(slot_stride), YAIE_FIELD(pool_head_stride),
                YAIE_FIELD(scales), YAIE_FIELD(num_heads), YAIE_FIELD(width),
                YAIE_FIELD(rows_dtype), YAIE_FIELD(pool_dtype))
    YAIE_STRUCT(YaieLinear, YAIE_FIELD(weights_kind), YAIE_FIELD(num_inputs),
                YAIE_FIELD(num_outputs), YAIE_FIELD(group_size), YAIE_FIELD(weights),
                YAIE_FIELD(bias), YAIE_FIELD(scales), YAIE_FIELD(zero_points), YAIE_FIELD(exact))
    YAIE_STRUCT(YaieExperts, YAIE_FIELD(num_experts), YAIE_FIELD(hidden), YAIE_FIELD(gate_up),
                YAIE_FIELD(down), YAIE_FIELD(activation), YAIE_FIELD(factor), YAIE_FIELD(limit),
                YAIE_FIELD(reserved))
    YAIE_STRUCT(YaieExpertsCall, YAIE_FIELD(x), YAIE_FIELD(ids), YAIE_FIELD(weights), YAIE_FIELD(y),
                YAIE_FIELD(num_rows), YAIE_FIELD(num_chosen))
    YAIE_STRUCT(YaieMixture, YAIE_FIELD(experts), YAIE_FIELD(router), YAIE_FIELD(choice_bias),
                YAIE_FIELD(shared_gate), YAIE_FIELD(num_chosen), YAIE_FIELD(scores),
                YAIE_FIELD(normalises), YAIE_FIELD(num_groups), YAIE_FIELD(chosen_groups),
                YAIE_FIELD(factor), YAIE_FIELD(reserved))
    YAIE_STRUCT(YaieDecoderLayer, YAIE_FIELD(attention_norm), YAIE_FIELD(mlp_norm),
                YAIE_FIELD(norm_after_attention), YAIE_FIELD(norm_after_mlp),
                YAIE_FIELD(query_norm), YAIE_FIELD(key_norm), YAIE_FIELD(wide_query_norm),
                YAIE_FIELD(wide_key_norm), YAIE_FIELD(qkv), YAIE_FIELD(key), YAIE_FIELD(value),
                YAIE_FIELD(output), YAIE_FIELD(gate_up), YAIE_FIELD(gate), YAIE_FIELD(down),
                YAIE_FIELD(attention), YAIE_FIELD(mixer), YAIE_FIELD(cosines), YAIE_FIELD(sines),
                YAIE_FIELD(epsilon), YAIE_FIELD(residual_factor), YAIE_FIELD(rotary_width),
                YAIE_FIELD(activation), YAIE_FIELD(output_gates), YAIE_FIELD(attention_factor),
                YAIE_FIELD(gate_factor), YAIE_FIELD(score_factor), YAIE_FIELD(mixture),
                YAIE_FIELD(sinks))
    YAIE_STRUCT(YaieDecoder, YAIE_FIELD(num_layers), YAIE_FIELD(hidden), YAIE_FIELD(layers),
                YAIE_FIELD(final_norm), YAIE_FIELD(head), YAIE_FIELD(table), YAIE_FIELD(embedding),
                YAIE_FIELD(embedding_dtype), YAIE_FIELD(epsilon), YAIE_FIELD(embedding_factor),
                YAIE_FIELD(logit_factor), YAIE_FIELD(logit_softcap), YAIE_FIELD(reserved))
    YAIE_STRUCT(YaieLowRank, YAIE_FIELD(down), YAIE_FIELD(up), YAIE_FIELD(rank),
                YAIE_FIELD(is_bfloat16))
    YAIE_STRUCT(YaieAdapterLayer, YAIE_FIELD(query), YAIE_FIELD(key), YAIE_FIELD(value),
                YAIE_FIELD(output), YAIE_FIELD(gate), YAIE_FIELD(up), YAIE_FIELD(down))
    YAIE_STRUCT(YaieAdapterRows, YAIE_FIELD(first_row), YAIE_FIELD(end_row), YAIE_FIELD(layers))
    YAIE_STRUCT(YaieDecoderCall, YAIE_FIELD(token_ids), YAIE_FIELD(output_rows),
                YAIE_FIELD(num_logit_rows), YAIE_FIELD(logits), YAIE_FIELD(beats),
                YAIE_FIELD(num_hidden_rows), YAIE_FIELD(hidden), YAIE_FIELD(num_adapted),
                YAIE_FIELD(adapted), YAIE_FIELD(num_adapted_outputs), YAIE_FIELD(adapted_outputs),
                YAIE_FIELD(chains))
    YAIE_STRUCT(YaieChain, YAIE_FIELD(first_row), YAIE_FIELD(end_row), YAIE_FIELD(source),
                YAIE_FIELD(target))
    YAIE_STRUCT(YaieChains, YAIE_FIELD(chains), YAIE_FIELD(num_chains), YAIE_FIELD(num_spare))
    YAIE_STRUCT(YaieStates, YAIE_FIELD(slots), YAIE_FIELD(spare), YAIE_FIELD(num_slots),
                YAIE_FIELD(stride))
    YAIE_STRUCT(YaieConvolution, YAIE_FIELD(x), YAIE_FIELD(x_stride), YAIE_FIELD(y),
                YAIE_FIELD(y_stride), YAIE_FIELD(weights), YAIE_FIELD(bias), YAIE_FIELD(num_taps),
                YAIE_FIELD(num_channels), YAIE_FIELD(has_silu), YAIE_FIELD(chains),
                YAIE_FIELD(num_chains), YAIE_FIELD(states))
    YAIE_STRUCT(YaieRecurrence, YAIE_FIELD(queries), YAIE_FIELD(keys), YAIE_FIELD(values),
                YAIE_FIELD(row_stride), YAIE_FIELD(steps), YAIE_FIELD(step_stride),
                YAIE_FIELD(gates), YAIE_FIELD(gate_stride), YAIE_FIELD(step_bias),
                YAIE_FIELD(rates), YAIE_FIELD(skip), YAIE_FIELD(y), YAIE_FIELD(num_rows),
                YAIE_FIELD(num_heads), YAIE_FIELD(num_key_heads), YAIE_FIELD(key_width),
                YAIE_FIELD(value_width), YAIE_FIELD(chains), YAIE_FIELD(num_chains),
                YAIE_FIELD(states), YAIE_FIELD(is_delta_rule), YAIE_FIELD(gate_factor),
                YAIE_FIELD(min_step), YAIE_FIELD(max_step), YAIE_FIELD(has_tiles))
    YAIE_STRUCT(YaieGatedNorm, YAIE_FIELD(x), YAIE_FIELD(gate), YAIE_FIELD(gate_stride),
                YAIE_FIELD(weight), YAIE_FIELD(weight_stride), YAIE_FIELD(y), YAIE_FIELD(num_rows),
                YAIE_FIELD(num_groups), YAIE_FIELD(width), YAIE_FIELD(norm_first),
                YAIE_FIELD(epsilon))
    YAIE_STRUCT(YaieMixer, YAIE_FIELD(kind), YAIE_FIELD(residual_factor), YAIE_FIELD(norm),
                YAIE_FIELD(norm_after), YAIE_FIELD(input), YAIE_FIELD(input_2), YAIE_FIELD(input_3),
                YAIE_FIELD(input_4), YAIE_FIELD(output), YAIE_FIELD(factors),
                YAIE_FIELD(inputs_column), YAIE_FIELD(product_column), YAIE_FIELD(gate_column),
                YAIE_FIELD(steps_column), YAIE_FIELD(gates_column), YAIE_FIELD(queries_column),
                YAIE_FIELD(keys_column), YAIE_FIELD(values_column), YAIE_FIELD(convolution),
                YAIE_FIELD(recurrence), YAIE_FIELD(gated_norm))
    YAIE_STRUCT(YaieMixerCall, YAIE_FIELD(x), YAIE_FIELD(y), YAIE_FIELD(num_rows),
                YAIE_FIELD(chains))
    YAIE_STRUCT(YaieBest, YAIE_FIELD(logits), YAIE_FIELD(row_stride), YAIE_FIELD(vocabulary),
                YAIE_FIELD(count), YAIE_FIELD(best), YAIE_FIELD(tokens))
    YAIE_STRUCT(YaieSamples, YAIE_FIELD(logits), YAIE_FIELD(row_stride), YAIE_FIELD(vocabulary),
                YAIE_FIELD(count), YAIE_FIELD(rows), YAIE_FIELD(best), YAIE_FIELD(scales),
                YAIE_FIELD(floors), YAIE_FIELD(uniforms), YAIE_FIELD(forbidden),
                YAIE_FIELD(forbidden_ends), YAIE_FIELD(tokens))
    describe_enum(text, "YaieDtype",
                  {{"float32", YAIE_FLOAT32},
                   {"bfloat16", YAIE_BFLOAT16},
                   {"float16", YAIE_FLOAT16},
                   {"int8", YAIE_INT8}});
    describe_enum(text, "YaieOutputGates",
                  {{"none", YAIE_NO_GATES}, {"wide", YAIE_WIDE_GATES}, {"head", YAIE_HEAD_GATES}});
    describe_enum(text, "YaieMixerKind",
                  {{"none", YAIE_NO_MIXER},
                   {"recurrence", YAIE_RECURRENCE},
                   {"short_convolution", YAIE_SHORT_CONVOLUTION}});
    describe_enum(text, "YaieWeights",
                  {{"bfloat16", YAIE_WEIGHTS_BFLOAT16},
                   {"float32", YAIE_WEIGHTS_FLOAT32},
                   {"int8", YAIE_WEIGHTS_INT8},
                   {"int4", YAIE_WEIGHTS_INT4},
                   {"mxfp4", YAIE_WEIGHTS_MXFP4},
                   {"fp8", YAIE_WEIGHTS_FLOAT8},
                   {"Q4_0", YAIE_WEIGHTS_Q4_0},
                   {"Q4_1", YAIE_WEIGHTS_Q4_1},
                   {"Q5_0", YAIE_WEIGHTS_Q5_0},
                   {"Q5_1", YAIE_WEIGHTS_Q5_1},
                   {"Q8_0", YAIE_WEIGHTS_Q8_0},
                   {"Q2_K", YAIE_WEIGHTS_Q2_K},
                   {"Q3_K", YAIE_WEIGHTS_Q3_K},
                   {"Q4_K", YAIE_WEIGHTS_Q4_K},
                   {"Q5_K", YAIE_WEIGHTS_Q5_K},
                   {"Q6_K", YAIE_WEIGHTS_Q6_K},
                   {"IQ4_NL", YAIE_WEIGHTS_IQ4_NL},
                   {"IQ4_XS", YAIE_WEIGHTS_IQ4_XS},
                   {"MXFP4", YAIE_WEIGHTS_GGUF_MXFP4}});
    describe_enum(text, "YaieStore",
                  {{"set", YAIE_SET},
                   {"add", YAIE_ADD},
                   {"gated_silu", YAIE_GATED_SILU},
                   {"gated_gelu", YAIE_GATED_GELU},
                   {"gated_clamped", YAIE_GATED_CLAMPED},
                   {"silu_times", YAIE_SILU_TIMES},
                   {"gelu_times", YAIE_GELU_TIMES}});
    describe_enum(text, "YaieScores", {{"softmax", YAIE_SOFTMAX}, {"sigmoid", YAIE_SIGMOID}});
    return text;
}

#undef YAIE_STRUCT
#undef YAIE_FIELD

}  // namespace yaie
