// The kernel library of YAIE, one translation unit: compiled in some seconds, by any g++ or clang++
// that knows C++17, without torch's or Python's headers. Called from yaie/kernels/library.py.
//
// The kernels are included once for each instruction set, under a pragma that lets the compiler use
// it, and the best one that the processor has is chosen at run time. Nothing from the standard
// library may be used in the .inl files: its functions would be compiled for one instruction set
// and then be shared with the others.

#include <cstring>

#include "abi.h"
#include "attention.h"
#include "decoder.h"
#include "pool.h"
#include "schedule.h"

#ifndef YAIE_SOURCE
#define YAIE_SOURCE "unknown"
#endif

#define YAIE_LANES 4
#define YAIE_TILE_ROWS 4
#if defined(__aarch64__)
#define YAIE_REGISTERS 32
#else
#define YAIE_REGISTERS 16
#endif
namespace yaie {
namespace portable {
#include "simd.inl"
#include "attention.inl"
#include "linear.inl"
#include "decoder.inl"
}  // namespace portable
}  // namespace yaie
#undef YAIE_LANES
#undef YAIE_TILE_ROWS
#undef YAIE_REGISTERS
#undef YAIE_INLINE

#if defined(__x86_64__)

#define YAIE_LANES 8
#define YAIE_TILE_ROWS 6
#define YAIE_REGISTERS 16
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace yaie {
namespace avx2 {
#include "simd.inl"
#include "attention.inl"
#include "linear.inl"
#include "decoder.inl"
}  // namespace avx2
}  // namespace yaie
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef YAIE_LANES
#undef YAIE_TILE_ROWS
#undef YAIE_REGISTERS
#undef YAIE_INLINE

#define YAIE_LANES 16
#define YAIE_TILE_ROWS 14
#define YAIE_REGISTERS 32
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma,prefer-vector-width=512")
#endif
namespace yaie {
namespace avx512 {
#include "simd.inl"
#include "attention.inl"
#include "linear.inl"
#include "decoder.inl"
}  // namespace avx512
}  // namespace yaie
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__

namespace yaie {
namespace {

struct InstructionSet {
    const char* name;
    bool (*available)();
    AttentionKernels (*attention)(int32_t dtype);
    int64_t chunk;  // widths are padded to it; outputs of a panel
    Task pack;      // index: a panel
    void (*linear)(Pool&, const YaieLinear&, const float*, int64_t, float*, int32_t, float);
    void (*decode)(Pool&, const YaieDecoder&, const YaieStep&, const YaieDecoderCall&,
                   DecoderSpace&, RunAttention);
};

bool always() { return true; }

// Best first.
const InstructionSet kInstructionSets[] = {
#if defined(__x86_64__)
    {"avx512",
     [] {
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
     },
     avx512::attention_kernels, avx512::kChunk,
     avx512::pack_task, avx512::whole_linear, avx512::run_decoder},
    {"avx2", [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); },
     avx2::attention_kernels, avx2::kChunk,
     avx2::pack_task, avx2::whole_linear, avx2::run_decoder},
#endif
    {"portable", always, portable::attention_kernels, portable::kChunk,
     portable::pack_task, portable::whole_linear, portable::run_decoder},
};

const InstructionSet* best() {
    for (const InstructionSet& set : kInstructionSets)
        if (set.available()) return &set;
    return nullptr;
}

const InstructionSet*& chosen() {
    static const InstructionSet* set = best();
    return set;
}

// Kept from call to call, under the lock of shared().
struct AttentionState {
    Schedule schedule;
    Scratch partials;
};

AttentionState& attention_state() {
    static AttentionState* state = new AttentionState;
    return *state;
}

void copy_rows(const YaieStep& step, const YaieWrite& write, int64_t first, int64_t end) {
    const char* rows = static_cast<const char*>(write.rows);
    char* pool = static_cast<char*>(write.pool);
    for (int64_t i = first; i < end; ++i) {
        const char* row = rows + step.written_rows[i] * write.row_stride * write.element_bytes;
        char* slot = pool + step.written_slots[i] * write.slot_stride * write.element_bytes;
        for (int64_t head = 0; head < write.num_heads; ++head)
            std::memcpy(slot + head * write.pool_head_stride * write.element_bytes,
                        row + head * write.head_stride * write.element_bytes, write.row_bytes);
    }
}

constexpr int64_t kRowsInWrite = 64;

struct WriteCall {
    const YaieStep* step;
    const YaieWrite* writes[2];
};

void write_task(void* context, int64_t index, Scratch&) {
    const WriteCall& call = *static_cast<const WriteCall*>(context);
    int64_t first = index / 2 * kRowsInWrite;
    int64_t end = std::min(first + kRowsInWrite, call.step->num_written);
    copy_rows(*call.step, *call.writes[index % 2], first, end);
}

void run_attention(Pool& pool, const YaieStep& step, const YaieLayer& layer) {
    AttentionKernels kernels = chosen()->attention(layer.dtype);
    AttentionState& state = attention_state();
    Schedule& schedule = state.schedule;
    schedule.make(step, layer, pool.threads());
    AttentionCall call{};
    call.step = &step;
    call.layer = &layer;
    call.schedule = &schedule;
    if (!schedule.merged_rows.empty()) {
        int64_t width = padded(layer.value_width, chosen()->chunk);
        int64_t floats = schedule.num_partials * (width + 2);
        float* memory = reinterpret_cast<float*>(state.partials.get(floats * sizeof(float)));
        call.partial_values = memory;
        call.partial_max = memory + schedule.num_partials * width;
        call.partial_sum = call.partial_max + schedule.num_partials;
    }
    pool.run(kernels.attend, &call, static_cast<int64_t>(schedule.tasks.size()));
    int64_t merged = static_cast<int64_t>(schedule.merged_rows.size());
    pool.run(kernels.merge, &call, (merged + kRowsInMerge - 1) / kRowsInMerge);
}

}  // namespace
}  // namespace yaie

