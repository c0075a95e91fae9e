// Attention of one row and head in plain loops, from FlashInfer's own parameter structures.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void yaie_note_launch(const char* name);  // of the fake CUDA runtime

namespace host {

// A softmax over scores in base 2, and the values that it weighs.
struct Softmax {
  float maximum = -INFINITY, total = 0;
  std::vector<float> output;

  explicit Softmax(int width) : output(width, 0.f) {}

  // Adds values of weight exp2(score); `read(d)` is their element d.
  template <typename Read>
  void add(float score, Read read) {
    if (score == -INFINITY) return;
    float above = std::max(maximum, score), before = std::exp2(maximum - above);
    float weight = std::exp2(score - above);
    total = total * before + weight;
    for (size_t d = 0; d < output.size(); ++d) output[d] = output[d] * before + weight * read(d);
    maximum = above;
  }

  // Writes 0 and -inf if nothing was added.
  template <typename Out>
  void write(Out* to, float* lse) const {
    for (size_t d = 0; d < output.size(); ++d) to[d] = Out(total ? output[d] / total : 0.f);
    if (lse) *lse = total ? maximum + std::log2(total) : -INFINITY;
  }
};

// The keys of one row: indices first..end of its request, without those before `oldest`.
struct Keys {
  int request, first, end, oldest;
};

template <bool SOFTCAP, typename Params>
Softmax attend(const Params& p, int width, int row, int head, Keys keys) {
  const auto& kv = p.paged_kv;
  int kv_head = head / (p.num_qo_heads / kv.num_heads), page_size = uint32_t(kv.page_size);
  const auto* query = p.q + size_t(row) * p.q_stride_n + size_t(head) * p.q_stride_h;
  Softmax result(width);
  for (int key = std::max(keys.first, keys.oldest); key < keys.end; ++key) {
    size_t page = kv.indices[kv.indptr[keys.request] + key / page_size];
    const auto* k = kv.k_data + kv.get_elem_offset(page, kv_head, key % page_size, 0);
    const auto* v = kv.v_data + kv.get_v_elem_offset(page, kv_head, key % page_size, 0);
    float score = 0;
    for (int d = 0; d < width; ++d) score += float(query[d]) * float(k[d]);
    score *= float(p.sm_scale);
    if (SOFTCAP) score = float(p.logits_soft_cap) * std::tanh(score / float(p.logits_soft_cap));
    result.add(score * float(M_LOG2E), [&](int d) { return float(v[d]); });
  }
  return result;
}

// Merges the partial results begin..end of one row and head.
template <typename Out>
Softmax merge(const Out* values, const float* lse, int begin, int end, int num_heads, int head,
              int width) {
  Softmax result(width);
  for (size_t i = begin; i < size_t(end); ++i) {
    const Out* from = values + (i * num_heads + head) * width;
    result.add(lse[i * num_heads + head], [&](int d) { return float(from[d]); });
  }
  return result;
}

}  // namespace host
