// The attention kernels. Needs: simd.inl, tiles.inl, attention.h, memory.h.
//
// A work item's keys are read in blocks, with a running maximum and sum for each query vector
// (online softmax) and fp32 accumulators. Types of inner loops:
// - GEMV-like (attention_gemv.inl): lanes run along the head, for few query vectors.
// - GEMM-like (attention_gemm.inl): lanes run along the query vectors. Keys and values are upcast
//   once and broadcast, without transposes and horizontal steps of the softmax.
// - GEMM-like over an int8 pool (attention_gemm_int8.inl), if the processor multiplies bytes.
// - tiles (attention_tiles.inl), if the processor multiplies bf16, in tiles or in vectors. For bf16
//   and int8 pools with heads that are multiples of a tile they replace both GEMM-like loops, and
//   the GEMV-like loop from kMinTileQueries query vectors on.
// T is the pool's element type, and determines the order within chunks; queries and output may have
// another type. The scales of an int8 pool multiply scores and weights, or dequantize keys and
// values.

constexpr float kLog2e = 1.4426950408889634f;
constexpr int64_t kMaxExactWidth =
    256;  // elements of an int8 head: float32 is exact for its products

struct Layer {
    const YaieLayer& at;
    int group;           // query heads per KV head
    int keys, values;    // padded widths
    float query_scale;   // scales scores to log2, or to the argument of the softcap's tanh
    float softcap_log2;  // 0: none

    explicit Layer(const YaieLayer& layer)
        : at(layer),
          group(layer.num_heads / layer.num_kv_heads),
          keys(static_cast<int>(padded(layer.key_width, kChunk))),
          values(static_cast<int>(padded(layer.value_width, kChunk))),
          query_scale(layer.softcap > 0 ? layer.scale / layer.softcap : layer.scale * kLog2e),
          softcap_log2(layer.softcap > 0 ? layer.softcap * kLog2e : 0.0f) {}
};

// Upcast a row to padded fp32, times `factor`, in the chunk order of T.
template <class T, class From>
YAIE_INLINE void upcast_row(const From* row, int width, float* to, Vec factor) {
    int whole = width / kChunk * kChunk;
    for (int d = 0; d < whole; d += kChunk) {
        Pair pair = reorder<From, T>(load_chunk(row + d));
        store(to + d, pair.a * factor);
        store(to + d + kLanes, pair.b * factor);
    }
    if (whole < width) {
        Pair pair = reorder<From, T>(load_tail(row + whole, width - whole));
        store(to + whole, pair.a * factor);
        store(to + whole + kLanes, pair.b * factor);
    }
}

// Upcast a query vector and scale it.
template <class T>
static void upcast_query(const Layer& layer, int64_t row, int64_t head, float* to) {
    const void* queries = layer.at.queries;
    int64_t first = row * layer.at.query_row_stride + head * layer.at.query_head_stride;
    int width = layer.at.key_width;
    Vec factor = splat(layer.query_scale);
    if (layer.at.dtype == YAIE_FLOAT32)
        upcast_row<T>(static_cast<const float*>(queries) + first, width, to, factor);
    else if (layer.at.dtype == YAIE_BFLOAT16)
        upcast_row<T>(static_cast<const Bf16*>(queries) + first, width, to, factor);
    else
        upcast_row<T>(static_cast<const Fp16*>(queries) + first, width, to, factor);
}

// Round a padded row in the chunk order of T to an output row.
template <class T, bool non_temporal = false, class To>
YAIE_INLINE void round_output_row(const float* from, int width, To* to, Vec factor) {
    int whole = width / kChunk * kChunk;
    for (int d = 0; d < width; d += kChunk) {
        Pair accumulators{load(from + d) * factor, load(from + d + kLanes) * factor};
        accumulators = reorder<T, To>(accumulators);
        if constexpr (non_temporal) {  // chunks are whole
            store_non_temporal(to + d, accumulators.a);
            store_non_temporal(to + d + kLanes, accumulators.b);
        } else if (d < whole)
            store_chunk(to + d, accumulators);
        else
            store_tail(to + d, accumulators, width - d);
    }
}

