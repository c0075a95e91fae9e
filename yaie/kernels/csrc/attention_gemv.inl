// GEMV-like attention, for few query vectors per KV head: lanes run along the head. This is
// decoding without sharing, and bound by memory: all KV heads of a block of keys are computed
// before the next block, and each head's computation prefetches the next head's data. Needs:
// attention.inl, attention_prefetch.inl.

#if YAIE_REGISTERS >= 32
constexpr int kGemvAccumulators = 16;  // vectors of accumulators in registers
#else
constexpr int kGemvAccumulators = 8;
#endif

// Distance between the scores of two query vectors: groups of keys may extend beyond the block.
constexpr int kScoreStride = static_cast<int>(kKeysInBlock) + kLanes;

// The scales of a block of one KV head, contiguous; empty unless the pool is int8.
template <class T, int Keys = static_cast<int>(kKeysInBlock)>
struct BlockScales {
    void gather(const YaieLayer&, const int64_t*, int, int) {}
    const float* of_keys() const { return nullptr; }
    const float* of_values() const { return nullptr; }
};

template <int Keys>
struct BlockScales<Int8, Keys> {
    alignas(64) float keys[Keys] = {};
    alignas(64) float values[Keys] = {};

    void gather(const YaieLayer& at, const int64_t* slots, int n, int head) {
        for (int k = 0; k < n; ++k) {
            keys[k] = at.key_scales[slots[k] * at.num_kv_heads + head];
            values[k] = at.value_scales[slots[k] * at.num_kv_heads + head];
        }
    }
    const float* of_keys() const { return keys; }
    const float* of_values() const { return values; }
};

// One block of keys of one KV head.
template <class T>
struct GemvBlock {
    const T* keys;  // the head's keys, at slot 0
    const T* values;
    int64_t key_stride, value_stride;  // from slot to slot
    const int64_t* slots;
    int n;
    const float* key_scales;  // [n] for an int8 pool, else null
    const float* value_scales;
    BlockPrefetch<T> prefetch;  // prefetch of the next block

    YAIE_MEMBER GemvBlock(const YaieLayer& at, int head, const int64_t* slots, int n,
                          BlockScales<T>& scales, const BlockPrefetch<T>& prefetch)
        : keys(static_cast<const T*>(at.keys) + head * at.key_head_stride),
          values(static_cast<const T*>(at.values) + head * at.value_head_stride),
          key_stride(at.key_slot_stride),
          value_stride(at.value_slot_stride),
          slots(slots),
          n(n),
          prefetch(prefetch) {
        scales.gather(at, slots, n, head);
        key_scales = scales.of_keys();
        value_scales = scales.of_values();
    }
};

// Compute scores[m * kScoreStride + k] for Queries query vectors, and prefetch the next block.
template <class T, int Queries>
static void score_gemv(GemvBlock<T>& block, const Layer& layer, const float* queries,
                       float* scores) {
    constexpr int step = kLanes / Queries;
    int width = layer.at.key_width;
    int whole = width / kChunk * kChunk;
    int turns = (block.n + step - 1) / step;
    int to_prefetch = (block.prefetch.left + turns - 1) / turns;
    for (int k = 0; k < block.n; k += step) {
        block.prefetch.rows(to_prefetch);
        const T* rows[step];
#pragma GCC unroll 16
        for (int i = 0; i < step; ++i) {
            int64_t slot = block.slots[k + i < block.n ? k + i : block.n - 1];
            rows[i] = block.keys + slot * block.key_stride;
        }
        T rest[step * kChunk];  // the last elements of the rows, if they do not fill a chunk
        if (whole < width) {
            __builtin_memset(rest, 0, sizeof rest);
            for (int i = 0; i < step; ++i)
                __builtin_memcpy(rest + i * kChunk, rows[i] + whole, (width - whole) * sizeof(T));
        }
        Vec accumulators[kLanes] = {};
        for (int d = 0; d < layer.keys; d += kChunk) {
            const float* query = queries + d;
#pragma GCC unroll 16
            for (int i = 0; i < step; ++i) {
                Pair key = load_chunk(d < whole ? rows[i] + d : rest + i * kChunk);
#pragma GCC unroll 4
                for (int m = 0; m < Queries; ++m) {
                    Vec& sum = accumulators[m * step + i];
                    sum = fma(key.a, load(query + m * layer.keys), sum);
                    sum = fma(key.b, load(query + m * layer.keys + kLanes), sum);
                }
            }
        }
        float found[kLanes];
        store(found, SumLanes<kLanes>::of(accumulators));
#pragma GCC unroll 4
        for (int m = 0; m < Queries; ++m)
            __builtin_memcpy(scores + m * kScoreStride + k, found + m * step, step * sizeof(float));
    }
}

