// Tiles, and AMX's registers for them. Needs: simd.inl.
//
// A tile is 16 rows of 64 bytes. One instruction adds the products of two tiles to a third: 16 rows
// of inputs by as many inputs of 16 outputs, stored as pairs of bf16 or as four bytes. Attention
// packs keys and values the same way if only vectors of bf16 are multiplied.

constexpr int kTileRows = 16;
constexpr int kTileDepth = 32;  // bf16 elements in a row of a tile

// Compilers may not know that tile instructions read memory.
#define YAIE_MEMORY_IS_WRITTEN asm volatile("" ::: "memory")

#ifdef YAIE_AMX
struct alignas(64) TileShapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

// The tile registers of a task: 0 to 3 hold accumulators, 4 and 5 rows of inputs, 6 and 7 the
// second operands, `columns` words wide as the accumulators. They are released with this object, so
// that the system need not save them and other users of the thread can configure them.
struct TileRegisters {
    TileRegisters(int64_t rows, int64_t row_bytes, int64_t columns = 16) {
        TileShapes shapes{};
        shapes.palette = 1;
        for (int i = 0; i < 8; ++i) {
            shapes.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? row_bytes : 4 * columns);
            shapes.rows[i] = (uint8_t)(i < 6 ? rows : row_bytes / 4);
        }
        YAIE_MEMORY_IS_WRITTEN;
        _tile_loadconfig(&shapes);
    }
    ~TileRegisters() { _tile_release(); }
    TileRegisters(const TileRegisters&) = delete;
    TileRegisters& operator=(const TileRegisters&) = delete;
};
#endif
