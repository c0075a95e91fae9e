// What the attention kernels of all instruction sets share: one call, its partial results, its table.
#pragma once

#include <cstdint>
#include <vector>

#include "abi.h"
#include "pool.h"
#include "schedule.h"

namespace yaie {

// One layer of one step on its way through the kernels. Scores, maxima and sinks are in units of
// log2, because two to the power of something is what the machine can do.
struct AttentionCall {
    const YaieStep* step;
    const YaieLayer* layer;
    const Schedule* schedule;
    // For each place of a piece (query head, row): see Piece::partial.
    float* partial_values;  // [places, padded value width], not divided by the sum
    float* partial_max;
    float* partial_sum;
};

// The kernels of one instruction set for one dtype.
struct AttentionKernels {
    Task attend;  // context: AttentionCall; index: of Schedule::tasks
    Task merge;   // index: of a group of kRowsInMerge of Schedule::merged_rows
};

constexpr int64_t kRowsInMerge = 4;
constexpr int64_t kWidestChunk = 32;  // elements; widths are padded to a chunk

inline int64_t padded(int64_t width, int64_t chunk) { return (width + chunk - 1) / chunk * chunk; }

}  // namespace yaie
