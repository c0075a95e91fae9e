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

struct Piece {
    const int64_t* slots;
    int64_t num_keys;
    int64_t first_position;
    int64_t first_row, end_row;
    int64_t partial;  // first of its places for (max, sum, values); each is a (KV head, lane)
    bool narrow;
    int32_t level;  // those of a lower level are done before; see exact_pieces.h
};

}  // namespace yaie
