// Rounding of weights to 4 or 8 bits, once at load. Needs: simd.inl, decoder.h.
//
// The same grids as in weight_rounding.py: shares of a group's range and shifts of its zero point
// are candidates, and the first one with the least squared error is chosen. Differences to the
// weights are exactly those of torch: a value has at most 5 bits and a scale 8, so that their
// product is exact, and fusing it with the difference changes nothing. Sums over a group are added
// in another order, so that two candidates with nearly equal errors may change places.

constexpr int kShares = 5;  // of a group's range; less than 1 clips the extremes
constexpr int kShifts = 3;  // of the zero point
constexpr int kCandidates = kShares * kShifts;
constexpr float kLeastNibble = -8, kMostNibble = 7, kMostByte = 127;
constexpr int kNibbleSteps = 15;
constexpr int kMostGroup = 64;  // inputs

// Round to the nearest integer, ties to even; |x| is at most 2^22, or infinite.
YAIE_INLINE Vec round_even(Vec x) {
#if defined(__x86_64__) && YAIE_LANES == 16
    return (Vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__x86_64__) && YAIE_LANES == 8
    return (Vec)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__aarch64__)
    return (Vec)vrndnq_f32((float32x4_t)x);
#else
#ifndef __x86_64__
    asm("" : "+m"(x));  // or the product before would be fused with the sum, and not be rounded
#endif
    Vec shifted = x + 12582912.0f;  // 1.5 * 2^23
    asm("" : "+m"(shifted));        // as above, for the difference
    return shifted - 12582912.0f;
#endif
}

// Bound x; NaN stays NaN.
YAIE_INLINE Vec bound(Vec x, Vec least, Vec most) { return max_lanes(least, min_lanes(most, x)); }

// Reciprocals, and 0 of 0.
YAIE_INLINE Vec reciprocal(Vec x) { return x != Vec{} ? 1.0f / x : Vec{}; }

// Convert whole numbers to bytes.
YAIE_INLINE void store_whole(int8_t* to, Vec v) {
    Bytes bytes = __builtin_convertvector(__builtin_convertvector(v, Int), Bytes);
    __builtin_memcpy(to, &bytes, sizeof bytes);
}

template <class T>
YAIE_INLINE void widen_row(const T* from, int64_t count, float* to) {
    int64_t i = 0;
    for (; i + kChunk <= count; i += kChunk)
        store_chunk(to + i, reorder<T, float>(load_chunk(from + i)));
    if (i < count) store_tail(to + i, reorder<T, float>(load_tail(from + i, count - i)), count - i);
}

// One group: its weights, padded with zeros to whole vectors, which are on every grid.
struct RoundingGroup {
    alignas(64) float weights[kMostGroup];
    alignas(64) float importance[kMostGroup];
    int count;  // with padding

    YAIE_MEMBER void fill(float* to, const float* from, int64_t inputs) {
        count = (int)((inputs + kLanes - 1) / kLanes * kLanes);
        for (int i = 0; i < count; i += kLanes) {
            if (i + kLanes <= inputs) {
                store(to + i, load(from + i));
                continue;
            }
            for (int j = i; j < i + kLanes; ++j) to[j] = j < inputs ? from[j] : 0.0f;
        }
    }
};

struct NibbleGrid {
    float scale, point;
};

// Add each squared error of a share's candidates.
template <bool weighted>
YAIE_INLINE void add_errors(const RoundingGroup& group, Vec scale, const Vec* points, Vec* errors) {
    Vec factor = reciprocal(scale), least[kShifts], most[kShifts], sums[kShifts] = {};
    for (int s = 0; s < kShifts; ++s) {
        least[s] = kLeastNibble - points[s];
        most[s] = kMostNibble - points[s];
    }
    for (int i = 0; i < group.count; i += kLanes) {
        Vec w = load(group.weights + i), near = round_even(w * factor);
#pragma GCC unroll 3
        for (int s = 0; s < kShifts; ++s) {
            Vec difference = fma(bound(near, least[s], most[s]), scale, -w);
            Vec square = difference * difference;
            if (weighted)
                sums[s] = fma(square, load(group.importance + i), sums[s]);
            else
                sums[s] += square;
        }
    }
    for (int s = 0; s < kShifts; ++s) errors[s] = sums[s];
}

