// Linear layers in tiles: where the processor has AMX, after linear.inl and its companions.
//
// A tile is 16 rows of 64 bytes. One instruction adds the products of 16 rows by 64 bytes of inputs with
// the same inputs by 16 outputs to a tile of 16 x 16 sums. Rows lie in blocks that a tile loads from one
// stretch of memory; panels are tiles as they are packed. Two blocks of rows meet the two halves of a
// panel: four tiles of sums, so that each tile that is loaded is used twice.
//
// Rows of a block beyond the last are whatever lies in memory: nobody reads their sums. A row's sums do
// not depend on the others, nor on how many steps of inputs are computed before sums go to memory and
// come back: a row gets the same bits beside any number of others.

static_assert(kTileRows == kRowsInBlock, "a block of rows is a tile");
constexpr int64_t kBlockPairBytes = 2 * kTileRows * kChunk * 4;  // of the sums of two blocks of rows
constexpr int64_t kDepthSteps = 16;     // then a panel's part and a block's share the L1 cache
constexpr int64_t kTileBytes = kTileRows * 64;
constexpr int64_t kPanelsAtOnce = 8;
constexpr int64_t kFewPasses = 4;  // pairs of blocks that are multiplied sooner than the next part is read

// Nibbles become bytes first, which too few rows do not repay.
constexpr int64_t kFewNibbleRows = 16;
// Of int4: up to here a group's sum is exact as a float32 with the weights' offset and without it.
constexpr int64_t kLargestGroup = 4096;

// Which layers with how many rows: the step of blocks of rows as a shift, or 0 where tiles do not help.
static int32_t tile_shift(const YaieLinear& linear, int64_t rows) {
    if (linear.weights_kind == YAIE_WEIGHTS_FLOAT32) return 0;
    if (linear.weights_kind != YAIE_WEIGHTS_INT4) return kStepShift;
    if (rows <= kFewNibbleRows || linear.group_size > kLargestGroup) return 0;
    return linear.group_size % 64 == 0 ? 6 : linear.group_size % 32 == 0 ? 5 : 0;
}

// Products of the first and the second block of rows with both halves of a panel.
#define YAIE_TILE_PRODUCTS(name, instruction, integers)                             \
    struct name {                                                                   \
        static constexpr bool kIntegers = integers;                                 \
        static inline __attribute__((always_inline)) void add_one() {               \
            instruction(0, 4, 6);                                                   \
            instruction(1, 4, 7);                                                   \
        }                                                                           \
        static inline __attribute__((always_inline)) void add_other() {             \
            instruction(2, 5, 6);                                                   \
            instruction(3, 5, 7);                                                   \
        }                                                                           \
    };
YAIE_TILE_PRODUCTS(PairProducts, _tile_dpbf16ps, false)
YAIE_TILE_PRODUCTS(ByteProducts, _tile_dpbsud, true)
YAIE_TILE_PRODUCTS(SignedProducts, _tile_dpbssd, true)
#undef YAIE_TILE_PRODUCTS

// Rows and weights of some steps, and how far apart steps lie.
struct TileStream {
    const char *first, *second, *weights;
    int64_t row_step, row_stride, weight_step, steps;
    // Weights that will be needed next, and how many of their bytes come nearer in each step. They are
    // asked for in time because tiles that are on their way wait where the processor's own prefetcher
    // does not.
    const char* ahead;
    int64_t ahead_bytes;
};

// Nothing to compute beside products.
struct Nothing {
    YAIE_MEMBER void some(int64_t) {}
};

