// Vectors of YAIE_LANES floats, once for each instruction set. Needs: the defines of set.inl.
//
// Written with the compilers' vector extensions, so that one source serves every instruction set.
// Two-byte elements are upcast without shuffles: a vector of 2 x kLanes elements read as 32-bit
// words becomes its even elements (shifted up) and its odd ones (masked). All kernels keep this
// order ("even, then odd" within a chunk) for queries, keys, values and accumulators, and
// `store_chunk` undoes it. Elements of other sizes keep their order in memory.

// Abilities of the set, for branches that name no intrinsic type.
#ifdef YAIE_VNNI
constexpr bool kHasVnni = true;
#else
constexpr bool kHasVnni = false;
#endif
#ifdef YAIE_BF16
constexpr bool kHasBf16 = true;
#else
constexpr bool kHasBf16 = false;
#endif
#ifdef YAIE_AMX
constexpr bool kHasAmx = true;
#else
constexpr bool kHasAmx = false;
#endif

constexpr int kLanes = YAIE_LANES;
constexpr int kChunk = 2 * kLanes;
constexpr int kQuad = 4;  // bytes whose products one instruction adds

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef int32_t Int __attribute__((vector_size(kLanes * 4)));
typedef uint32_t Bits __attribute__((vector_size(kLanes * 4)));

#define YAIE_INLINE static inline __attribute__((always_inline))
#define YAIE_MEMBER inline __attribute__((always_inline))

YAIE_INLINE int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
YAIE_INLINE int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }

YAIE_INLINE Vec load(const float* p) {
    Vec v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

YAIE_INLINE void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

// Store a result that exceeds the caches: see kLargeResult. `p` is aligned to a vector.
YAIE_INLINE void store_non_temporal(float* p, Vec v) {
#ifdef YAIE_AMX
    _mm512_stream_ps(p, (__m512)v);
#else
    store(p, v);
#endif
}

template <bool non_temporal>
YAIE_INLINE void store_result(float* p, Vec v) {
    return non_temporal ? store_non_temporal(p, v) : store(p, v);
}

#ifdef YAIE_BF16
// Store 64 bytes to an address that is a multiple of 64.
YAIE_INLINE void store_cache_line(void* to, const void* from, bool non_temporal) {
    __m512i line = _mm512_loadu_si512(from);
    if (non_temporal)
        _mm512_stream_si512((__m512i*)to, line);
    else
        _mm512_store_si512(to, line);
}
#endif

// Order non-temporal stores before the signal that they are done; no other fence does.
YAIE_INLINE void fence_non_temporal() {
#ifdef YAIE_BF16
    _mm_sfence();
#endif
}

YAIE_INLINE bool is_aligned(const void* p, int64_t stride_bytes) {
    return (uintptr_t(p) | uintptr_t(stride_bytes)) % sizeof(Vec) == 0;
}

YAIE_INLINE Vec splat(float x) { return x - Vec{}; }  // 0 + x would change -0
YAIE_INLINE Int splat(int32_t x) { return Int{} + x; }
YAIE_INLINE Vec as_float(Bits v) { return (Vec)v; }
YAIE_INLINE Bits as_bits(Vec v) { return (Bits)v; }
// Return a * b + c, rounded once if the machine can. Explicit because all copies of a loop must
// give the same bits: the compiler contracts products and sums differently in each copy.
YAIE_INLINE Vec fma(Vec a, Vec b, Vec c) {
#ifdef __aarch64__
    return (Vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif YAIE_LANES == 16
    return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif YAIE_LANES == 8
    return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

YAIE_INLINE Vec max_lanes(Vec a, Vec b) { return a > b ? a : b; }
YAIE_INLINE Vec min_lanes(Vec a, Vec b) { return a < b ? a : b; }

// Return 2^x within 2e-7; x is clamped to -126, and must not exceed 127. NaN stays NaN: a
// non-finite score must not become a weight.
YAIE_INLINE Vec exp2(Vec x) {
    x = x < -126.0f ? splat(-126.0f) : x;
    Vec shifted = x + 12582912.0f;  // 1.5 * 2^23: moves the integer part to the low bits
    Vec f = x - (shifted - 12582912.0f);
    Vec p = splat(1.535336188319500e-4f);
    p = p * f + 1.339887440266574e-3f;
    p = p * f + 9.618437357674640e-3f;
    p = p * f + 5.550332471162809e-2f;
    p = p * f + 2.402264791363012e-1f;
    p = p * f + 6.931472028550421e-1f;
    p = p * f + 1.0f;
    return as_float(as_bits(p) + (as_bits(shifted) << 23));
}

YAIE_INLINE Vec tanh(Vec x) {
    // Near 0 the quotient below would cancel; a short series is accurate there.
    Vec x2 = x * x;
    Vec series = x + x * x2 * (x2 * 0.13333333f - 0.33333333f);
    Vec bounded = max_lanes(min_lanes(x, splat(10.0f)), splat(-10.0f));
    Vec e = exp2(bounded * 2.885390081777927f);
    Vec quotient = (e - 1.0f) / (e + 1.0f);
    return x2 < splat(0.01f) ? series : quotient;
}

struct Pair {
    Vec a, b;
};

struct Bf16 {
    uint16_t bits;
};
struct Fp16 {
    uint16_t bits;
};
// Multiplied by a scale in another array.
struct Int8 {
    int8_t bits;
};
typedef int8_t Bytes __attribute__((vector_size(kLanes)));

YAIE_INLINE Bits load_bits(const void* p) {
    Bits v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

#ifdef YAIE_BF16
// Add the products of each lane's pair of bf16 with the pair x.
YAIE_INLINE Vec dot_pairs(Vec sum, Bits w, int32_t x) {
    return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)w, (__m512bh)_mm512_set1_epi32(x));
}
#endif

YAIE_INLINE Pair load_chunk(const float* p) { return {load(p), load(p + kLanes)}; }

YAIE_INLINE Pair load_chunk(const Bf16* p) {
    Bits v = load_bits(p);
    return {as_float(v << 16), as_float(v & 0xffff0000u)};
}

// `half` holds an fp16 in its upper 16 bits.
YAIE_INLINE Vec upcast_fp16(Bits half) {
    Bits sign = half & 0x80000000u;
    Bits twice = half + half;
    Vec normal = as_float((twice >> 4) + 0x70000000u) * 0x1.0p-112f;
    Vec tiny = as_float((twice >> 17) | 0x3f000000u) - 0.5f;
    return as_float(sign | as_bits((Int)(twice < 0x08000000u) ? tiny : normal));
}

YAIE_INLINE Pair load_chunk(const Fp16* p) {
    Bits v = load_bits(p);
    return {upcast_fp16(v << 16), upcast_fp16(v & 0xffff0000u)};
}

// Compilers generate many instructions for the general conversion from bytes.
YAIE_INLINE Vec upcast_bytes(const Int8* p) {
#if defined(__x86_64__) && YAIE_LANES == 16
    return (Vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)));
#elif defined(__x86_64__) && YAIE_LANES == 8
    return (Vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)));