template <class T>
static void write_rounded(const AttentionCall& call, int64_t row, int64_t first, int width,
                          const float* accumulators, Vec factor);
static void attend_gemm_int8(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                             int kv_head, Scratch& scratch);
template <class T>
static void attend_tiles(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                         int first_head, int end_head, Scratch& scratch);

#ifdef YAIE_BF16
// Write whole chunks of an input row of the next linear layer, from element `first` on.
template <class T>
static void write_rounded(const AttentionCall& call, int64_t row, int64_t first, int width,
                          const float* accumulators, Vec factor) {
    char* to = call.rounded.row(row) + first / kChunk * call.rounded.step_stride;
    for (int d = 0; d < width; d += kChunk, to += call.rounded.step_stride) {
        Pair v = reorder<T, Bf16>(
            Pair{load(accumulators + d) * factor, load(accumulators + d + kLanes) * factor});
        Bf16 chunk[kChunk];
        store_chunk(chunk, v);
        store_cache_line(to, chunk, call.large_output);
    }
}
#endif

// Divide the accumulators of one row (padded, chunk order) by the total weight and write the
// output.
template <class T>
static void write_output(const AttentionCall& call, const Layer& layer, int64_t row, int64_t head,
                         const float* accumulators, float maximum, float sum) {
    if (layer.at.sinks) {
        Vec beyond = splat(layer.at.sinks[head] * kLog2e - maximum);
        sum += exp2(min_lanes(beyond, splat(126.0f)))[0];
    }
    Vec factor = splat(1.0f / sum);
    int width = layer.at.value_width;
    if constexpr (kHasBf16)
        if (call.rounded.bytes)
            return write_rounded<T>(call, row, head * width, width, accumulators, factor);
    void* output = layer.at.output;
    int64_t first = row * layer.at.output_row_stride + head * layer.at.output_head_stride;
    if (layer.at.dtype == YAIE_FLOAT32 && call.large_output)
        round_output_row<T, true>(accumulators, width, static_cast<float*>(output) + first, factor);
    else if (layer.at.dtype == YAIE_FLOAT32)
        round_output_row<T>(accumulators, width, static_cast<float*>(output) + first, factor);
    else if (layer.at.dtype == YAIE_BFLOAT16)
        round_output_row<T>(accumulators, width, static_cast<Bf16*>(output) + first, factor);
    else
        round_output_row<T>(accumulators, width, static_cast<Fp16*>(output) + first, factor);
}

// Write a finished (row, head) of a work item to the output or to the partial results.
template <class T>
static void finish_query(const AttentionCall& call, const Layer& layer, const WorkItem& item,
                         int64_t row, int64_t head, const float* accumulators, float maximum,
                         float sum) {
    if (!call.schedule->is_merged(row)) {
        write_output<T>(call, layer, row, head, accumulators, maximum, sum);
        return;
    }
    int64_t rows = item.end_row - item.first_row;
    int64_t place = item.partial + head * rows + (row - item.first_row);
    float* to = call.partial_values + place * layer.values;
    if (call.large_partials)
        for (int d = 0; d < layer.values; d += kLanes)
            store_non_temporal(to + d, load(accumulators + d));
    else
        for (int d = 0; d < layer.values; d += kLanes) store(to + d, load(accumulators + d));
    call.partial_max[place] = maximum;
    call.partial_sum[place] = sum;
}

#include "write.inl"
#include "attention_prefetch.inl"
#include "attention_gemv.inl"
#include "attention_batch_invariant.inl"
#include "attention_gemm.inl"
#ifdef YAIE_VNNI
#include "attention_gemm_int8.inl"
#endif
#ifdef YAIE_BF16
#include "attention_tiles.inl"
#endif

// True if the tiles kernels can serve the layer.
static bool has_tiles(const YaieLayer& layer) {
    return kHasBf16 && (layer.pool_dtype == YAIE_BFLOAT16 || layer.pool_dtype == YAIE_INT8) &&
           layer.key_width % kTileDepth == 0 && layer.value_width % kTileDepth == 0 &&
           layer.scale > 0;
}

