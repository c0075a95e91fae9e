// The attention kernels: included once for each instruction set, after simd.inl.
//
// A piece's keys are read in blocks, with a running maximum and sum for each query vector (online
// softmax) and fp32 sums. Forms of the inner loops:
// - wide (attention_wide.inl): lanes run along the query vectors. Keys and values are widened once to
//   fp32 and broadcast, so nothing is transposed and softmax needs no horizontal step.
// - wide over an int8 pool (attention_bytes.inl), where the processor multiplies bytes.
// - tiles (attention_tiles.inl), where the processor multiplies bf16 numbers, in tiles or in vectors: instead
//   of both wide ones, and from kLeastTileLanes query vectors on of the narrow one, over bf16 and int8 pools
//   with heads that are multiples of a tile.
// - narrow (attention_narrow.inl): lanes run along the head, for few query vectors.
// T is what the pool holds, and gives the order within chunks; queries and output may be of another
// type. The scales of an int8 pool multiply scores and weights, or keys and values as they are widened.

constexpr float kLog2e = 1.4426950408889634f;

struct Layer {
    const YaieLayer& at;
    int group;           // query heads per KV head
    int keys, values;    // padded widths
    float query_scale;   // brings scores to log2, or to the argument of the softcap's tanh
    float softcap_log2;  // 0: none

    explicit Layer(const YaieLayer& layer)
        : at(layer),
          group(layer.num_heads / layer.num_kv_heads),
          keys(static_cast<int>(padded(layer.key_width, kChunk))),
          values(static_cast<int>(padded(layer.value_width, kChunk))),
          query_scale(layer.softcap > 0 ? layer.scale / layer.softcap : layer.scale * kLog2e),
          softcap_log2(layer.softcap > 0 ? layer.softcap * kLog2e : 0.0f) {}
};