// `from_memory`: weights are on their way for the first time. They are asked for line by line in the
// order in which they lie, a tile before they are needed: then the processor's own prefetcher goes
// further ahead than its few buffers for lines that were asked for. `beside` computes something else in
// every step: vectors idle while tiles are multiplied.
template <class Products, bool both, bool from_memory, class Beside>
YAIE_INLINE void add_steps(TileStream from, Beside& beside, int64_t beside_each) {
    int64_t half = from.weight_step / 2;
    for (int64_t i = 0; i < from.steps; ++i) {
        if (from_memory)
            for (int64_t j = 0; j < 2 * kTileBytes; j += 64)
                __builtin_prefetch(from.weights + kTileBytes + j);
        else
            for (int64_t j = 0; j < from.ahead_bytes; j += 64) __builtin_prefetch(from.ahead + j, 0, 2);
        _tile_loadd(6, from.weights, 64);
        _tile_loadd(7, from.weights + half, 64);
        _tile_stream_loadd(4, from.first, from.row_stride);
        if (both) _tile_stream_loadd(5, from.second, from.row_stride);
        Products::add_one();
        if (both) Products::add_other();
        from.ahead += from.ahead_bytes;
        from.weights += from.weight_step;
        from.first += from.row_step;
        if (both) from.second += from.row_step;
        beside.some(beside_each);
    }
}

template <class Products, class Beside>
YAIE_INLINE void add_steps(const TileStream& from, bool both, bool from_memory, Beside& beside,
                           int64_t beside_each) {
    if (both && from_memory) return add_steps<Products, true, true>(from, beside, beside_each);
    if (both) return add_steps<Products, true, false>(from, beside, beside_each);
    if (from_memory) return add_steps<Products, false, true>(from, beside, beside_each);
    add_steps<Products, false, false>(from, beside, beside_each);
}

YAIE_INLINE void clear_sums() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

// Sums lie as [2 * kTileRows][kChunk].
YAIE_INLINE void load_sums(const char* from, bool both) {
    _tile_loadd(0, from, 4 * kChunk);
    _tile_loadd(1, from + 2 * kChunk, 4 * kChunk);
    if (!both) return;
    _tile_loadd(2, from + kBlockPairBytes / 2, 4 * kChunk);
    _tile_loadd(3, from + kBlockPairBytes / 2 + 2 * kChunk, 4 * kChunk);
}

YAIE_INLINE void store_sums(char* to, bool both) {
    _tile_stored(0, to, 4 * kChunk);
    _tile_stored(1, to + 2 * kChunk, 4 * kChunk);
    if (!both) return;
    _tile_stored(2, to + kBlockPairBytes / 2, 4 * kChunk);
    _tile_stored(3, to + kBlockPairBytes / 2 + 2 * kChunk, 4 * kChunk);
}

// The nibbles of a panel as tiles of signed bytes, less their zero points: [steps][2][rows][kLanes][4].
static void unpack_nibbles(const LinearCall& call, int64_t panel, char* to) {
    const YaieLinear& linear = *call.linear;
    const char* from = panel_at(linear, panel);
    int64_t groups = call.rounded.groups, quads = linear.group_size / kQuad;
    int64_t tile_rows = call.rounded.row_stride / kQuad, half = tile_rows * kQuad * kLanes;
    __m512i mask = _mm512_set1_epi8(15);
    __m512i zero_low = _mm512_set1_epi8(kNibbleOffset), zero_high = zero_low;
    for (int64_t group = 0; group < groups; ++group) {
        if (linear.zero_points) {
            const uint8_t* zeros = linear.zero_points + (panel * groups + group) * kChunk;
            __m512i bytes = _mm512_set1_epi32(0x01010101);
            zero_low = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)zeros));
            zero_high = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)(zeros + kLanes)));
            zero_low = _mm512_mullo_epi32(zero_low, bytes);
            zero_high = _mm512_mullo_epi32(zero_high, bytes);
        }
        for (int64_t i = 0; i < quads; ++i, from += kQuad * kLanes) {
            __builtin_prefetch(from + kPrefetchBytes);
            __m512i both = _mm512_loadu_si512(from);
            __m512i low = _mm512_and_si512(both, mask);
            __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
            _mm512_storeu_si512(to, _mm512_sub_epi8(low, zero_low));
            _mm512_storeu_si512(to + half, _mm512_sub_epi8(high, zero_high));
            to += kQuad * kLanes;
            if ((i + 1) % tile_rows == 0) to += half;
        }
    }
    YAIE_MEMORY_IS_WRITTEN;
}

