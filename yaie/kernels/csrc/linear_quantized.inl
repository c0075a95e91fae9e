// Linear layers with quantized weights. Needs: linear.inl.
//
// Weights are unsigned bytes or nibbles with an offset; rows of x become signed bytes with a scale.
// Four products at a time accumulate in 32-bit integers, which is exact, and are scaled at the end
// of a group of inputs:
//
//   int8   [panels][inputs / 4][kChunk][4] bytes, offset 128; one group of all inputs
//   int4   [panels][inputs / 4][kLanes][4] bytes; low nibbles: output j, high: output kLanes + j;
//          offset 8, or the group's zero point; groups of a multiple of 4 inputs
//   mxfp4  as int4, but the nibbles are codes of numbers: see linear_nibbles.inl
//
// Padded inputs of int8 have weight 0.
//
// Scales are [panels][groups][kChunk]: float32 for int8; bf16 for int4, whose scales are a relevant
// share of the bytes read, and bytes for mxfp4. Zero points are [panels][groups][kChunk] bytes.
// Outliers of a row would coarsen the steps of its other inputs: int8 keeps them apart
// (linear_outliers.inl), and in int4 and mxfp4 each group of a row has a separate scale.

typedef int8_t SmallInt __attribute__((vector_size(kLanes)));
typedef uint8_t Small __attribute__((vector_size(kLanes)));

constexpr int32_t kByteOffset = 128;
constexpr int32_t kNibbleOffset = 8;
constexpr int64_t kPrefetchBytes = 4096;

// Add the four products of unsigned bytes in each lane of w with the signed bytes of x.
YAIE_INLINE Int dot_quads(Int sum, Bits w, int32_t x) {
#if defined(YAIE_VNNI)
    return (Int)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, _mm512_set1_epi32(x));
#elif YAIE_LANES == 8
    // Products of pairs are added in 16 bits: seven bits at a time cannot overflow them.
    __m256i ones = _mm256_set1_epi16(1), all = _mm256_set1_epi32(x);
    __m256i low = _mm256_maddubs_epi16((__m256i)(w & 0x7f7f7f7fu), all);
    __m256i top = _mm256_maddubs_epi16((__m256i)((w >> 7) & 0x01010101u), all);
    return sum + (Int)_mm256_madd_epi16(low, ones) + ((Int)_mm256_madd_epi16(top, ones) << 7);
#elif YAIE_LANES == 16
    __m512i ones = _mm512_set1_epi16(1), all = _mm512_set1_epi32(x);
    __m512i low = _mm512_maddubs_epi16((__m512i)(w & 0x7f7f7f7fu), all);
    __m512i top = _mm512_maddubs_epi16((__m512i)((w >> 7) & 0x01010101u), all);
    return sum + (Int)_mm512_madd_epi16(low, ones) + ((Int)_mm512_madd_epi16(top, ones) << 7);
#else
    for (int i = 0; i < kQuad; ++i)
        sum += (Int)((w >> (8 * i)) & 0xffu) * (int32_t)(int8_t)(x >> (8 * i));
    return sum;
#endif
}

// The same for weights below 32: 16 bits hold the sum of a pair of products.
YAIE_INLINE Int dot_nibbles(Int sum, Bits w, int32_t x) {
#if !defined(YAIE_VNNI) && YAIE_LANES == 8
    __m256i pairs = _mm256_maddubs_epi16((__m256i)w, _mm256_set1_epi32(x));
    return sum + (Int)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#elif !defined(YAIE_VNNI) && YAIE_LANES == 16
    __m512i pairs = _mm512_maddubs_epi16((__m512i)w, _mm512_set1_epi32(x));
    return sum + (Int)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
    return dot_quads(sum, w, x);
#endif
}

struct IntPair {
    Int a, b;
};