// True if tiles read a pool of T; see has_tiles.
template <class T>
constexpr bool kReadByTiles = false;
template <>
constexpr bool kReadByTiles<Bf16> = kHasBf16;
template <>
constexpr bool kReadByTiles<Int8> = kHasBf16;

template <class T>
static void attend_task(void* context, int64_t index, Scratch& scratch) {
    const AttentionCall& call = *static_cast<const AttentionCall*>(context);
    const Work& work = call.schedule->tasks[call.first_task + index];
    const WorkItem& item = call.schedule->items[work.item];
    Layer layer(*call.layer);
    if (call.step->exact) {
        attend_invariant<T>(call, layer, item, work.first_head, work.end_head, scratch);
    } else if (item.loops == Loops::gemv) {
        attend_gemv<T>(call, layer, item, work.first_head, work.end_head, scratch);
    } else if (item.loops == Loops::tiles) {
        if constexpr (kReadByTiles<T>)
            attend_tiles<T>(call, layer, item, work.first_head, work.end_head, scratch);
    } else {
        for (int head = work.first_head; head < work.end_head; ++head) {
            if constexpr (kHasVnni)
                if (call.layer->pool_dtype == YAIE_INT8 && layer.keys <= kMaxExactWidth) {
                    attend_gemm_int8(call, layer, item, head, scratch);
                    continue;
                }
            attend_gemm<T>(call, layer, item, head, scratch);
        }
    }
    if (call.large_partials || call.large_output) fence_non_temporal();
}

// Merge the partial results of a row by log-sum-exp.
template <class T>
static void merge_task(void* context, int64_t index, Scratch& scratch) {
    const AttentionCall& call = *static_cast<const AttentionCall*>(context);
    const Schedule& schedule = *call.schedule;
    Layer layer(*call.layer);
    float* accumulators = reinterpret_cast<float*>(scratch.get(layer.values * sizeof(float)));
    if (call.step->exact) {
        merge_invariant<T>(call, layer, index, accumulators);
        if (call.large_output) fence_non_temporal();
        return;
    }
    int64_t end = static_cast<int64_t>(schedule.merged_rows.size());
    if ((index + 1) * kRowsInMerge < end) end = (index + 1) * kRowsInMerge;
    for (int64_t i = index * kRowsInMerge; i < end; ++i) {
        int64_t row = schedule.merged_rows[i];
        const int32_t* items = schedule.items_of_row.data() + schedule.row_offsets[row];
        int count = schedule.row_offsets[row + 1] - schedule.row_offsets[row];
        for (int64_t head = 0; head < layer.at.num_heads; ++head) {
            float maximum = kMasked, sum = 0;
            for (int p = 0; p < count; ++p) {
                const WorkItem& item = schedule.items[items[p]];
                int64_t rows = item.end_row - item.first_row;
                int64_t place = item.partial + head * rows + (row - item.first_row);
                float found = call.partial_max[place];
                float larger = found > maximum ? found : maximum;
                Vec old_factor = exp2(splat(maximum - larger));
                Vec factor = exp2(splat(found - larger));
                if (p == 0) old_factor = Vec{};
                const float* from = call.partial_values + place * layer.values;
                for (int d = 0; d < layer.values; d += kLanes) {
                    Vec old = p == 0 ? Vec{} : load(accumulators + d);
                    store(accumulators + d, old * old_factor + load(from + d) * factor);
                }
                sum = sum * old_factor[0] + call.partial_sum[place] * factor[0];
                maximum = larger;
            }
            write_output<T>(call, layer, row, head, accumulators, maximum, sum);
        }
    }
    if (call.large_output) fence_non_temporal();
}

template <class T>
static AttentionKernels attention_kernels_for() {
    return {attend_task<T>, merge_task<T>, write_task};
}

static AttentionKernels attention_kernels(int32_t pool_dtype) {
    switch (pool_dtype) {
        case YAIE_FLOAT32: return attention_kernels_for<float>();
        case YAIE_BFLOAT16: return attention_kernels_for<Bf16>();
        case YAIE_FLOAT16: return attention_kernels_for<Fp16>();
        case YAIE_INT8: return attention_kernels_for<Int8>();
    }
    return {nullptr, nullptr, nullptr};
}
