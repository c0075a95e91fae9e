// FlashInfer's FA2 prefill over a paged pool on the host; linked in place of its device kernels.
#include "host_attention.cuh"

#include "batch_prefill_config.inc"
#include <flashinfer/attention/mask.cuh>

namespace flashinfer {

template <bool SAME_STRIDES, uint32_t TILE, uint32_t WIDTH, uint32_t VALUE_WIDTH,
          PosEncodingMode ROTARY, bool FP16, MaskMode MASK, typename Variant, typename Params>
cudaError_t BatchPrefillWithPagedKVCacheDispatched(Params p, typename Params::DTypeO* partial,
                                                   float* partial_lse, bool, cudaStream_t) {
  if (MASK != MaskMode::kNone && MASK != MaskMode::kCausal) return cudaErrorNotSupported;
  const int heads = p.num_qo_heads, group = heads / p.paged_kv.num_heads;
  const int requests = p.paged_kv.batch_size;
  const bool splits = partial != nullptr;
  yaie_note_launch(MASK == MaskMode::kCausal ? "prefill causal" : "prefill full");
  for (uint32_t item = 0; item < p.padded_batch_size; ++item) {
    if (p.block_valid_mask && !p.block_valid_mask[item]) continue;
    int request = p.request_indices[item];
    if (request < 0 || request >= requests) return cudaErrorInvalidValue;
    int rows = p.get_qo_len(request), length = p.get_kv_len(request);
    int chunk = splits ? *p.kv_chunk_size_ptr : length;
    int chunks = splits ? std::max(1, (length + chunk - 1) / chunk) : 1;
    int tile = p.kv_tile_indices[item], first = splits ? tile * chunk : 0;
    // The query heads of a KV head are packed: a tile has TILE pairs of row and query head.
    for (int pair = p.qo_tile_indices[item] * TILE, last = pair + TILE; pair < last; ++pair) {
      int row = pair / group;
      if (row >= rows) break;
      int position = length - rows + row;  // of the row among the keys, aligned at the end
      int end = MASK == MaskMode::kCausal ? std::min(length, position + 1) : length;
      int oldest = USE_SLIDING_WINDOW && p.window_left >= 0 ? position - p.window_left : 0;
      host::Keys keys{request, first, std::min(end, first + chunk), oldest};
      size_t place = splits ? size_t(p.o_indptr[request]) + size_t(row) * chunks + tile
                            : size_t(p.q_indptr[request]) + row;
      for (int head = pair % group; head < heads; head += group) {
        size_t at = place * heads + head;
        host::attend<USE_LOGITS_SOFT_CAP>(p, WIDTH, p.q_indptr[request] + row, head, keys)
            .write((splits ? partial : p.o) + at * WIDTH,
                   splits ? partial_lse + at : (p.lse ? p.lse + at : nullptr));
      }
    }
  }
  if (!splits) return cudaSuccess;
  yaie_note_launch("prefill merge");
  uint32_t rows = p.total_num_rows ? *p.total_num_rows : p.max_total_num_rows;
  for (uint32_t row = 0; row < rows; ++row)
    for (int head = 0; head < heads; ++head) {
      size_t at = size_t(row) * heads + head;
      host::merge(partial, partial_lse, p.merge_indptr[row], p.merge_indptr[row + 1], heads, head,
                  WIDTH)
          .write(p.o + at * WIDTH, p.lse ? p.lse + at : nullptr);
    }
  return cudaSuccess;
}

template <uint32_t TILE, uint32_t WIDTH, uint32_t VALUE_WIDTH, PosEncodingMode ROTARY, bool FP16,
          MaskMode MASK, typename Variant, typename Params>
cudaError_t BatchPrefillWithRaggedKVCacheDispatched(Params, typename Params::DTypeO*, float*, bool,
                                                    cudaStream_t) {
  return cudaErrorNotSupported;  // the backend keeps all keys in the pool
}

#define VARIANT(MASK) \
  DefaultAttention<MASK == MaskMode::kCustom, USE_SLIDING_WINDOW, USE_LOGITS_SOFT_CAP, false>
#define PAGED(TILE, MASK)                                                                   \
  template cudaError_t                                                                      \
  BatchPrefillWithPagedKVCacheDispatched<true, TILE, HEAD_DIM_QK, HEAD_DIM_VO,              \
                                         POS_ENCODING_MODE, USE_FP16_QK_REDUCTION, MASK,    \
                                         VARIANT(MASK), PagedParams>(PagedParams, DTypeO*,  \
                                                                     float*, bool, cudaStream_t);
#define RAGGED(TILE, MASK)                                                                    \
  template cudaError_t                                                                        \
  BatchPrefillWithRaggedKVCacheDispatched<TILE, HEAD_DIM_QK, HEAD_DIM_VO, POS_ENCODING_MODE,  \
                                          USE_FP16_QK_REDUCTION, MASK, VARIANT(MASK),         \
                                          RaggedParams>(RaggedParams, DTypeO*, float*, bool,  \
                                                        cudaStream_t);
#define TILES(KIND, MASK) KIND(16, MASK) KIND(32, MASK) KIND(64, MASK) KIND(128, MASK)
#define MASKS(KIND)                                                       \
  TILES(KIND, MaskMode::kNone) TILES(KIND, MaskMode::kCausal)             \
  TILES(KIND, MaskMode::kCustom) TILES(KIND, MaskMode::kMultiItemScoring)
MASKS(PAGED)
MASKS(RAGGED)

}  // namespace flashinfer