// A row of elements as padded fp32, times `factor`, in the chunk order of T.
template <class T, class From>
YAIE_INLINE void widen_row(const From* row, int width, float* to, Vec factor) {
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

// A query vector, scaled.
template <class T>
static void widen_query(const Layer& layer, int64_t row, int64_t head, float* to) {
    const void* queries = layer.at.queries;
    int64_t first = row * layer.at.query_row_stride + head * layer.at.query_head_stride;
    int width = layer.at.key_width;
    Vec factor = splat(layer.query_scale);
    if (layer.at.dtype == YAIE_FLOAT32)
        widen_row<T>(static_cast<const float*>(queries) + first, width, to, factor);
    else if (layer.at.dtype == YAIE_BFLOAT16)
        widen_row<T>(static_cast<const Bf16*>(queries) + first, width, to, factor);
    else
        widen_row<T>(static_cast<const Fp16*>(queries) + first, width, to, factor);
}

// `from` is padded and in the chunk order of T.
template <class T, bool past_caches = false, class To>
YAIE_INLINE void narrow_sums(const float* from, int width, To* to, Vec factor) {
    int whole = width / kChunk * kChunk;
    for (int d = 0; d < width; d += kChunk) {
        Pair sums{load(from + d) * factor, load(from + d + kLanes) * factor};
        sums = reorder<T, To>(sums);
        if constexpr (past_caches) {  // chunks are whole
            store_past_caches(to + d, sums.a);
            store_past_caches(to + d + kLanes, sums.b);
        } else if (d < whole)
            store_chunk(to + d, sums);
        else
            store_tail(to + d, sums, width - d);
    }
}

#ifdef YAIE_BF16
// Whole chunks of a row that a linear layer reads next, from its number `first` on.
template <class T>
static void write_rounded(const AttentionCall& call, int64_t row, int64_t first, int width,
                          const float* sums, Vec factor) {
    char* to = call.rounded.row(row) + first / kChunk * call.rounded.step_stride;
    for (int d = 0; d < width; d += kChunk, to += call.rounded.step_stride) {
        Pair v = reorder<T, Bf16>(Pair{load(sums + d) * factor, load(sums + d + kLanes) * factor});
        Bf16 chunk[kChunk];
        store_chunk(chunk, v);
        put_line(to, chunk, call.large_output);
    }
}
#endif

// Divides one row's sums (padded, chunk order) by the total weight and writes them as output.
template <class T>
static void write_output(const AttentionCall& call, const Layer& layer, int64_t row, int64_t head,
                         const float* sums, float maximum, float sum) {
    if (layer.at.sinks) {
        Vec beyond = splat(layer.at.sinks[head] * kLog2e - maximum);
        sum += exp2(smaller(beyond, splat(126.0f)))[0];
    }
    Vec factor = splat(1.0f / sum);
    int width = layer.at.value_width;
#ifdef YAIE_BF16
    if (call.rounded.bytes) return write_rounded<T>(call, row, head * width, width, sums, factor);
#endif
    void* output = layer.at.output;
    int64_t first = row * layer.at.output_row_stride + head * layer.at.output_head_stride;
    if (layer.at.dtype == YAIE_FLOAT32 && call.large_output)
        narrow_sums<T, true>(sums, width, static_cast<float*>(output) + first, factor);
    else if (layer.at.dtype == YAIE_FLOAT32)
        narrow_sums<T>(sums, width, static_cast<float*>(output) + first, factor);
    else if (layer.at.dtype == YAIE_BFLOAT16)
        narrow_sums<T>(sums, width, static_cast<Bf16*>(output) + first, factor);
    else
        narrow_sums<T>(sums, width, static_cast<Fp16*>(output) + first, factor);
}

// Where a finished (row, head) of a piece goes: the output, or the partial results.
template <class T>
static void finish_lane(const AttentionCall& call, const Layer& layer, const Piece& piece,
                        int64_t row, int64_t head, const float* sums, float maximum, float sum) {
    if (!call.schedule->is_merged(row)) {
        write_output<T>(call, layer, row, head, sums, maximum, sum);
        return;
    }
    int64_t rows = piece.end_row - piece.first_row;
    int64_t place = piece.partial + head * rows + (row - piece.first_row);
    float* to = call.partial_values + place * layer.values;
    if (call.large_partials)
        for (int d = 0; d < layer.values; d += kLanes) store_past_caches(to + d, load(sums + d));
    else
        for (int d = 0; d < layer.values; d += kLanes) store(to + d, load(sums + d));
    call.partial_max[place] = maximum;
    call.partial_sum[place] = sum;
}

#include "write.inl"
#include "attention_prefetch.inl"
#include "attention_narrow.inl"
#include "attention_exact.inl"
#include "attention_wide.inl"
#ifdef YAIE_VNNI
#include "attention_bytes.inl"
#endif
#ifdef YAIE_BF16
#include "attention_tiles.inl"
#endif

// Whether many query vectors of a layer meet keys laid out in tiles.
static bool has_tiles(const YaieLayer& layer) {
#ifdef YAIE_BF16
    return (layer.pool_dtype == YAIE_BFLOAT16 || layer.pool_dtype == YAIE_INT8) &&
           layer.key_width % kTileDepth == 0 && layer.value_width % kTileDepth == 0 &&
           layer.scale > 0;
#else
    (void)layer;
    return false;
#endif
}

// Whether tiles read a pool of T; see has_tiles.
template <class T>
constexpr bool kReadByTiles = false;
#ifdef YAIE_BF16
template <>
constexpr bool kReadByTiles<Bf16> = true;
template <>
constexpr bool kReadByTiles<Int8> = true;
#endif

template <class T>
static void attend_task(void* context, int64_t index, Scratch& scratch) {
    const AttentionCall& call = *static_cast<const AttentionCall*>(context);
    const Work& work = call.schedule->tasks[call.first_task + index];
    const Piece& piece = call.schedule->pieces[work.piece];
    Layer layer(*call.layer);
    if (call.step->exact) {
        attend_exact<T>(call, layer, piece, work.first_head, work.end_head, scratch);
    } else if (piece.form == Form::narrow) {
        attend_narrow<T>(call, layer, piece, work.first_head, work.end_head, scratch);
    } else if (piece.form == Form::tiles) {
#ifdef YAIE_BF16
        if constexpr (kReadByTiles<T>)
            attend_tiles<T>(call, layer, piece, work.first_head, work.end_head, scratch);
#endif
    } else {
        for (int head = work.first_head; head < work.end_head; ++head) {
#ifdef YAIE_VNNI
            if (call.layer->pool_dtype == YAIE_INT8 && layer.keys <= kWidestSum) {
                attend_wide_bytes(call, layer, piece, head, scratch);
                continue;
            }
#endif
            attend_wide<T>(call, layer, piece, head, scratch);
        }
    }
    if (call.large_partials || call.large_output) finish_past_caches();
}

// Merges what several pieces found for a row, by log-sum-exp.
template <class T>
static void merge_task(void* context, int64_t index, Scratch& scratch) {
    const AttentionCall& call = *static_cast<const AttentionCall*>(context);
    const Schedule& schedule = *call.schedule;
    Layer layer(*call.layer);
    float* sums = reinterpret_cast<float*>(scratch.get(layer.values * sizeof(float)));
    if (call.step->exact) {
        merge_exact<T>(call, layer, index, sums);
        if (call.large_output) finish_past_caches();
        return;
    }
    int64_t end = static_cast<int64_t>(schedule.merged_rows.size());
    if ((index + 1) * kRowsInMerge < end) end = (index + 1) * kRowsInMerge;
    for (int64_t i = index * kRowsInMerge; i < end; ++i) {
        int64_t row = schedule.merged_rows[i];
        const int32_t* pieces = schedule.pieces_of_row.data() + schedule.row_offsets[row];
        int count = schedule.row_offsets[row + 1] - schedule.row_offsets[row];
        for (int64_t head = 0; head < layer.at.num_heads; ++head) {
            float maximum = kHidden, sum = 0;
            for (int p = 0; p < count; ++p) {
                const Piece& piece = schedule.pieces[pieces[p]];
                int64_t rows = piece.end_row - piece.first_row;
                int64_t place = piece.partial + head * rows + (row - piece.first_row);
                float found = call.partial_max[place];
                float most = found > maximum ? found : maximum;
                Vec old_factor = exp2(splat(maximum - most));
                Vec factor = exp2(splat(found - most));
                if (p == 0) old_factor = Vec{};
                const float* from = call.partial_values + place * layer.values;
                for (int d = 0; d < layer.values; d += kLanes) {
                    Vec old = p == 0 ? Vec{} : load(sums + d);
                    store(sums + d, old * old_factor + load(from + d) * factor);
                }
                sum = sum * old_factor[0] + call.partial_sum[place] * factor[0];
                maximum = most;
            }
            write_output<T>(call, layer, row, head, sums, maximum, sum);
        }
    }
    if (call.large_output) finish_past_caches();
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