// The weights of four inputs, kChunk outputs.
struct BytePanel {
    const uint8_t* bytes;
    static constexpr int kBytes = kQuad * kChunk;
    static inline __attribute__((always_inline)) void add(const uint8_t* at, const int32_t* x,
                                                          int64_t stride, IntPair* sum, int rows) {
        if (prefetches_words(rows)) {
            __builtin_prefetch(at + kPrefetchBytes);
            if (kBytes > 64) __builtin_prefetch(at + kPrefetchBytes + 64);
        }
        Bits low = load_bits(at), high = load_bits(at + kBytes / 2);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            sum[r].a = dot_quads(sum[r].a, low, x[r * stride]);
            sum[r].b = dot_quads(sum[r].b, high, x[r * stride]);
        }
    }
};

template <class Codes>
struct NibblePanel {
    const uint8_t* bytes;
    static constexpr int kBytes = kQuad * kLanes;
    static inline __attribute__((always_inline)) void add(const uint8_t* at, const int32_t* x,
                                                          int64_t stride, IntPair* sum, int rows) {
        if (prefetches_words(rows)) __builtin_prefetch(at + kPrefetchBytes);
        Bits both = load_bits(at);
        Bits low = Codes::bytes(both & 0x0f0f0f0fu);
        Bits high = Codes::bytes((both >> 4) & 0x0f0f0f0fu);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            sum[r].a = dot_nibbles(sum[r].a, low, x[r * stride]);
            sum[r].b = dot_nibbles(sum[r].b, high, x[r * stride]);
        }
    }
};

YAIE_INLINE Vec as_floats(Int v) { return __builtin_convertvector(v, Vec); }

YAIE_INLINE Vec upcast_small(const uint8_t* p) {
    Small v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Vec);
}

// Scales and zero points of a group of inputs, for kChunk outputs.
struct GroupScales {
    Vec low, high, zero_low, zero_high;

    static inline __attribute__((always_inline)) GroupScales of_bytes(const YaieLinear& linear,
                                                                      int64_t at) {
        Pair scales = load_chunk((const float*)linear.scales + at);
        Vec zero = splat((float)kByteOffset);
        return {scales.a, scales.b, zero, zero};
    }

    static inline __attribute__((always_inline)) GroupScales of_nibbles(const YaieLinear& linear,
                                                                        int64_t at) {
        Pair scales = load_chunk((const Bf16*)linear.scales + at);
        Vec zero = splat((float)kNibbleOffset);
        if (!linear.zero_points) return {scales.a, scales.b, zero, zero};
        return {scales.a, scales.b, upcast_small(linear.zero_points + at),
                upcast_small(linear.zero_points + at + kLanes)};
    }
};

// Scale a group's accumulators and add them to the total.
YAIE_INLINE Pair add_scaled_sum(const RoundedRows& x, int64_t at, const GroupScales& scales,
                                IntPair sum, Pair total) {
    Vec factor = splat(x.scales[at]);
    Vec all = splat((float)x.sums[at]);
    Vec low = fma(all, -scales.zero_low, as_floats(sum.a));
    Vec high = fma(all, -scales.zero_high, as_floats(sum.b));
    return {fma(low, factor * scales.low, total.a), fma(high, factor * scales.high, total.b)};
}

template <int Rows>
YAIE_INLINE void join_accumulators(IntPair (*sum)[Rows]) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
        for (int s = 1; s < accumulators_of(Rows); ++s) {
            sum[0][r].a += sum[s][r].a;
            sum[0][r].b += sum[s][r].b;
        }
}

#include "linear_nibbles.inl"

// Tile of nibbles: each group of inputs has separate scales.
template <class Codes>
struct NibbleTile {
    using Panel = NibblePanel<Codes>;
    const RoundedRows& x;
    Panel panel;
    const YaieLinear& linear;
    int64_t panel_index;
    const Target& target;

