// Types that the attention kernels of all instruction sets share: a call, its partial results and
// the table of kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "abi.h"
#include "pool.h"
#include "schedule.h"

namespace yaie {

// The output as a linear layer's bf16 rows, in steps of 32 elements: see RoundedRows.
struct RoundedOutput {
    char* bytes = nullptr;  // null: write to the layer's output
    int64_t block_rows, block_stride, row_stride, step_stride;

    char* row(int64_t row) const {
        return bytes + row / block_rows * block_stride + row % block_rows * row_stride;
    }
};

// One layer of one step in the kernels. Scores, maxima and sinks are in units of log2, so that the
// exponential is a power of two.
struct AttentionCall {
    const YaieStep* step;
    const YaieLayer* layer;
    const Schedule* schedule;
    int64_t first_task;  // first task of the running level
    // For each (query head, row) of a work item: see WorkItem::partial. In a batch-invariant step,
    // for each (row, span, query head): see Schedule::row_offsets.
    float* partial_values;  // [places, padded value width], before division by the sum
    float* partial_max;
    float* partial_sum;
    RoundedOutput rounded;
    // True if the results exceed the caches: see kLargeResult.
    bool large_partials, large_output;
};

// One instruction set's kernels for one pool dtype.
struct AttentionKernels {
    Task attend;  // context: AttentionCall; index: of Schedule::tasks
    Task merge;   // index: a group of kRowsInMerge in Schedule::merged_rows
    Task write;   // context: WriteCall; index: of a group of kRowsInWrite of the written rows
};

// New keys and values to store in the pool: see write.inl.
struct WriteCall {
    const YaieStep* step;
    const YaieWrite* writes[2];
};

constexpr int64_t kRowsInMerge = 4;
// The score of a masked key. It is finite, so that a fully masked block needs no special case: its
// weights are multiplied by about 2^-126 as soon as the row meets a visible key.
constexpr float kMasked = -3.0e38f;
constexpr int64_t kRowsInWrite = 32;

inline int64_t padded(int64_t width, int64_t chunk) { return (width + chunk - 1) / chunk * chunk; }

}  // namespace yaie
