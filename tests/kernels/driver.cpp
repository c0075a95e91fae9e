// A program that prints a kernel library's results for fixed inputs, to compare libraries of
// different compilers and processors without Python. Called from test_compilers.py.
//
// `driver <instruction set>` writes a line for each result: its name, then its elements.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../../yaie/kernels/csrc/abi.h"

extern "C" {
int32_t yaie_choose_instruction_set(const char* name);
void yaie_set_threads(int32_t count);
int64_t yaie_panel_outputs();
int64_t yaie_packed_inputs(int32_t kind, int64_t inputs);
void yaie_pack(const void* from, void* to, int64_t outputs, int64_t inputs, int32_t kind,
               int32_t gated);
void yaie_pack_quantized(const int8_t* values, const float* scales, const int8_t* zero_points,
                         void* to, float* to_scales, uint8_t* to_zero_points, int64_t outputs,
                         int64_t inputs, int64_t groups, int32_t kind, int32_t gated);
void yaie_linear(const YaieLinear* linear, const float* x, int64_t rows, float* y, int32_t store,
                 float factor);
void yaie_write_kv(const YaieStep* step, const YaieWrite* keys, const YaieWrite* values);
int32_t yaie_attention(const YaieStep* step, const YaieLayer* layer);
void yaie_decode(const YaieDecoder* decoder, const YaieStep* step, const YaieDecoderCall* call);
}

namespace {

typedef std::vector<float> Floats;

uint64_t random_state = 1;

// Pseudo-random numbers between -1 and 1, equal on all systems.
float random_number() {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int32_t>(random_state >> 32)) / 2147483648.0f;
}

Floats random_numbers(int64_t count, float factor = 1.0f, float offset = 0.0f) {
    Floats numbers(count);
    for (float& number : numbers) number = offset + factor * random_number();
    return numbers;
}

std::vector<uint16_t> cut_to_bf16(const Floats& numbers) {
    std::vector<uint16_t> cut;
    for (float number : numbers) {
        uint32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        cut.push_back(static_cast<uint16_t>(bits >> 16));
    }
    return cut;
}

void print(const std::string& name, const Floats& numbers) {
    std::printf("%s", name.c_str());
    for (float number : numbers) std::printf(" %.9g", number);
    std::printf("\n");
}

const char* const kKinds[] = {"bfloat16", "float32", "int8", "int4"};
const char* const kDtypes[] = {"float32", "bfloat16", "float16", "int8"};

struct PackedLinear {
    YaieLinear linear{};
    std::vector<char> weights;
    Floats scales;
    std::vector<uint8_t> zero_points;
};

PackedLinear pack(int32_t kind, int64_t outputs, int64_t inputs, bool gated) {
    constexpr int64_t kGroup = 32;
    PackedLinear packed;
    int64_t panel = yaie_panel_outputs(), padded = (outputs + panel - 1) / panel * panel;
    packed.weights.resize(padded * yaie_packed_inputs(kind, inputs) * sizeof(float));
    char* to = packed.weights.data();
    if (kind == YAIE_WEIGHTS_FLOAT32 || kind == YAIE_WEIGHTS_BFLOAT16) {
        Floats weights = random_numbers(outputs * inputs, 0.3f);
        std::vector<uint16_t> cut = cut_to_bf16(weights);
        const void* from = weights.data();
        if (kind == YAIE_WEIGHTS_BFLOAT16) from = cut.data();
        yaie_pack(from, to, outputs, inputs, kind, gated);
    } else {
        bool is_nibble = kind == YAIE_WEIGHTS_INT4;
        int64_t groups = is_nibble ? inputs / kGroup : 1;
        std::vector<int8_t> values, zero_points;
        for (int64_t i = 0; i < outputs * inputs; ++i)
            values.push_back(static_cast<int8_t>(random_number() * (is_nibble ? 7.9f : 127.0f)));
        for (int64_t i = 0; i < outputs * groups; ++i)
            zero_points.push_back(static_cast<int8_t>(random_number() * 7.9f));
        float scale = is_nibble ? 0.04f : 0.002f;
        Floats scales = random_numbers(outputs * groups, scale / 2, scale);
        packed.scales.resize(padded * groups);
        if (is_nibble) packed.zero_points.resize(padded * groups);
        yaie_pack_quantized(values.data(), scales.data(), zero_points.data(), to,
                            packed.scales.data(), is_nibble ? packed.zero_points.data() : nullptr,
                            outputs, inputs, groups, kind, gated);
        packed.linear.scales = packed.scales.data();
        packed.linear.zero_points = is_nibble ? packed.zero_points.data() : nullptr;
    }
    packed.linear.weights_kind = kind;
    packed.linear.num_inputs = static_cast<int32_t>(inputs);
    packed.linear.num_outputs = static_cast<int32_t>(outputs);
    packed.linear.group_size = kGroup;
    packed.linear.weights = to;
    return packed;
}