// Chunks of accumulators[m, :] = accumulators[m, :] * factors[m] + weights[m, :] . values, from
// chunk to chunk.
template <class T, int Queries, int Chunks>
static void add_chunks(const GemvBlock<T>& block, const Layer& layer, int from, int to,
                       const float* weights, const float* factors, float* accumulators) {
    int width = layer.at.value_width;
    for (int d = from; d < to; d += Chunks * kChunk) {
        bool tail = d + Chunks * kChunk > width;  // only where Chunks is 1
        Vec tile[Queries][2 * Chunks];
#pragma GCC unroll 4
        for (int m = 0; m < Queries; ++m)
#pragma GCC unroll 16
            for (int c = 0; c < 2 * Chunks; ++c)
                tile[m][c] = load(accumulators + m * layer.values + d + c * kLanes) * factors[m];
        for (int k = 0; k < block.n; ++k) {
            const T* row = block.values + block.slots[k] * block.value_stride + d;
#pragma GCC unroll 16
            for (int c = 0; c < Chunks; ++c) {
                Pair value =
                    Chunks == 1 && tail ? load_tail(row, width - d) : load_chunk(row + c * kChunk);
#pragma GCC unroll 4
                for (int m = 0; m < Queries; ++m) {
                    Vec weight = splat(weights[m * kScoreStride + k]);
                    tile[m][2 * c] = fma(value.a, weight, tile[m][2 * c]);
                    tile[m][2 * c + 1] = fma(value.b, weight, tile[m][2 * c + 1]);
                }
            }
        }
#pragma GCC unroll 4
        for (int m = 0; m < Queries; ++m)
#pragma GCC unroll 16
            for (int c = 0; c < 2 * Chunks; ++c)
                store(accumulators + m * layer.values + d + c * kLanes, tile[m][c]);
    }
}

template <class T, int Queries>
static void add_gemv(const GemvBlock<T>& block, const Layer& layer, const float* weights,
                     const float* factors, float* accumulators) {
    constexpr int fit = kGemvAccumulators / (2 * Queries);
    constexpr int chunks = fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
    int width = layer.at.value_width;
    int together = width / (chunks * kChunk) * (chunks * kChunk);
    add_chunks<T, Queries, chunks>(block, layer, 0, together, weights, factors, accumulators);
    add_chunks<T, Queries, 1>(block, layer, together, layer.values, weights, factors, accumulators);
}

// Update the running softmax of one query vector at `position` with n keys: scores become weights,
// times the scales of the values. Return the factor of the accumulators. `drops_masked`: a masked
// key has weight 0 even if the row has seen no key yet; otherwise a later key cancels it.
template <bool drops_masked>
YAIE_INLINE float update_softmax(const Layer& layer, int n, const float* key_scales,
                                 const float* value_scales, int32_t first_position,
                                 int32_t position, float* scores, float* maximum, float* total) {
    int32_t window = layer.at.sliding_window;
    int32_t oldest = window > 0 ? position - window : -1;
    Int lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    Vec peak = splat(*maximum);
    for (int k = 0; k < n; k += kLanes) {
        Vec score = load(scores + k);
        if (key_scales) score *= load(key_scales + k);
        if (layer.softcap_log2 > 0) score = tanh(score) * layer.softcap_log2;
        Int key = lane + (first_position + k);
        Int seen = (key <= position) & (key > oldest) & (lane < n - k);
        score = seen ? score : splat(kMasked);
        store(scores + k, score);
        peak = max_lanes(peak, score);
    }
    float new_maximum = largest_of_lanes(peak);
    Vec sum{};
    for (int k = 0; k < n; k += kLanes) {
        Vec score = load(scores + k);
        Vec weight = exp2(score - new_maximum);
        if (drops_masked)
            weight = score <= splat(kMasked) ? Vec{} : weight;
        else
            weight = (lane < n - k) ? weight : Vec{};  // 0 beyond the block
        store(scores + k, value_scales ? weight * load(value_scales + k) : weight);
        sum += weight;
    }
    float factor = exp2(splat(*maximum - new_maximum))[0];
    *total = *total * factor + sum_of_lanes(sum);
    *maximum = new_maximum;
    return factor;
}

