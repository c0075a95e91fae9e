// A piece of work for the attention kernels: a block of rows and the keys that all of them may see.
#pragma once

#include <cstdint>

namespace yaie {

// Query vectors per KV head up to which lanes run along the head; above it, along the queries.
// Measured: below 16 the wide form computes lanes that nobody needs, from 16 on it is the faster.
constexpr int64_t kNarrowLanes = 15;
// Query vectors of a wide piece: keys are converted once for all of them, and their state
// (widths x lanes x 4 bytes, twice) should stay in the second-level cache.
constexpr int64_t kWideLanes = 128;
constexpr int64_t kKeysInBlock = 64;
// Query vectors per KV head from which keys laid out in tiles are the fastest, and of a piece of them: keys
// are laid out once for all and read from memory, which costs about as much as 32 query vectors do where
// tiles are multiplied, and half of that in vectors.
constexpr int64_t kLeastTileLanes = 6;
constexpr int64_t kTileLanes = 1024;
// Up to that many query vectors over several KV heads are one task, which then reads the pool as it lies.
constexpr int64_t kTileLanesTogether = 256;

// The form of the inner loops: see attention.inl.
enum class Form : int32_t { narrow, wide, tiles };

struct Piece {
    const int64_t* slots;
    int64_t num_keys;
    int64_t first_position;
    int64_t first_row, end_row;
    int64_t partial;  // first of its places for (max, sum, values); each is a (query head, row)
    Form form;
    int32_t level;  // those of a lower level are done before; see exact_pieces.h
};

}  // namespace yaie
