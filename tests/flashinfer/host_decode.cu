// FlashInfer's batched decode on the host; linked before the object of its device kernel.
#include "host_attention.cuh"

#include "batch_decode_config.inc"

namespace flashinfer {

template <uint32_t WIDTH, PosEncodingMode ROTARY, typename Variant, typename Params>
cudaError_t BatchDecodeWithPagedKVCacheDispatched(Params p, typename Params::DTypeO* partial,
                                                  float* partial_lse, bool, cudaStream_t) {
  const int heads = p.num_qo_heads, requests = p.paged_kv.batch_size;
  const bool splits = partial != nullptr;
  yaie_note_launch("decode");
  for (uint32_t item = 0; item < p.padded_batch_size; ++item) {
    if (p.block_valid_mask && !p.block_valid_mask[item]) continue;
    int request = p.request_indices[item];
    if (request < 0 || request >= requests) return cudaErrorInvalidValue;
    int length = p.get_kv_len(request), chunk = splits ? *p.kv_chunk_size_ptr : length;
    int first = splits ? p.kv_tile_indices[item] * chunk : 0;
    int oldest = USE_SLIDING_WINDOW && p.window_left >= 0 ? length - 1 - p.window_left : 0;
    host::Keys keys{request, first, std::min(length, first + chunk), oldest};
    size_t place = splits ? item : request;
    for (int head = 0; head < heads; ++head) {
      size_t at = place * heads + head;
      host::attend<USE_LOGITS_SOFT_CAP>(p, WIDTH, request, head, keys)
          .write((splits ? partial : p.o) + at * WIDTH,
                 splits ? partial_lse + at : (p.lse ? p.lse + at : nullptr));
    }
  }
  if (!splits) return cudaSuccess;
  yaie_note_launch("decode merge");
  for (int request = 0; request < requests; ++request)
    for (int head = 0; head < heads; ++head) {
      size_t at = size_t(request) * heads + head;
      host::merge(partial, partial_lse, p.o_indptr[request], p.o_indptr[request + 1], heads, head,
                  WIDTH)
          .write(p.o + at * WIDTH, p.lse ? p.lse + at : nullptr);
    }
  return cudaSuccess;
}

template cudaError_t BatchDecodeWithPagedKVCacheDispatched<
    HEAD_DIM_QK, POS_ENCODING_MODE,
    DefaultAttention<false, USE_SLIDING_WINDOW, USE_LOGITS_SOFT_CAP, false>, Params>(
    Params, DTypeO*, float*, bool, cudaStream_t);

}  // namespace flashinfer