    template <int Rows>
    YAIE_MEMBER void add_group(int64_t row, int64_t group, Pair* total) const {
        constexpr int sums = accumulators_of(Rows);
        IntPair sum[sums][Rows] = {};
        int64_t quads = x.group_size / kQuad, i = 0;
        const int32_t* from = (const int32_t*)row_address(x, row) + group * quads;
        const uint8_t* weights = panel.bytes + group * quads * Panel::kBytes;
        int64_t stride = x.row_stride / kQuad;
        for (; i + sums <= quads; i += sums)
#pragma GCC unroll 4
            for (int s = 0; s < sums; ++s)
                Panel::add(weights + (i + s) * Panel::kBytes, from + i + s, stride, sum[s], Rows);
        for (; i < quads; ++i)
            Panel::add(weights + i * Panel::kBytes, from + i, stride, sum[0], Rows);
        join_accumulators<Rows>(sum);
        int64_t at = (panel_index * x.groups + group) * kChunk;
        GroupScales scales = Codes::scales(linear, at);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r)
            total[r] = add_scaled_sum(x, (row + r) * x.groups + group, scales, sum[0][r], total[r]);
    }

    template <int Rows>
    void add(int64_t row) const {
        Pair total[Rows] = {};
        for (int64_t group = 0; group < x.groups; ++group) add_group<Rows>(row, group, total);
        finish(target, linear, row, panel_index * kChunk, total, Rows);
    }
};

#include "linear_outliers.inl"

// Not inlined, like `finish`.
static __attribute__((noinline)) void finish_bytes(const Target& target, const YaieLinear& linear,
                                                   const RoundedRows& x, int64_t row, int64_t first,
                                                   const IntPair* sums, int count) {
    GroupScales scales = GroupScales::of_bytes(linear, first);
    const char* panel = panel_at(linear, first / kChunk);
    for (int r = 0; r < count; ++r) {
        Pair outliers = outlier_sum(x.outliers, row + r, panel, scales);
        Pair sum = add_scaled_sum(x, row + r, scales, sums[r], outliers);
        finish_row(target, linear, row + r, first, sum.a, sum.b);
    }
}

// Tile of bytes: all inputs form one group.
struct ByteTile {
    const RoundedRows& x;
    BytePanel panel;
    const YaieLinear& linear;
    int64_t panel_index;
    const Target& target;
    PanelPrefetch prefetch;

    template <int Rows>
    void add(int64_t row) const {
        constexpr int sums = accumulators_of(Rows);
        IntPair sum[sums][Rows] = {};
        const int32_t* from = (const int32_t*)row_address(x, row);
        int64_t quads = padded_inputs(linear) / kQuad, stride = x.row_stride / kQuad;
        PanelPrefetch next = prefetch;
        for (int64_t step = 0; step < quads; step += kWordsInStep) {
            next.advance();
            for (int64_t i = step; i < step + kWordsInStep; i += sums)
#pragma GCC unroll 4
                for (int s = 0; s < sums; ++s)
                    BytePanel::add(panel.bytes + (i + s) * BytePanel::kBytes, from + i + s, stride,
                                   sum[s], Rows);
        }
        join_accumulators<Rows>(sum);
        finish_bytes(target, linear, x, row, panel_index * kChunk, sum[0], Rows);
    }
};

static void quantized_panel(const LinearCall& call, int64_t panel, int64_t first_row,
                            int64_t end_row) {
    const YaieLinear& linear = *call.linear;
    const uint8_t* bytes = (const uint8_t*)panel_at(linear, panel);
    if (linear.weights_kind == YAIE_WEIGHTS_INT8)
        add_rows_prefetching(ByteTile{call.rounded, {bytes}, linear, panel, call.target, {}},
                             linear, panel, first_row, end_row);
    else if (linear.weights_kind == YAIE_WEIGHTS_MXFP4)
        add_rows(NibbleTile<Mxfp4Codes>{call.rounded, {bytes}, linear, panel, call.target},
                 first_row, end_row);
    else
        add_rows(NibbleTile<Int4Codes>{call.rounded, {bytes}, linear, panel, call.target},
                 first_row, end_row);
}