template <class T>
static float softmax_gemv(const GemvBlock<T>& block, const Layer& layer, int32_t first_position,
                          int32_t position, float* scores, float* maximum, float* total) {
    return update_softmax<false>(layer, block.n, block.key_scales, block.value_scales,
                                 first_position, position, scores, maximum, total);
}

// The query vectors of one work item and one KV head.
struct GemvState {
    float* queries;       // [queries, padded key width], scaled
    float* accumulators;  // [queries, padded value width]
    float maxima[kMaxGemvQueries], totals[kMaxGemvQueries];
};

template <class T, int Queries>
static void attend_gemv_block(GemvBlock<T>& block, const Layer& layer, GemvState& state, int first,
                              const int32_t* positions, int32_t first_position) {
    alignas(64) float scores[Queries * kScoreStride];
    float factors[Queries];
    score_gemv<T, Queries>(block, layer, state.queries + first * layer.keys, scores);
    for (int m = 0; m < Queries; ++m)
        factors[m] = softmax_gemv(block, layer, first_position, positions[first + m],
                                  scores + m * kScoreStride, &state.maxima[first + m],
                                  &state.totals[first + m]);
    add_gemv<T, Queries>(block, layer, scores, factors, state.accumulators + first * layer.values);
}

template <class T>
static void attend_gemv_queries(GemvBlock<T>& block, const Layer& layer, GemvState& state,
                                int num_queries, const int32_t* positions, int32_t first_position) {
    for (int first = 0; first < num_queries; first += 4) {
        switch (num_queries - first) {
            case 1:
                attend_gemv_block<T, 1>(block, layer, state, first, positions, first_position);
                break;
            case 2:
                attend_gemv_block<T, 2>(block, layer, state, first, positions, first_position);
                break;
            case 3:
                attend_gemv_block<T, 3>(block, layer, state, first, positions, first_position);
                break;
            default: attend_gemv_block<T, 4>(block, layer, state, first, positions, first_position);
        }
    }
}

template <class T>
static void attend_gemv(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                        int first_head, int end_head, Scratch& scratch) {
    const YaieLayer& at = layer.at;
    int heads = end_head - first_head;
    int num_queries = static_cast<int>(item.end_row - item.first_row) * layer.group;
    size_t state_bytes = padded(heads * sizeof(GemvState), 64);
    int64_t floats = static_cast<int64_t>(heads) * num_queries * (layer.keys + layer.values);
    char* memory = scratch.get(state_bytes + floats * sizeof(float));
    GemvState* states = reinterpret_cast<GemvState*>(memory);
    float* vectors = reinterpret_cast<float*>(memory + state_bytes);
    int32_t positions[kMaxGemvQueries];
    for (int i = 0; i < num_queries; ++i)
        positions[i] = static_cast<int32_t>(call.step->positions[item.first_row + i / layer.group]);
    for (int h = 0; h < heads; ++h) {
        GemvState& state = states[h];
        state.queries = vectors;
        state.accumulators = vectors + num_queries * layer.keys;
        vectors = state.accumulators + num_queries * layer.values;
        for (int i = 0; i < num_queries; ++i) {
            int64_t head = static_cast<int64_t>(first_head + h) * layer.group + i % layer.group;
            upcast_query<T>(layer, item.first_row + i / layer.group, head,
                            state.queries + i * layer.keys);
            state.maxima[i] = kMasked;
            state.totals[i] = 0;
        }
        for (int i = 0; i < num_queries * layer.values; i += kLanes)
            store(state.accumulators + i, Vec{});
    }
    constexpr int block_keys = static_cast<int>(kKeysInBlock);
    BlockScales<T> scales;
    for (int64_t key = 0; key < item.num_keys; key += block_keys) {
        const int64_t* slots = item.slots + key;
        int64_t left = item.num_keys - key;
        int n = static_cast<int>(min_of(left, block_keys));
        int next_n = static_cast<int>(min_of(left - n, block_keys));
        for (int h = 0; h < heads; ++h) {
            int head = first_head + h;
            GemvBlock<T> block(at, head, slots, n, scales,
                               prefetch_after<T>(at, first_head, end_head, head, slots, n, next_n));
            attend_gemv_queries(block, layer, states[h], num_queries, positions,
                                static_cast<int32_t>(item.first_position + key));
        }
    }
    for (int h = 0; h < heads; ++h)
        for (int i = 0; i < num_queries; ++i)
            finish_query<T>(call, layer, item, item.first_row + i / layer.group,
                            static_cast<int64_t>(first_head + h) * layer.group + i % layer.group,
                            states[h].accumulators + i * layer.values, states[h].maxima[i],
                            states[h].totals[i]);
}
