// A piece of attention: a block of rows, and a range of keys that these rows share.
#pragma once

#include <cstdint>

namespace yaie {

// Query vectors per KV head up to which lanes run along the head (GEMV-like); above it, along the
// queries (GEMM-like). Measured: below 16 the GEMM-like form wastes lanes, from 16 on it is faster.
constexpr int64_t kMaxGemvLanes = 15;
// Query vectors of a GEMM-like piece: keys are upcast once for all of them, and their state (widths
// x lanes x 4 bytes, twice) should fit in the L2 cache.
constexpr int64_t kGemmLanes = 128;
constexpr int64_t kKeysInBlock = 64;
// Query vectors per KV head from which packed tiles of keys are fastest, and the maximum of a
// piece. Packing reads the keys from memory once; it costs as much as 32 query vectors with AMX,
// and half of that with vectors.
constexpr int64_t kMinTileLanes = 6;
constexpr int64_t kTileLanes = 1024;
// Up to this many query vectors over several KV heads form one task, which reads the pool in order.
constexpr int64_t kTileLanesTogether = 256;

// Form of the inner loops: see attention.inl.
enum class Form : int32_t { gemv, gemm, tiles };

struct Piece {
    const int64_t* slots;
    int64_t num_keys;
    int64_t first_position;
    int64_t first_row, end_row;
    int64_t partial;  // index of its first (max, sum, values); one for each (query head, row)
    Form form;
    int32_t level;  // lower levels run earlier; see exact_pieces.h
};

}  // namespace yaie
