// A work item of attention: a block of rows, and a key range that these rows share.
#pragma once

#include <cstdint>

namespace yaie {

// Query vectors per KV head up to which lanes run along the head (GEMV-like); above it, along the
// queries (GEMM-like). Measured: below 16 the GEMM-like loop wastes lanes, from 16 on it is faster.
constexpr int64_t kMaxGemvQueries = 15;
// Query vectors of a GEMM-like work item: keys are upcast once for all of them, and their state
// (widths x queries x 4 bytes, twice) should fit in the L2 cache.
constexpr int64_t kMaxGemmQueries = 128;
constexpr int64_t kKeysInBlock = 64;
// Query vectors per KV head from which packed tiles of keys are fastest, and the maximum of a
// work item. Packing reads the keys from memory once; it costs as much as 32 query vectors with
// AMX, and half of that with vectors.
constexpr int64_t kMinTileQueries = 6;
constexpr int64_t kMaxTileQueries = 1024;
// Up to this many query vectors over several KV heads form one task, which reads the pool in order.
constexpr int64_t kTileQueriesTogether = 256;

// Type of the inner loops: see attention.inl.
enum class Loops : int32_t { gemv, gemm, tiles };

struct WorkItem {
    const int64_t* slots;
    int64_t num_keys;
    int64_t first_position;
    int64_t first_row, end_row;
    int64_t partial;  // index of its first (max, sum, values); one for each (query head, row)
    Loops loops;
    int32_t level;  // lower levels run earlier; see batch_invariant_split.h
};

}  // namespace yaie