// Quantize one group of a row: x = byte * scale, within half a scale.
YAIE_INLINE void round_group(const float* x, int64_t count, const RoundedRows& to, int64_t row,
                             int64_t group) {
    char* bytes = row_address(to, row);
    int64_t first = group * to.group_size;
    Vec largest{};
    Int nans{};  // NaN, which bytes cannot represent: the whole group becomes NaN
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Vec v = load(x + i);
        largest = max_lanes(largest, max_lanes(v, -v));
        nans |= v != v;
    }
    float peak = largest_of_lanes(largest);
    for (int j = 0; j < kLanes; ++j)
        if (nans[j]) peak = __builtin_nanf("");
    for (; i < count; ++i)
        if (!(peak > __builtin_fabsf(x[i]))) peak = peak != peak ? peak : __builtin_fabsf(x[i]);
    float factor = peak > 0 ? 127.0f / peak : 0.0f;
    Int total{};
    for (i = 0; i + kLanes <= count; i += kLanes) {
        // Adding 1.5 * 2^23 rounds to an integer, in the low bits.
        Int number = (Int)as_bits(load(x + i) * factor + 12582912.0f) - 0x4b400000;
        total += number;
        SmallInt small = __builtin_convertvector(number, SmallInt);
        __builtin_memcpy(byte_address(to, bytes, first + i), &small, sizeof small);
    }
    int32_t all = 0;
    for (int j = 0; j < kLanes; ++j) all += total[j];
    for (; i < to.group_size; ++i) {
        int8_t byte = i < count ? (int8_t)__builtin_rintf(x[i] * factor) : 0;
        *byte_address(to, bytes, first + i) = byte;
        all += byte;
    }
    to.scales[row * to.groups + group] = peak / 127.0f;
    to.sums[row * to.groups + group] = all;
}

struct RoundCall {
    const LinearCall* call;
    RoundedRows to;
};

// Quantize a row. `rest`: memory for it without its outliers, or null.
static void round_row_to_bytes(const float* x, int64_t inputs, const RoundedRows& to, int64_t row,
                               float* rest) {
    if (rest) x = without_outliers(x, inputs, to.outliers, row, rest);
    for (int64_t group = 0; group < to.groups; ++group) {
        int64_t first = group * to.group_size;
        round_group(x + first, min_of(to.group_size, inputs - first), to, row, group);
    }
}

static void bytes_task(void* context, int64_t index, Scratch& scratch) {
    const RoundCall& round = *static_cast<const RoundCall*>(context);
    const LinearCall& call = *round.call;
    const RoundedRows& to = round.to;
    int64_t inputs = call.linear->num_inputs;
    int64_t end = min_of((index + 1) * kRowsInRound, call.rows);
    float* rest = to.outliers.entries ? (float*)scratch.get(inputs * sizeof(float)) : nullptr;
    for (int64_t row = index * kRowsInRound; row < end; ++row)
        round_row_to_bytes(call.x + row * call.x_stride, inputs, to, row, rest);
}

// Quantize all rows into memory that lasts until the next call. `tile_shift`: of the steps of
// blocks, or 0 without AMX tiles.
static RoundedRows round_to_bytes(Pool& pool, const LinearCall& call, int32_t tile_shift) {
    const YaieLinear& linear = *call.linear;
    RoundedRows to{};
    int64_t padded = padded_inputs(linear), room = round_up(call.rows, kRowsInBlock);
    to.group_size = linear.weights_kind == YAIE_WEIGHTS_INT8 ? padded : linear.group_size;
    to.groups = padded / to.group_size;
    place_rows(to, padded, tile_shift ? tile_shift : kStepShift, tile_shift != 0);
    int64_t scales = call.rows * to.groups;
    bool is_byte = linear.weights_kind == YAIE_WEIGHTS_INT8;
    int64_t most = is_byte ? call.rows * most_outliers(linear.num_inputs) : 0;
    int64_t counts = is_byte ? call.rows : 0;
    to.bytes = pool.caller_memory().get(room * padded + scales * 8 + most * sizeof(Outlier) +
                                        counts * sizeof(int32_t));
    to.scales = (float*)(to.bytes + room * padded);
    to.sums = (int32_t*)(to.scales + scales);
    if (is_byte) {
        Outlier* entries = (Outlier*)(to.sums + scales);
        to.outliers = {entries, (int32_t*)(entries + most), most_outliers(linear.num_inputs)};
    }
    RoundCall round{&call, to};
    pool.run(bytes_task, &round, (call.rows + kRowsInRound - 1) / kRowsInRound);
    return to;
}

#include "linear_pack_quantized.inl"