// Sums of a group become numbers, added to what other groups gave.
static void add_scaled(const LinearCall& call, int64_t panel, int64_t group, int64_t row,
                       int64_t count, const char* sums, char* totals) {
    const RoundedRows& x = call.rounded;
    Pair scales =
        load_chunk((const Bf16*)call.linear->scales + (panel * x.groups + group) * kChunk);
    const float* factors = x.scales + row * x.groups + group;
    for (int64_t r = 0; r < count; ++r, sums += kChunk * 4, totals += kChunk * 4) {
        Vec factor = splat(factors[r * x.groups]);
        Pair total{};
        if (group) total = load_chunk((const float*)totals);
        total.a = fma(as_floats((Int)load_bits(sums)), factor * scales.a, total.a);
        total.b = fma(as_floats((Int)load_bits(sums + 2 * kChunk)), factor * scales.b, total.b);
        store_chunk((float*)totals, total);
    }
}

// One panel with groups of inputs that have scales of their own.
static void nibble_panel(const LinearCall& call, int64_t panel, const LinearPart& part, char* totals,
                         char* spare) {
    const RoundedRows& x = call.rounded;
    char* weights = spare + kBlockPairBytes;
    unpack_nibbles(call, panel, weights);
    TileStream from{};
    from.row_step = x.step_stride;
    from.row_stride = x.row_stride;
    from.weight_step = x.row_stride * kChunk;
    from.steps = x.group_size >> x.step_shift;
    for (int64_t row = part.first_row; row < part.end_row; row += 2 * kTileRows) {
        int64_t count = least_of(2 * kTileRows, part.end_row - row);
        bool both = count > kTileRows;
        from.first = row_of(x, row);
        from.second = from.first + x.block_stride;
        from.weights = from.ahead = weights;
        for (int64_t group = 0; group < x.groups; ++group) {
            Nothing nothing;
            clear_sums();
            add_steps<SignedProducts>(from, both, false, nothing, 0);
            store_sums(spare, both);
            add_scaled(call, panel, group, row, count, spare, totals);
            from.first += from.steps * from.row_step;
            from.second += from.steps * from.row_step;
            from.weights += from.steps * from.weight_step;
        }
        totals += kBlockPairBytes;
    }
}

// The sums of a row block's rows with some panels: [panels][rows][kChunk]. Row by row, so that what goes
// to memory is longer than a panel: rows lie pages apart.
static void finish_panels(const LinearCall& call, const LinearPart& part, int64_t sums_stride,
                          const char* sums) {
    for (int64_t row = part.first_row; row < part.end_row; ++row, sums += kChunk * 4)
        for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
            const char* at = sums + (panel - part.first_panel) * sums_stride;
            Pair pair = load_chunk((const float*)at);
            finish_row(call.target, *call.linear, row, panel * kChunk, pair.a, pair.b);
        }
}

YAIE_INLINE bool goes_past_caches(const LinearCall& call) {
    const Target& target = call.target;
    int64_t row_bytes = target.y_stride * (int64_t)(target.halves ? sizeof(Bf16) : sizeof(float));
    if (target.halves) return call.rows * row_bytes >= kLargeResult;
    return target.store != YAIE_ADD && !target.rounded && is_aligned(target.y, row_bytes) &&
           call.rows * row_bytes >= kLargeResult;
}

// How sums become results, a row at a time: a row of a task's panel, then the row below it. What follows
// AnyEnding are the common ways in few instructions: they stand between products, and the processor looks
// only some five hundred instructions ahead for the next ones.
template <bool past_caches>
struct AnyEnding {
    const LinearCall& call;
    int64_t panel = 0, row = 0;

    YAIE_MEMBER void begin(int64_t of_panel, int64_t first_row) {
        panel = of_panel;
        row = first_row;
    }

    YAIE_MEMBER void one(Pair sum) {
        finish_row<past_caches>(call.target, *call.linear, row, panel * kChunk, sum.a, sum.b);
        ++row;
    }
};

// Added to float32 numbers.
struct AddingEnding {
    const LinearCall& call;
    float* y = nullptr;

    YAIE_MEMBER void begin(int64_t panel, int64_t row) {
        y = call.target.y + row * call.target.y_stride + panel * kChunk;
    }

