// Stores of keys and values in the pool. Needs: attention.inl.
//
// An int8 pool stores each head of a slot as bytes from -127 to 127 and one scale, the largest
// magnitude over 127. So a slot's contents depend on its token alone.

constexpr float kMaxByte = 127.0f;
constexpr float kMinMagnitude = 1e-30f;  // heads below it become zeros
constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

// Quantize fp32 in order; return the scale, or NaN if an element is not finite.
YAIE_INLINE float quantize_row(const float* from, int width, int8_t* to) {
    Vec peak{};
    Int bad{};
    int i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        Vec x = load(from + i);
        peak = max_lanes(peak, as_float(as_bits(x) & 0x7fffffffu));
        bad |= x != x;
    }
    float largest = largest_of_lanes(peak);
    bool is_bad = false;
    for (int lane = 0; lane < kLanes; ++lane) is_bad |= bad[lane] != 0;
    for (; i < width; ++i) {
        float size = __builtin_fabsf(from[i]);
        largest = size > largest ? size : largest;
        is_bad |= size != size;
    }
    is_bad |= largest == __builtin_inff();
    float factor = largest > kMinMagnitude ? kMaxByte / largest : 0.0f;
    for (i = 0; i + kLanes <= width; i += kLanes) {
        Int whole =
            (Int)as_bits(load(from + i) * factor + kRounder) - (Int)as_bits(splat(kRounder));
        Bytes bytes = __builtin_convertvector(whole, Bytes);
        __builtin_memcpy(to + i, &bytes, sizeof bytes);
    }
    for (; i < width; ++i) {
        float rounded = from[i] * factor + kRounder;
        int32_t bits, base;
        __builtin_memcpy(&bits, &rounded, sizeof bits);
        __builtin_memcpy(&base, &kRounder, sizeof base);
        to[i] = (int8_t)(bits - base);
    }
    if (is_bad) return __builtin_nanf("");
    return factor > 0 ? largest / kMaxByte : 0.0f;
}

template <class To>
YAIE_INLINE void downcast_row(const float* from, int width, To* to) {
    int i = 0;
    for (; i + kChunk <= width; i += kChunk)
        store_chunk(to + i, reorder<float, To>({load(from + i), load(from + i + kLanes)}));
    if (i < width)
        store_tail(to + i, reorder<float, To>(load_tail(from + i, width - i)), width - i);
}

// Store fp32 in order as one head of a slot: `at` is its first element, `scale_at` its index in
// `scales`.
static void store_pool_row(const float* from, int width, int32_t dtype, void* pool, int64_t at,
                           float* scales, int64_t scale_at) {
    if (dtype == YAIE_FLOAT32)
        __builtin_memcpy(static_cast<float*>(pool) + at, from, width * sizeof(float));
    else if (dtype == YAIE_BFLOAT16)
        downcast_row(from, width, static_cast<Bf16*>(pool) + at);
    else if (dtype == YAIE_FLOAT16)
        downcast_row(from, width, static_cast<Fp16*>(pool) + at);
    else
        scales[scale_at] = quantize_row(from, width, static_cast<int8_t*>(pool) + at);
}

// Store one head of a new row; `spare` holds kChunk more than its width.
template <class From>
static void store_pool_head(const YaieWrite& write, const From* row, int64_t slot, int head,
                            float* spare) {
    int64_t at = slot * write.slot_stride + head * write.pool_head_stride;
    if (write.rows_dtype == write.pool_dtype) {
        __builtin_memcpy(static_cast<From*>(write.pool) + at, row, write.width * sizeof(From));
        return;
    }
    upcast_row<float>(row, write.width, spare, splat(1.0f));
    store_pool_row(spare, write.width, write.pool_dtype, write.pool, at, write.scales,
                   slot * write.num_heads + head);
}

template <class From>
static void store_pool_rows(const YaieStep& step, const YaieWrite& write, int64_t first,
                            int64_t end, float* spare) {
    for (int64_t i = first; i < end; ++i) {
        const From* row =
            static_cast<const From*>(write.rows) + step.written_rows[i] * write.row_stride;
        for (int head = 0; head < write.num_heads; ++head)
            store_pool_head(write, row + head * write.head_stride, step.written_slots[i], head,
                            spare);
    }
}

static void write_task(void* context, int64_t index, Scratch& scratch) {
    const WriteCall& call = *static_cast<const WriteCall*>(context);
    const YaieStep& step = *call.step;
    int64_t first = index * kRowsInWrite, end = first + kRowsInWrite;
    if (end > step.num_written) end = step.num_written;
    for (const YaieWrite* write : call.writes) {
        float* spare =
            reinterpret_cast<float*>(scratch.get((write->width + kChunk) * sizeof(float)));
        if (write->rows_dtype == YAIE_FLOAT32)
            store_pool_rows<float>(step, *write, first, end, spare);
        else if (write->rows_dtype == YAIE_BFLOAT16)
            store_pool_rows<Bf16>(step, *write, first, end, spare);
        else
            store_pool_rows<Fp16>(step, *write, first, end, spare);
    }
}
