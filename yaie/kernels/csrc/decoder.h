// Decoder types that all instruction sets share: memory that outlives a step.
#pragma once

#include <cstdint>
#include <vector>

#include "abi.h"
#include "attention.h"
#include "experts.h"
#include "pool.h"

namespace yaie {

using RunAttention = void (*)(Pool& pool, const YaieStep& step, const YaieLayer& layer,
                              const RoundedOutput& rounded);

// Return the inputs of a packed panel: padded with zeros to the step of the kernels, which is the
// width of a tile if tiles read panels directly.
inline int64_t packed_inputs(int32_t kind, int64_t inputs) {
    int64_t step = kind == YAIE_WEIGHTS_FLOAT32    ? 1
                   : kind == YAIE_WEIGHTS_FLOAT8   ? 1
                   : kind == YAIE_WEIGHTS_BFLOAT16 ? 32
                   : kind == YAIE_WEIGHTS_INT8     ? 64
                                                   : 4;  // int4; blocks have multiples of 32
    return (inputs + step - 1) / step * step;
}

// Packing of one linear layer's weights; see linear.inl.
struct PackCall {
    const void* from;
    void* to;
    int64_t inputs, outputs;
    int32_t kind, gated;
};

// The same for quantized weights, with scales and zero points [outputs, groups]; see
// linear_quantized.inl.
struct PackQuantizedCall {
    PackCall rows;
    const float* scales;
    const int8_t* zero_points;  // or null
    void* to_scales;
    uint8_t* to_zero_points;
    int64_t groups;
};

// Unpacking of the weights of some outputs, to float32 [outputs, inputs].
struct UnpackCall {
    const YaieLinear* linear;
    const int64_t* outputs;
    float* to;
};

constexpr int64_t kRowsInRounding = 8;  // a task's outputs

// Rounding of weights to 4 bits with zero points, or to 8 bits without; see weight_rounding.inl.
struct RoundingCall {
    const void* weights;      // [outputs, inputs]
    const float* importance;  // [inputs] factors on squared errors, or null: all the same
    int8_t* values;           // [outputs, inputs]
    float* scales;            // [outputs, groups]
    int8_t* zero_points;      // the same, or null
    int64_t outputs, inputs, group;
    int32_t dtype;  // YaieDtype of the weights
};

// A few rows of one adapter; see adapters.inl.
struct ThinTask {
    int64_t first, end;
    const YaieAdapterLayer* layer;
};

// The intermediate results of a step, in float32 or smaller types.
class DecoderBuffers {
public:
    enum Place {
        kMasked,
        kKept,
        kNormed,
        kQkv,
        kQueries,
        kOutput,
        kGated,
        kAdded,
        kGates,
        kProjected,
        kConvolved,
        kMixed,
        kSpareInputs,
        kSpareStates,
        kRouted,
        kLogits,
        kChosen,
        kMixture,
        kPlaces
    };

    char* bytes(Place place, int64_t count) { return memory_[place].get(count); }

    float* floats(Place place, int64_t count) {
        return reinterpret_cast<float*>(bytes(place, count * sizeof(float)));
    }

    // Look up the slot of each row's keys and values.
    void look_up_slots(const YaieStep& step) {
        slots_.assign(step.num_rows, -1);
        for (int64_t i = 0; i < step.num_written; ++i)
            slots_[step.written_rows[i]] = step.written_slots[i];
        slot_of_row = slots_.data();
    }

    ExpertBuffers experts;
    std::vector<ThinTask> thin_tasks;
    const int64_t* slot_of_row = nullptr;  // [num_rows]; -1: cached already

private:
    Scratch memory_[kPlaces];
    std::vector<int64_t> slots_;
};

}  // namespace yaie