#elif defined(__x86_64__)
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    __m128i bytes = _mm_cvtsi32_si128(word);
    bytes = _mm_unpacklo_epi8(bytes, bytes);
    return (Vec)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(bytes, bytes), 24));
#else
    Bytes v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(__builtin_convertvector(v, Int), Vec);
#endif
}

YAIE_INLINE Pair load_chunk(const Int8* p) { return {upcast_bytes(p), upcast_bytes(p + kLanes)}; }

// Round to bf16 (ties to even), in the upper 16 bits of each word.
YAIE_INLINE Bits downcast_bf16(Vec v) {
    Bits u = as_bits(v);
    Bits rounded = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
    Bits nan = Bits{} + 0x7fc00000u;
    return (Int)(v != v) ? nan : rounded;
}

// Round to fp16, in the lower 16 bits of each word.
YAIE_INLINE Bits downcast_fp16(Vec v) {
    Bits u = as_bits(v);
    Bits twice = u + u;
    Vec base = as_float(u & 0x7fffffffu) * 0x1.0p+112f * 0x1.0p-110f;
    Bits bias = twice & 0xff000000u;
    Bits least = Bits{} + 0x71000000u;
    bias = (Int)(bias < least) ? least : bias;
    base = as_float((bias >> 1) + 0x07800000u) + base;
    Bits bits = as_bits(base);
    Bits number = ((bits >> 13) & 0x7c00u) + (bits & 0xfffu);
    Bits nan = Bits{} + 0x7e00u;
    return ((u >> 16) & 0x8000u) | ((Int)(twice > 0xff000000u) ? nan : number);
}

YAIE_INLINE void store_chunk(float* p, Pair v) {
    store(p, v.a);
    store(p + kLanes, v.b);
}

YAIE_INLINE void store_chunk(Bf16* p, Pair v) {
    Bits packed = (downcast_bf16(v.a) >> 16) | downcast_bf16(v.b);
    __builtin_memcpy(p, &packed, sizeof packed);
}

YAIE_INLINE void store_chunk(Fp16* p, Pair v) {
    Bits packed = downcast_fp16(v.a) | (downcast_fp16(v.b) << 16);
    __builtin_memcpy(p, &packed, sizeof packed);
}

// Load the last elements of a row whose width is no multiple of a chunk; the rest of the chunk is
// 0.
template <class T>
YAIE_INLINE Pair load_tail(const T* p, int count) {
    T whole[kChunk] = {};
    if (count % 8 == 0)
        for (int i = 0; i < count; i += 8) __builtin_memcpy(whole + i, p + i, 8 * sizeof(T));
    else
        for (int i = 0; i < count; ++i) whole[i] = p[i];
    return load_chunk(whole);
}

template <class T>
YAIE_INLINE void store_tail(T* p, Pair v, int count) {
    T whole[kChunk];
    store_chunk(whole, v);
    for (int i = 0; i < count; ++i) p[i] = whole[i];
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
    typedef Indices<I...> type;
};