void print_linears() {
    constexpr int64_t kInputs = 160, kOutputs = 70;
    for (int32_t kind = 0; kind < 4; ++kind)
        for (int32_t store : {YAIE_SET, YAIE_ADD, YAIE_GATED_SILU, YAIE_GATED_GELU}) {
            bool gated = store == YAIE_GATED_SILU || store == YAIE_GATED_GELU;
            PackedLinear packed = pack(kind, kOutputs, kInputs, gated);
            for (int64_t rows : {1, 3, 40}) {
                Floats x = random_numbers(rows * kInputs);
                Floats y = random_numbers(rows * kOutputs / (gated ? 2 : 1));
                yaie_linear(&packed.linear, x.data(), rows, y.data(), store, 0.5f);
                print(std::string("linear-") + kKinds[kind] + "-" + std::to_string(store) + "-" +
                          std::to_string(rows),
                      y);
            }
        }
}

// A shared trunk and two branches with half of the rows each, at their ends.
struct Tree {
    std::vector<int64_t> positions, slots;
    std::vector<YaieSegment> segments;
    YaieStep step{};

    Tree(int64_t trunk, int64_t branch, int64_t rows) {
        for (int64_t slot = trunk + 2 * branch; slot-- > 0;) slots.push_back(slot);
        segments = {{0, trunk, 0, 0, rows},
                    {trunk, trunk + branch, trunk, 0, rows / 2},
                    {trunk + branch, trunk + 2 * branch, trunk, rows / 2, rows}};
        for (int64_t row = 0; row < rows; ++row)
            positions.push_back(trunk + branch - rows / 2 + row % (rows / 2));
        step.num_rows = rows;
        step.num_segments = 3;
        step.positions = positions.data();
        step.slots = slots.data();
        step.segments = segments.data();
    }
};

int64_t next_step_id() {
    static int64_t id = 0;
    return ++id;
}

struct KeyValuePool {
    Floats keys, values, key_scales, value_scales;  // room for elements of any dtype

    KeyValuePool(YaieLayer& layer, int64_t slots)
        : keys(slots * layer.num_kv_heads * layer.key_width),
          values(slots * layer.num_kv_heads * layer.value_width),
          key_scales(slots * layer.num_kv_heads),
          value_scales(slots * layer.num_kv_heads) {
        layer.keys = keys.data();
        layer.values = values.data();
        layer.key_head_stride = layer.key_width;
        layer.value_head_stride = layer.value_width;
        layer.key_slot_stride = layer.num_kv_heads * layer.key_width;
        layer.value_slot_stride = layer.num_kv_heads * layer.value_width;
        if (layer.pool_dtype != YAIE_INT8) return;
        layer.key_scales = key_scales.data();
        layer.value_scales = value_scales.data();
    }

    // Writes random numbers to all slots through the library.
    void fill(const YaieLayer& layer) {
        Floats key_rows = random_numbers(static_cast<int64_t>(keys.size()), 2.0f);
        Floats value_rows = random_numbers(static_cast<int64_t>(values.size()), 2.0f);
        std::vector<int64_t> all;
        while (all.size() < key_scales.size() / layer.num_kv_heads)
            all.push_back(static_cast<int64_t>(all.size()));
        YaieStep step{};
        step.id = next_step_id();
        step.num_rows = step.num_written = static_cast<int64_t>(all.size());
        step.written_rows = step.written_slots = all.data();
        YaieWrite key_write{key_rows.data(),  layer.key_slot_stride, layer.key_width,
                            layer.keys,       layer.key_slot_stride, layer.key_width,
                            layer.key_scales, layer.num_kv_heads,    layer.key_width,
                            YAIE_FLOAT32,     layer.pool_dtype};
        YaieWrite value_write{value_rows.data(),  layer.value_slot_stride, layer.value_width,
                              layer.values,       layer.value_slot_stride, layer.value_width,
                              layer.value_scales, layer.num_kv_heads,      layer.value_width,
                              YAIE_FLOAT32,       layer.pool_dtype};
        yaie_write_kv(&step, &key_write, &value_write);
    }
};

void print_attention(int32_t pool_dtype, int32_t width, int64_t rows, bool exact) {
    YaieLayer layer{};
    layer.pool_dtype = pool_dtype;
    layer.num_heads = 4;
    layer.num_kv_heads = 2;
    layer.key_width = width;
    layer.value_width = width == 64 ? 64 : width - 8;
    layer.sliding_window = width == 64 ? 0 : 100;
    layer.scale = 0.2f;
    layer.softcap = width == 64 ? 0.0f : 5.0f;
    Floats sinks = random_numbers(layer.num_heads);
    layer.sinks = width == 64 ? nullptr : sinks.data();
    Tree tree(150, 45, rows);
    KeyValuePool pool(layer, static_cast<int64_t>(tree.slots.size()));
    pool.fill(layer);
    Floats queries = random_numbers(rows * layer.num_heads * layer.key_width);
    Floats output(rows * layer.num_heads * layer.value_width);
    layer.queries = queries.data();
    layer.query_head_stride = layer.key_width;
    layer.query_row_stride = layer.num_heads * layer.key_width;
    layer.output = output.data();
    layer.output_head_stride = layer.value_width;
    layer.output_row_stride = layer.num_heads * layer.value_width;
    tree.step.id = next_step_id();
    tree.step.exact = exact;
    yaie_attention(&tree.step, &layer);
    print(std::string("attention-") + kDtypes[pool_dtype] + "-" + std::to_string(width) + "-" +
              std::to_string(rows) + (exact ? "-exact" : ""),
          output);
}