    YAIE_MEMBER void one(Pair sum) {
        Vec factor = splat(call.target.factor);
        store(y, fma(sum.a, factor, load(y)));
        store(y + kLanes, fma(sum.b, factor, load(y + kLanes)));
        y += call.target.y_stride;
    }
};

// bf16 numbers.
struct HalvesPastCachesEnding {
    const LinearCall& call;
    Bf16* to = nullptr;

    YAIE_MEMBER void begin(int64_t panel, int64_t row) {
        to = (Bf16*)call.target.halves + row * call.target.y_stride + panel * kChunk;
    }

    YAIE_MEMBER void one(Pair sum) {
        __m512bh both = _mm512_cvtne2ps_pbh((__m512)sum.b, (__m512)sum.a);
        put_line(to, &both, true);
        to += call.target.y_stride;
    }
};

// Gated by silu, as the next layer of bf16 weights reads them.
struct GatedEnding {
    const LinearCall& call;
    char* to = nullptr;
    int64_t row = 0;

    YAIE_MEMBER void begin(int64_t panel, int64_t first_row) {
        const RoundedRows& rounded = *call.target.rounded;
        row = first_row;
        to = byte_of(rounded, row_of(rounded, row), panel * kLanes * (int64_t)sizeof(Bf16));
    }

    YAIE_MEMBER void one(Pair sum) {
        const RoundedRows& rounded = *call.target.rounded;
        __m256bh numbers = _mm512_cvtneps_pbh((__m512)(sigmoid_times(sum.a) * sum.b));
        __builtin_memcpy(to, &numbers, sizeof numbers);
        to += rounded.row_stride;
        if (++row % kRowsInBlock == 0) to += rounded.block_stride - kRowsInBlock * rounded.row_stride;
    }
};

// The sums of a pair of blocks with a panel, on their way into the result: they are finished row by row
// beside the products of the next pair.
template <class Products, class Ending>
struct Finishing {
    const LinearCall& call;
    Ending ending;
    const char* sums = nullptr;
    int64_t panel = 0, row = 0, left = 0;

    YAIE_MEMBER void begin(const char* from, int64_t of_panel, int64_t first_row, int64_t count) {
        sums = from;
        panel = of_panel;
        row = first_row;
        left = count;
        ending.begin(panel, row);
    }

    YAIE_MEMBER void one() {
        Pair sum;
        if (Products::kIntegers) {
            IntPair products{(Int)load_bits(sums), (Int)load_bits(sums + 2 * kChunk)};
            GroupScales scales = GroupScales::of_bytes(*call.linear, panel * kChunk);
            sum = add_scaled_sum(call.rounded, row, scales, products, Pair{});
        } else {
            sum = load_chunk((const float*)sums);
        }
        ending.one(sum);
        sums += kChunk * 4;
        ++row;
        --left;
    }

    YAIE_MEMBER void some(int64_t count) {
        for (; count > 0 && left > 0; --count) one();
    }
};

// Some panels with one group of inputs. Where there are more steps than the L1 cache holds, sums wait in
// `sums` for the next steps; the last ones go to one of the two pairs behind it.
template <class Products, class Ending>
static void tile_panels(const LinearCall& call, const LinearPart& part, char* sums) {
    const YaieLinear& linear = *call.linear;
    const RoundedRows& x = call.rounded;
    int64_t row_bytes = x.block_stride / kRowsInBlock;
    int64_t steps = row_bytes >> x.step_shift, pair = 2 * kTileRows;
    int64_t passes = (part.end_row - part.first_row + pair - 1) / pair;
    int64_t depth = passes == 1 ? steps : kDepthSteps;
    char* last_sums[2] = {sums + passes * kBlockPairBytes, sums + (passes + 1) * kBlockPairBytes};
    int turn = 0;
    TileStream from{};
    from.row_step = x.step_stride;
    from.row_stride = x.row_stride;
    from.weight_step = x.row_stride * kChunk;
    // While rows meet a part of a panel the next part comes nearer, where there are rows enough for it.
    bool is_hidden = passes > kFewPasses;
    from.ahead_bytes = is_hidden ? round_up(from.weight_step / passes, 64) : 0;
    Finishing<Products, Ending> finishing{call, {call}};
    for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
        for (int64_t step = 0; step < steps; step += depth) {
            from.steps = least_of(depth, steps - step);
            from.weights = panel_at(linear, panel) + step * from.weight_step;
            from.ahead = from.weights + from.steps * from.weight_step;
            bool is_last = step + from.steps == steps;
            char* at = sums;
            for (int64_t row = part.first_row; row < part.end_row; row += pair, at += kBlockPairBytes) {
                int64_t count = least_of(pair, part.end_row - row);
                bool both = count > kTileRows;
                from.first = row_of(x, row) + step * x.step_stride;
                from.second = from.first + x.block_stride;
                if (step)
                    load_sums(at, both);
                else
                    clear_sums();
                int64_t each = (finishing.left + from.steps - 1) / from.steps;
                bool from_memory = !is_hidden && row == part.first_row;
                add_steps<Products>(from, both, from_memory, finishing, each);
                from.ahead += from.ahead_bytes * from.steps;
                if (!is_last) {
                    store_sums(at, both);
                    continue;
                }
                store_sums(last_sums[turn], both);
                finishing.begin(last_sums[turn], panel, row, count);
                turn ^= 1;
            }
        }
    }
    finishing.some(finishing.left);
}