extern "C" {

int32_t yaie_abi() { return YAIE_ABI; }

// A digest of the source files that this library was compiled from.
const char* yaie_source() { return YAIE_SOURCE; }

// The name of an instruction set, best first; null beyond the last.
const char* yaie_instruction_set(int32_t index) {
    constexpr int32_t count = sizeof yaie::kInstructionSets / sizeof yaie::kInstructionSets[0];
    return index >= 0 && index < count ? yaie::kInstructionSets[index].name : nullptr;
}

int32_t yaie_is_available(const char* name) {
    for (const auto& set : yaie::kInstructionSets)
        if (std::strcmp(set.name, name) == 0) return set.available() ? 1 : 0;
    return 0;
}

const char* yaie_chosen_instruction_set() { return yaie::chosen()->name; }

// 0 on success, 1 where this processor has no such instruction set.
int32_t yaie_choose_instruction_set(const char* name) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    for (const auto& set : yaie::kInstructionSets) {
        if (std::strcmp(set.name, name) != 0 || !set.available()) continue;
        yaie::chosen() = &set;
        return 0;
    }
    return 1;
}

// How many threads compute, the caller among them. They start with the first work.
void yaie_set_threads(int32_t count) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::shared().set_threads(count);
}

int32_t yaie_threads() {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    return yaie::shared().threads;
}

// Writes the step's new keys and values into their slots.
void yaie_write_kv(const YaieStep* step, const YaieWrite* keys, const YaieWrite* values) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::WriteCall call{step, {keys, values}};
    int64_t blocks = (step->num_written + yaie::kRowsInWrite - 1) / yaie::kRowsInWrite;
    if (blocks <= 1) {
        yaie::copy_rows(*step, *keys, 0, step->num_written);
        yaie::copy_rows(*step, *values, 0, step->num_written);
    } else {
        yaie::shared().get().run(yaie::write_task, &call, 2 * blocks);
    }
}

// Attention of every row of the step over its whole path, in one layer.
// 0 on success, 1 for an unknown dtype.
int32_t yaie_attention(const YaieStep* step, const YaieLayer* layer) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    if (!yaie::chosen()->attention(layer->dtype).attend) return 1;
    yaie::run_attention(yaie::shared().get(), *step, *layer);
    return 0;
}

// Outputs in a panel of packed weights, for the instruction set in use.
int64_t yaie_panel_outputs() { return yaie::chosen()->chunk; }

// Packs weights [outputs, inputs]; `to` has room for whole panels.
void yaie_pack(const void* from, void* to, int64_t outputs, int64_t inputs, int32_t kind,
               int32_t gated) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::PackCall call{from, to, inputs, outputs, kind, gated};
    int64_t panel = yaie::chosen()->chunk;
    yaie::shared().get().run(yaie::chosen()->pack, &call, (outputs + panel - 1) / panel);
}

// One linear layer: y [rows, outputs] from x [rows, inputs]; `store` is a YaieStore.
void yaie_linear(const YaieLinear* linear, const float* x, int64_t rows, float* y, int32_t store,
                 float factor) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->linear(yaie::shared().get(), *linear, x, rows, y, store, factor);
}

// A whole step: from token ids to logits; keys and values are written on the way.
void yaie_decode(const YaieDecoder* decoder, const YaieStep* step, const YaieDecoderCall* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    static yaie::DecoderSpace* space = new yaie::DecoderSpace;
    yaie::chosen()->decode(yaie::shared().get(), *decoder, *step, *call, *space,
                           yaie::run_attention);
}
}
