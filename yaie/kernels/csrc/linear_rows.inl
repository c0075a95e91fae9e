// Rows of inputs as linear layers read them, rounded to bf16 or to bytes. Needs: simd.inl.

// An input that its row's bytes exclude.
struct Outlier {
    int32_t input;
    float value;
};

// Up to `room` outliers per row: [rows, room].
struct Outliers {
    Outlier* entries;
    int32_t* counts;  // [rows]
    int64_t room;
};

// Rows as bf16, or as signed bytes for quantized weights.
struct RoundedRows {
    char* bytes;
    int64_t block_stride, row_stride, step_stride;  // in bytes: kRowsInBlock rows, a row, a step
    int32_t step_shift;  // a step of a row is 1 << step_shift contiguous bytes
    bool blocked;
    // Bytes only:
    int64_t groups, group_size;
    float* scales;      // [rows, groups]
    int32_t* sums;      // [rows, groups]: sums of the bytes
    Outliers outliers;  // int8 weights only
};

constexpr int64_t kRowsInBlock = 16;
constexpr int64_t kRowsInRound = 4;
constexpr int32_t kStepShift = 6;  // a tile row has 64 bytes

// Set the layout: rows in order, or in blocks [steps][kRowsInBlock][step], where a step of a block
// is the contents of an AMX tile.
YAIE_INLINE void place_rows(RoundedRows& rows, int64_t row_bytes, int32_t step_shift,
                            bool blocked) {
    int64_t step = (int64_t)1 << step_shift;
    rows.blocked = blocked;
    rows.step_shift = step_shift;
    rows.block_stride = kRowsInBlock * row_bytes;
    rows.row_stride = blocked ? step : row_bytes;
    rows.step_stride = blocked ? kRowsInBlock * step : step;
}

// Index in its panel of an output's word `i`: two bf16 inputs or four bytes.
YAIE_INLINE int64_t word_index(int64_t i, int64_t lane) {
    if constexpr (kHasAmx) {
        int64_t tile = i / kTileRows * 2 + lane / kLanes;
        return (tile * kTileRows + i % kTileRows) * kLanes + lane % kLanes;
    }
    return i * kChunk + lane;
}

YAIE_INLINE char* row_address(const RoundedRows& rows, int64_t row) {
    return rows.bytes + row / kRowsInBlock * rows.block_stride +
           row % kRowsInBlock * rows.row_stride;
}

// Address of byte `i` of a row.
YAIE_INLINE char* byte_address(const RoundedRows& rows, char* row, int64_t i) {
    return row + (i >> rows.step_shift) * rows.step_stride + (i & ((1 << rows.step_shift) - 1));
}

YAIE_INLINE int64_t round_up(int64_t count, int64_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}