static void nibble_panels(const LinearCall& call, LinearPart part, Scratch& scratch) {
    int64_t rows = round_up(part.end_row - part.first_row, 2 * kTileRows);
    int64_t sums_stride = rows * kChunk * 4;
    int64_t spare_bytes = kBlockPairBytes + padded_inputs(*call.linear) * kChunk;
    char* spare = scratch.get(spare_bytes + kPanelsAtOnce * sums_stride);
    char* sums = spare + spare_bytes;
    int64_t end = part.end_panel;
    for (; part.first_panel < end; part.first_panel = part.end_panel) {
        part.end_panel = least_of(part.first_panel + kPanelsAtOnce, end);
        for (int64_t panel = part.first_panel; panel < part.end_panel; ++panel)
            nibble_panel(call, panel, part, sums + (panel - part.first_panel) * sums_stride, spare);
        finish_panels(call, part, sums_stride, sums);
    }
}

// Chooses how sums become results: in one of the common ways where panels are whole and there is no bias.
template <class Products>
static void simple_panels(const LinearCall& call, const LinearPart& part, Scratch& scratch) {
    const YaieLinear& linear = *call.linear;
    const Target& target = call.target;
    int64_t pairs = (part.end_row - part.first_row + 2 * kTileRows - 1) / (2 * kTileRows);
    char* sums = scratch.get((pairs + 2) * kBlockPairBytes);
    bool is_simple = !linear.bias && part.end_panel * kChunk <= linear.num_outputs;
    bool needs_no_padding = linear.num_outputs % (2 * kChunk) == 0;  // of gated rows: see put_bf16
    bool past_caches = goes_past_caches(call);
    bool is_gated = target.store == YAIE_GATED_SILU && target.rounded && needs_no_padding;
    if (is_simple && target.halves && past_caches)
        tile_panels<Products, HalvesPastCachesEnding>(call, part, sums);
    else if (is_simple && !target.halves && is_gated)
        tile_panels<Products, GatedEnding>(call, part, sums);
    else if (is_simple && !target.halves && target.store == YAIE_ADD)
        tile_panels<Products, AddingEnding>(call, part, sums);
    else if (past_caches)
        tile_panels<Products, AnyEnding<true>>(call, part, sums);
    else
        tile_panels<Products, AnyEnding<false>>(call, part, sums);
    if (past_caches) finish_past_caches();
}

static void tile_task(void* context, int64_t index, Scratch& scratch) {
    const LinearCall& call = *static_cast<const LinearCall*>(context);
    LinearPart part = part_of(call, index);
    TileRegisters registers(least_of(kTileRows, part.end_row - part.first_row), call.rounded.row_stride);
    switch (call.linear->weights_kind) {
        case YAIE_WEIGHTS_INT4: return nibble_panels(call, part, scratch);
        case YAIE_WEIGHTS_INT8: return simple_panels<ByteProducts>(call, part, scratch);
        default: return simple_panels<PairProducts>(call, part, scratch);
    }
}
