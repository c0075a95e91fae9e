// What the attention kernels of all instruction sets share: one call, its partial results, its table.
#pragma once

#include <cstdint>
#include <vector>

#include "abi.h"
#include "pool.h"
#include "schedule.h"

namespace yaie {

// Memory for the output as bf16 rows of a linear layer, in steps of 32 numbers: see RoundedRows.
struct RoundedOutput {
    char* bytes = nullptr;  // null: the output goes where the layer says
    int64_t block_rows, block_stride, row_stride, step_stride;

    char* row(int64_t row) const {
        return bytes + row / block_rows * block_stride + row % block_rows * row_stride;
    }
};

// One layer of one step on its way through the kernels. Scores, maxima and sinks are in units of
// log2, because two to the power of something is what the machine can do.
struct AttentionCall {
    const YaieStep* step;
    const YaieLayer* layer;
    const Schedule* schedule;
    int64_t first_task;  // of the level that is running
    // For each place of a piece (query head, row): see Piece::partial.
    // Of an exact step: (row, span, query head), see Schedule::row_offsets.
    float* partial_values;  // [places, padded value width], not divided by the sum
    float* partial_max;
    float* partial_sum;
    RoundedOutput rounded;
    // Which results are too large for the caches: see kLargeResult.
    bool large_partials, large_output;
};

// The kernels of one instruction set for one dtype of the pool.
struct AttentionKernels {
    Task attend;  // context: AttentionCall; index: of Schedule::tasks
    Task merge;   // index: of a group of kRowsInMerge of Schedule::merged_rows
    Task write;   // context: WriteCall; index: of a group of kRowsInWrite of the written rows
};

// New keys and values on their way into the pool: see write.inl.
struct WriteCall {
    const YaieStep* step;
    const YaieWrite* writes[2];
};

constexpr int64_t kRowsInMerge = 4;
// The score of a hidden key. Finite, so that a block in which a row sees nothing needs no special
// case: what it adds is multiplied by about 2^-126 as soon as the row meets a key it does see.
constexpr float kHidden = -3.0e38f;
constexpr int64_t kRowsInWrite = 32;

inline int64_t padded(int64_t width, int64_t chunk) { return (width + chunk - 1) / chunk * chunk; }

}  // namespace yaie