template <bool weighted>
YAIE_INLINE NibbleGrid best_grid(const RoundingGroup& group) {
    Vec low{}, high{};  // zero is among the values
    for (int i = 0; i < group.count; i += kLanes) {
        Vec w = load(group.weights + i);
        low = min_lanes(low, w);
        high = max_lanes(high, w);
    }
    float least = -largest_of_lanes(-low), most = largest_of_lanes(high);
    constexpr int kSums = (kCandidates + kLanes - 1) / kLanes * kLanes;
    Vec errors[kSums] = {};
    NibbleGrid grids[kCandidates];
#pragma GCC unroll 1
    for (int share = 0; share < kShares; ++share) {
        // As torch computes them: the shares of steps are rounded from double.
        static constexpr double kParts[kShares] = {1.0, 0.95, 0.9, 0.85, 0.8};
        Vec step = splat(most - least) * (float)(kParts[share] / kNibbleSteps);
        Vec scale = as_float(downcast_bf16(step));
        Vec nearest = splat(-least) * (float)kParts[share] / scale;
        nearest = round_even(scale != Vec{} ? nearest : Vec{});
        Vec points[kShifts];
        for (int s = 0; s < kShifts; ++s) {
            float shift = s == 0 ? 0.0f : s == 1 ? -1.0f : 1.0f;
            points[s] = bound(nearest + shift, Vec{}, splat((float)kNibbleSteps)) + kLeastNibble;
            grids[share * kShifts + s] = {scale[0], points[s][0]};
        }
        add_errors<weighted>(group, scale, points, errors + share * kShifts);
    }
    alignas(64) float sums[kSums];
    for (int i = 0; i < kSums; i += kLanes) store(sums + i, SumLanes<kLanes>::of(errors + i));
    NibbleGrid best{0, 0};
    float least_error = __builtin_inff();
    for (int i = 0; i < kCandidates; ++i) {
        if (!(sums[i] < least_error)) continue;  // also NaN
        least_error = sums[i];
        best = grids[i];
    }
    return best;
}

template <bool weighted>
static void round_nibbles(const RoundingCall& call, const float* row, int64_t output) {
    int64_t groups = call.inputs / call.group;
    RoundingGroup group;
    for (int64_t g = 0; g < groups; ++g) {
        int64_t first = g * call.group;
        group.fill(group.weights, row + first, call.group);
        if (weighted) group.fill(group.importance, call.importance + first, call.group);
        NibbleGrid grid = best_grid<weighted>(group);
        call.scales[output * groups + g] = grid.scale;
        call.zero_points[output * groups + g] = (int8_t)grid.point;
        Vec factor = reciprocal(splat(grid.scale));
        int8_t* to = call.values + output * call.inputs + first;
        for (int64_t i = 0; i < group.count; i += kLanes) {
            Vec near = round_even(load(group.weights + i) * factor) + grid.point;
            Vec value = bound(near, splat(kLeastNibble), splat(kMostNibble));
            if (i + kLanes <= call.group) {
                store_whole(to + i, value);
                continue;
            }
            int8_t some[kLanes];
            store_whole(some, value);
            __builtin_memcpy(to + i, some, call.group - i);
        }
    }
}

// One symmetric scale for all inputs.
static void round_bytes(const RoundingCall& call, const float* row, int64_t output) {
    Vec largest{};
    int64_t padded = (call.inputs + kLanes - 1) / kLanes * kLanes;
    for (int64_t i = 0; i < padded; i += kLanes) {
        Vec w = load(row + i);
        largest = max_lanes(largest, max_lanes(w, -w));
    }
    float scale = largest_of_lanes(largest) / kMostByte;
    call.scales[output] = scale;
    Vec factor = reciprocal(splat(scale));
    int8_t* to = call.values + output * call.inputs;
    for (int64_t i = 0; i < padded; i += kLanes) {
        Vec value = bound(round_even(load(row + i) * factor), splat(-kMostByte), splat(kMostByte));
        int8_t some[kLanes];
        store_whole(some, value);
        __builtin_memcpy(to + i, some, min_of(kLanes, call.inputs - i));
    }
}

// Round kRowsInRounding outputs.
static void round_task(void* context, int64_t index, Scratch& scratch) {
    const RoundingCall& call = *static_cast<const RoundingCall*>(context);
    float* row = (float*)scratch.get((call.inputs + kLanes) * sizeof(float));
    store(row + call.inputs, Vec{});  // the padding of the last vector
    int64_t end = min_of((index + 1) * kRowsInRounding, call.outputs);
    for (int64_t output = index * kRowsInRounding; output < end; ++output) {
        int64_t first = output * call.inputs;
        if (call.dtype == YAIE_BFLOAT16)
            widen_row((const Bf16*)call.weights + first, call.inputs, row);
        else if (call.dtype == YAIE_FLOAT16)
            widen_row((const Fp16*)call.weights + first, call.inputs, row);
        else
            widen_row((const float*)call.weights + first, call.inputs, row);
        if (!call.zero_points)
            round_bytes(call, row, output);
        else if (call.importance)
            round_nibbles<true>(call, row, output);
        else
            round_nibbles<false>(call, row, output);
    }
}
