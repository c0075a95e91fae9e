// Tiles, and the registers that hold them where the processor has AMX: included before the loops that use
// them.
//
// A tile is 16 rows of 64 bytes. One instruction adds the products of two tiles to a third: 16 rows of
// inputs by as many inputs of 16 outputs, which lie as pairs of bf16 numbers or as four bytes. Attention
// lays out keys and values the same way where only vectors of bf16 numbers are multiplied.

constexpr int kTileRows = 16;

// Compilers may not know that tile instructions read memory.
#define YAIE_MEMORY_IS_WRITTEN asm volatile("" ::: "memory")

#ifdef YAIE_AMX
struct alignas(64) TileShapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

// The tile registers belong to a task while this lives: 0 to 3 hold sums, 4 and 5 rows of inputs, 6 and
// 7 what these are multiplied with. A thread that has let go of them costs the system nothing to put
// aside, and leaves them to whoever shares the thread.
struct TileRegisters {
    TileRegisters(int64_t rows, int64_t row_bytes) {
        TileShapes shapes{};
        shapes.palette = 1;
        for (int i = 0; i < 8; ++i) {
            shapes.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? row_bytes : 64);
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