template <class T>
constexpr bool kParted = sizeof(T) == 2;  // true if its chunks are "even, then odd"

template <int... I>
YAIE_INLINE Pair part(Pair v, Indices<I...>) {
#ifdef __clang__
    return {__builtin_shufflevector(v.a, v.b, (2 * I)...),
            __builtin_shufflevector(v.a, v.b, (2 * I + 1)...)};
#else
    return {__builtin_shuffle(v.a, v.b, Int{(2 * I)...}),
            __builtin_shuffle(v.a, v.b, Int{(2 * I + 1)...})};
#endif
}

template <int... I>
YAIE_INLINE Pair join(Pair v, Indices<I...>) {
#ifdef __clang__
    return {__builtin_shufflevector(v.a, v.b, (I / 2 + I % 2 * kLanes)...),
            __builtin_shufflevector(v.a, v.b, (I / 2 + I % 2 * kLanes + kLanes / 2)...)};
#else
    return {__builtin_shuffle(v.a, v.b, Int{(I / 2 + I % 2 * kLanes)...}),
            __builtin_shuffle(v.a, v.b, Int{(I / 2 + I % 2 * kLanes + kLanes / 2)...})};
#endif
}

// Permute a chunk from the order of From to the order of To.
template <class From, class To>
YAIE_INLINE Pair reorder(Pair v) {
    if (kParted<From> == kParted<To>) return v;
    typedef typename MakeIndices<kLanes>::type Lanes;
    return kParted<To> ? part(v, Lanes()) : join(v, Lanes());
}

// Source of lane i of the sum of two vectors: x holds blocks of `step` partial sums of each of its
// values, y likewise; the result holds blocks of step / 2, those of x first.
constexpr int sum_source(int lane, int step, bool upper) {
    int half = kLanes / 2;
    int within = lane % half;
    int source = within / (step / 2) * step + within % (step / 2) + (upper ? step / 2 : 0);
    return lane < half ? source : source + kLanes;
}

template <int Step, int... I>
YAIE_INLINE Vec add_halves(Vec x, Vec y, Indices<I...>) {
#ifdef __clang__
    return __builtin_shufflevector(x, y, sum_source(I, Step, false)...) +
           __builtin_shufflevector(x, y, sum_source(I, Step, true)...);
#else
    return __builtin_shuffle(x, y, Int{sum_source(I, Step, false)...}) +
           __builtin_shuffle(x, y, Int{sum_source(I, Step, true)...});
#endif
}

// Sum the lanes of each of kLanes vectors into the lanes of one vector.
template <int Step>
struct SumLanes {
    static inline __attribute__((always_inline)) Vec of(Vec* v) {
        constexpr int count = Step / 2;  // vectors after this round
#pragma GCC unroll 16
        for (int i = 0; i < count; ++i)
            v[i] = add_halves<Step>(v[2 * i], v[2 * i + 1], typename MakeIndices<kLanes>::type());
        return SumLanes<Step / 2>::of(v);
    }
};
template <>
struct SumLanes<1> {
    static inline __attribute__((always_inline)) Vec of(Vec* v) { return v[0]; }
};

YAIE_INLINE float sum_of_lanes(Vec v) {
    float sum = 0;
    for (int i = 0; i < kLanes; ++i) sum += v[i];
    return sum;
}

YAIE_INLINE float largest_of_lanes(Vec v) {
    float largest = v[0];
    for (int i = 1; i < kLanes; ++i) largest = v[i] > largest ? v[i] : largest;
    return largest;
}

// Divide rows into tiles of nearly equal height: a last tile of one row would waste the loads that
// rows share. `each(tile, tiles, row, rows)` is called for each tile in order.
template <int Most = YAIE_TILE_ROWS, class Each>
YAIE_INLINE void cut_into_tiles(int64_t first_row, int64_t end_row, Each each) {
    int64_t rows = end_row - first_row;
    int64_t tiles = (rows + Most - 1) / Most;
    for (int64_t t = 0; t < tiles; ++t) {
        int64_t row = first_row + rows * t / tiles, end = first_row + rows * (t + 1) / tiles;
        each(t, tiles, row, end - row);
    }
}

// `Tile::add<Rows>(row)` computes `Rows` rows from `row` on.
template <class Tile, int Rows = YAIE_TILE_ROWS>
static void add_tile(const Tile& tile, int64_t row, int64_t rows) {
    if constexpr (Rows > 0) {
        if (rows == Rows)
            tile.template add<Rows>(row);
        else
            add_tile<Tile, Rows - 1>(tile, row, rows);
    }
}

template <class Tile, int Most = YAIE_TILE_ROWS>
static void add_rows(const Tile& tile, int64_t first_row, int64_t end_row) {
    cut_into_tiles<Most>(first_row, end_row, [&](int64_t, int64_t, int64_t row, int64_t rows) {
        add_tile<Tile, Most>(tile, row, rows);
    });
}