// A decoder of two layers whose head is tied to the embedding.
struct SmallDecoder {
    static constexpr int64_t kMasked = 64, kInner = 96, kSlots = 20;
    static constexpr int32_t kHeads = 4, kKvHeads = 2, kWidth = 32, kVocabulary = 50;

    Floats norm = random_numbers(kMasked, 0.5f, 1.0f);
    Floats head_norm = random_numbers(kWidth, 0.5f, 1.0f);
    Floats cosines = random_numbers(kSlots * kWidth), sines = random_numbers(kSlots * kWidth);
    std::vector<PackedLinear> linears;
    std::vector<KeyValuePool> pools;
    std::vector<YaieDecoderLayer> layers;
    YaieDecoder decoder{};

    SmallDecoder(int32_t kind, int32_t pool_dtype) {
        for (int i = 0; i < 2; ++i) add_layer(kind, pool_dtype);
        int32_t head_kind = kind == YAIE_WEIGHTS_INT4 ? YAIE_WEIGHTS_INT8 : kind;
        decoder.head = add_linear(head_kind, kVocabulary, kMasked, false);
        decoder.num_layers = 2;
        decoder.hidden = kMasked;
        decoder.layers = layers.data();
        decoder.final_norm = norm.data();
        decoder.rotary_width = kWidth;
        decoder.cosines = cosines.data();
        decoder.sines = sines.data();
        decoder.epsilon = 1e-6f;
        decoder.embedding_factor = 2.0f;
        decoder.logit_factor = 0.5f;
    }

    YaieLinear add_linear(int32_t kind, int64_t outputs, int64_t inputs, bool gated) {
        linears.push_back(pack(kind, outputs, inputs, gated));
        return linears.back().linear;
    }

    void add_layer(int32_t kind, int32_t pool_dtype) {
        YaieDecoderLayer layer{};
        layer.attention_norm = layer.mlp_norm = norm.data();
        layer.query_norm = layer.key_norm = head_norm.data();
        layer.qkv = add_linear(kind, (kHeads + 2 * kKvHeads) * kWidth, kMasked, false);
        layer.output = add_linear(kind, kMasked, kHeads * kWidth, false);
        layer.gate_up = add_linear(kind, 2 * kInner, kMasked, true);
        layer.down = add_linear(kind, kMasked, kInner, false);
        layer.attention.pool_dtype = pool_dtype;
        layer.attention.num_heads = kHeads;
        layer.attention.num_kv_heads = kKvHeads;
        layer.attention.key_width = layer.attention.value_width = kWidth;
        layer.attention.scale = 0.2f;
        pools.emplace_back(layer.attention, kSlots);
        layer.epsilon = 1e-6f;
        layer.residual_factor = 0.7f;
        layer.rotates = 1;
        layer.activation = YAIE_GATED_SILU;
        layers.push_back(layer);
    }

    // Logits of `rows` tokens from position `first` on; earlier ones are in the pool.
    Floats logits(int64_t first, int64_t rows) {
        std::vector<int64_t> counted, tokens;
        for (int64_t i = 0; i < kSlots; ++i) counted.push_back(i);
        for (int64_t i = 0; i < rows; ++i) tokens.push_back((first + i) * 7 % kVocabulary);
        YaieSegment segment{0, first + rows, 0, 0, rows};
        YaieStep step{};
        step.id = next_step_id();
        step.num_rows = step.num_written = rows;
        step.num_segments = 1;
        step.slots = step.written_rows = counted.data();
        step.positions = step.written_slots = counted.data() + first;
        step.segments = &segment;
        Floats logits(rows * kVocabulary);
        YaieDecoderCall call{tokens.data(), counted.data(), rows, logits.data()};
        yaie_decode(&decoder, &step, &call);
        return logits;
    }
};

void print_decoder(int32_t kind, int32_t pool_dtype) {
    SmallDecoder decoder(kind, pool_dtype);
    std::string name = std::string("decoder-") + kKinds[kind] + "-" + kDtypes[pool_dtype];
    print(name + "-prompt", decoder.logits(0, 12));
    print(name + "-next", decoder.logits(12, 1));
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2 || yaie_choose_instruction_set(arguments[1])) return 2;
    yaie_set_threads(2);
    print_linears();
    for (int32_t pool_dtype = 0; pool_dtype < 4; ++pool_dtype)
        for (int32_t width : {44, 64})
            for (int64_t rows : {2, 40})
                for (bool exact : {false, true}) print_attention(pool_dtype, width, rows, exact);
    print_decoder(YAIE_WEIGHTS_FLOAT32, YAIE_FLOAT32);
    print_decoder(YAIE_WEIGHTS_BFLOAT16, YAIE_BFLOAT16);
    print_decoder(YAIE_WEIGHTS_INT8, YAIE_INT8);
    print_decoder(YAIE_WEIGHTS_INT4, YAIE_INT8);
    return 0;
}
