// YAIE's kernel library, one translation unit: it compiles in seconds with any g++ or clang++ for
// C++17, without the headers of torch and Python. Called from yaie/kernels/library.py.
//
// The kernels are included once for each instruction set (set.inl), under a pragma that enables it,
// and the best set of the processor is chosen at run time. The .inl files use no function of the
// standard library: it would be compiled for one instruction set and then shared with the others.

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "abi.h"
#include "attention.h"
#include "block_forms.h"
#include "decoder.h"
#include "experts.h"
#include "layout.h"
#include "memory.h"
#include "pool.h"
#include "schedule.h"

#ifndef YAIE_SOURCE
#define YAIE_SOURCE "unknown"
#endif

#define YAIE_STRING(...) #__VA_ARGS__
#define YAIE_PRAGMA(...) _Pragma(YAIE_STRING(__VA_ARGS__))

// A library compiled on first use has only the set of its machine: build.py defines
// YAIE_CHOSEN_SETS and YAIE_WITH_<name>. Otherwise it has all.
#define YAIE_WITH(set) (!YAIE_CHOSEN_SETS || YAIE_WITH_##set)

// To add a set: a block here, a row in kInstructionSets, and a line in instruction_sets.py.

#if YAIE_WITH(portable)
#define YAIE_NAMESPACE portable
#define YAIE_LANES 4
#define YAIE_TILE_ROWS 4
#ifdef __aarch64__
#define YAIE_REGISTERS 32
#else
#define YAIE_REGISTERS 16
#endif
#include "set.inl"
#endif

#if defined(__x86_64__) && YAIE_WITH(avx2)
#define YAIE_NAMESPACE avx2
#define YAIE_TARGET "avx2,fma,f16c"
#define YAIE_LANES 8
#define YAIE_TILE_ROWS 6
#define YAIE_REGISTERS 16
#include "set.inl"
#endif

#if defined(__x86_64__) && YAIE_WITH(avx512)
#define YAIE_NAMESPACE avx512
#define YAIE_TARGET "avx512f,avx512bw,avx512vl,avx512dq,fma"
#define YAIE_LANES 16
#define YAIE_TILE_ROWS 14
#define YAIE_REGISTERS 32
#include "set.inl"
#endif

#if defined(__x86_64__) && YAIE_WITH(vnni)
#define YAIE_NAMESPACE vnni
#define YAIE_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma"
#define YAIE_LANES 16
#define YAIE_TILE_ROWS 14
#define YAIE_REGISTERS 32
#define YAIE_VNNI
#include "set.inl"
#endif

#if defined(__x86_64__) && YAIE_WITH(bf16)
#define YAIE_NAMESPACE bf16
#define YAIE_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16,fma"
#define YAIE_LANES 16
#define YAIE_TILE_ROWS 14
#define YAIE_REGISTERS 32
#define YAIE_VNNI
#define YAIE_BF16
#include "set.inl"
#endif

#if defined(__x86_64__) && YAIE_WITH(amx)
#define YAIE_NAMESPACE amx
#define YAIE_TARGET \
    "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16,amx-tile,amx-bf16,amx-int8,fma"
#define YAIE_LANES 16
#define YAIE_TILE_ROWS 14
#define YAIE_REGISTERS 32
#define YAIE_VNNI
#define YAIE_BF16
#define YAIE_AMX
#include "set.inl"
#endif

#include "processor.h"

namespace yaie {
namespace {

struct InstructionSet {
    const char* name;
    bool (*available)();
    AttentionKernels (*attention)(int32_t pool_dtype);
    bool (*has_tiles)(const YaieLayer&);
    int64_t chunk;  // widths are padded to it; outputs of a panel
    Task pack;      // index: a panel
    Task pack_quantized;
    Task round;       // index: kRowsInRounding outputs
    Task dequantize;  // index: a row of GGUF blocks
    Task unpack;      // index: an output
    void (*linear)(Pool&, const YaieLinear&, const float*, int64_t, float*, int32_t, float);
    void (*decode)(Pool&, const YaieDecoder&, const YaieStep&, const YaieDecoderCall&,
                   DecoderBuffers&, RunAttention);
    void (*experts)(Pool&, const YaieExperts&, const YaieExpertsCall&, ExpertBuffers&);
    void (*convolution)(Pool&, const YaieConvolution&);
    void (*recurrence)(Pool&, const YaieRecurrence&);
    void (*gated_norm)(Pool&, const YaieGatedNorm&);
    void (*mix)(Pool&, const YaieMixer&, const YaieMixerCall&, DecoderBuffers&);
    Task best;    // index: a row of logits
    Task sample;  // index: a draw
};

#define YAIE_ROW(set, condition)     \
    {#set,                           \
     [] { return bool(condition); }, \
     set::attention_kernels,         \
     set::has_tiles,                 \
     set::kChunk,                    \
     set::pack_task,                 \
     set::pack_quantized_task,       \
     set::round_task,                \
     set::dequantize_task,           \
     set::unpack_task,               \
     set::whole_linear,              \
     set::run_decoder,               \
     set::run_experts,               \
     set::run_convolution,           \
     set::run_recurrence,            \
     set::run_gated_norm,            \
     set::run_mixer,                 \
     set::best_task,                 \
     set::sample_task}

#define YAIE_HAS_AVX512                                                         \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && \
     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))

#define YAIE_HAS_BF16                                           \
    (YAIE_HAS_AVX512 && __builtin_cpu_supports("avx512vnni") && \
     __builtin_cpu_supports("avx512bf16"))
#define YAIE_HAS_AMX (YAIE_HAS_BF16 && has_tile_registers() && may_use_tiles())

// Best first, except for ranks_after_next.
const InstructionSet kInstructionSets[] = {
#if defined(__x86_64__) && YAIE_WITH(amx)
    YAIE_ROW(amx, YAIE_HAS_AMX),
#endif
#if defined(__x86_64__) && YAIE_WITH(bf16)
    YAIE_ROW(bf16, YAIE_HAS_BF16),
#endif
#if defined(__x86_64__) && YAIE_WITH(vnni)
    YAIE_ROW(vnni, YAIE_HAS_AVX512&& __builtin_cpu_supports("avx512vnni")),
#endif
#if defined(__x86_64__) && YAIE_WITH(avx512)
    YAIE_ROW(avx512, YAIE_HAS_AVX512),
#endif
#if defined(__x86_64__) && YAIE_WITH(avx2)
    YAIE_ROW(avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()),
#endif
#if YAIE_WITH(portable)
    YAIE_ROW(portable, true),
#endif
};

const InstructionSet* best() {
    const InstructionSet* passed_over = nullptr;
    for (const InstructionSet& set : kInstructionSets) {
        if (!set.available()) continue;
        if (!ranks_after_next(set.name)) return &set;
        passed_over = &set;
    }
    return passed_over;
}

const InstructionSet*& chosen() {
    static const InstructionSet* set = best();
    return set;
}

// Guarded by the lock of `shared`.
DecoderBuffers& decoder_buffers() {
    static DecoderBuffers* buffers = new DecoderBuffers;
    return *buffers;
}

#include "run_attention.inl"

}  // namespace
}  // namespace yaie

#pragma GCC visibility push(default)
extern "C" {

// Digest of the source files of this library.
const char* yaie_source() { return YAIE_SOURCE; }

// Sizes, offsets and types of the structures of abi.h: see layout.h.
const char* yaie_layout() {
    static const std::string text = yaie::describe_layout();
    return text.c_str();
}

// Name of an instruction set, best first; null beyond the last.
const char* yaie_instruction_set(int32_t index) {
    constexpr int32_t count = sizeof yaie::kInstructionSets / sizeof yaie::kInstructionSets[0];
    return index >= 0 && index < count ? yaie::kInstructionSets[index].name : nullptr;
}

int32_t yaie_is_available(const char* name) {
    for (const auto& set : yaie::kInstructionSets)
        if (std::strcmp(set.name, name) == 0) return set.available() ? 1 : 0;
    return 0;
}

// Null if this processor supports none of the library's sets: then no other function may be called.
const char* yaie_chosen_instruction_set() {
    return yaie::chosen() ? yaie::chosen()->name : nullptr;
}

// Return 0 on success, 1 if this processor lacks the set.
int32_t yaie_choose_instruction_set(const char* name) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    for (const auto& set : yaie::kInstructionSets) {
        if (std::strcmp(set.name, name) != 0 || !set.available()) continue;
        yaie::chosen() = &set;
        return 0;
    }
    return 1;
}

// Set the number of computing threads, including the caller. They start with the first call.
void yaie_set_threads(int32_t count) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::shared().set_threads(count);
}

int32_t yaie_threads() {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    return yaie::shared().computing();
}

// Store the step's new keys and values in their slots.
void yaie_write_kv(const YaieStep* step, const YaieWrite* keys, const YaieWrite* values) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::WriteCall call{step, {keys, values}};
    yaie::shared().get().run(yaie::chosen()->attention(keys->pool_dtype).write, &call,
                             (step->num_written + yaie::kRowsInWrite - 1) / yaie::kRowsInWrite);
}

// Compute attention of every row of the step over its whole path, in one layer. Return 0 on
// success, 1 for an unknown dtype.
int32_t yaie_attention(const YaieStep* step, const YaieLayer* layer) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    if (!yaie::chosen()->attention(layer->pool_dtype).attend) return 1;
    yaie::run_attention(yaie::shared().get(), *step, *layer, {});
    return 0;
}

// Outputs in a packed panel, for the instruction set in use.
int64_t yaie_panel_outputs() { return yaie::chosen()->chunk; }

// Inputs of a packed panel, including padding; for GGUF blocks, the bytes of an output.
int64_t yaie_packed_inputs(int32_t kind, int64_t inputs) {
    return yaie::has_blocks(kind) ? yaie::block_output_bytes(kind, inputs)
                                  : yaie::packed_inputs(kind, inputs);
}

// Request huge pages for memory that is not yet written.
void yaie_prefer_huge_pages(void* memory, int64_t bytes) {
    yaie::prefer_huge_pages(memory, static_cast<size_t>(bytes));
}

// Pack weights [outputs, inputs], or GGUF blocks as a file has them, [outputs, blocks]; `to` has
// room for whole panels.
void yaie_pack(const void* from, void* to, int64_t outputs, int64_t inputs, int32_t kind,
               int32_t gated) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::PackCall call{from, to, inputs, outputs, kind, gated};
    int64_t panel = yaie::chosen()->chunk;
    yaie::shared().get().run(yaie::chosen()->pack, &call, (outputs + panel - 1) / panel);
}

// The same for quantized weights: values, scales and zero points are [outputs, inputs or groups].
void yaie_pack_quantized(const int8_t* values, const float* scales, const int8_t* zero_points,
                         void* to, void* to_scales, uint8_t* to_zero_points, int64_t outputs,
                         int64_t inputs, int64_t groups, int32_t kind, int32_t gated) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::PackQuantizedCall call{{values, to, inputs, outputs, kind, gated},
                                 scales,
                                 zero_points,
                                 to_scales,
                                 to_zero_points,
                                 groups};
    int64_t panel = yaie::chosen()->chunk;
    int64_t panels = (outputs + panel - 1) / panel;
    yaie::shared().get().run(yaie::chosen()->pack_quantized, &call, panels);
}

// Round weights [outputs, inputs] to 4 bits, or to 8 bits if `zero_points` is null: then the group
// is all inputs. A group of 4 bits has at most 64 inputs and divides their number.
void yaie_round(const void* weights, const float* importance, int8_t* values, float* scales,
                int8_t* zero_points, int64_t outputs, int64_t inputs, int64_t group,
                int32_t dtype) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::RoundingCall call{weights, importance, values, scales, zero_points,
                            outputs, inputs,     group,  dtype};
    int64_t tasks = (outputs + yaie::kRowsInRounding - 1) / yaie::kRowsInRounding;
    yaie::shared().get().run(yaie::chosen()->round, &call, tasks);
}

// Dequantize GGUF blocks of a file, [rows, blocks], to float32 [rows, inputs].
void yaie_dequantize(const void* from, float* to, int64_t rows, int64_t inputs, int32_t kind) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::PackCall call{from, to, inputs, rows, kind, 0};
    yaie::shared().get().run(yaie::chosen()->dequantize, &call, rows);
}

// Unpack the weights of some outputs of a packed layer, to float32 [count, inputs].
void yaie_unpack(const YaieLinear* linear, const int64_t* outputs, int64_t count, float* to) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::UnpackCall call{linear, outputs, to};
    yaie::shared().get().run(yaie::chosen()->unpack, &call, count);
}

// Run one linear layer: y [rows, outputs] from x [rows, inputs]; `store` is a YaieStore.
void yaie_linear(const YaieLinear* linear, const float* x, int64_t rows, float* y, int32_t store,
                 float factor) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->linear(yaie::shared().get(), *linear, x, rows, y, store, factor);
}

// Run a whole step from token ids to logits; keys and values are stored on the way.
void yaie_decode(const YaieDecoder* decoder, const YaieStep* step, const YaieDecoderCall* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->decode(yaie::shared().get(), *decoder, *step, *call, yaie::decoder_buffers(),
                           yaie::run_attention);
}

// Compute a layer's mixture of experts.
void yaie_experts(const YaieExperts* experts, const YaieExpertsCall* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    static yaie::ExpertBuffers* buffers = new yaie::ExpertBuffers;
    yaie::chosen()->experts(yaie::shared().get(), *experts, *call, *buffers);
}

// Compute a recurrent layer's short convolution.
void yaie_convolution(const YaieConvolution* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->convolution(yaie::shared().get(), *call);
}

// Compute a recurrent layer's delta rule or scan.
void yaie_recurrence(const YaieRecurrence* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->recurrence(yaie::shared().get(), *call);
}

// Compute a gated norm.
void yaie_gated_norm(const YaieGatedNorm* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->gated_norm(yaie::shared().get(), *call);
}

// Compute a whole recurrent layer.
void yaie_mix(const YaieMixer* mixer, const YaieMixerCall* call) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::chosen()->mix(yaie::shared().get(), *mixer, *call, yaie::decoder_buffers());
}

// Find the most likely token of each row.
void yaie_best(YaieBest* rows) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::shared().get().run(yaie::chosen()->best, rows, rows->count);
}

// Sample tokens at random.
void yaie_sample(YaieSamples* samples) {
    std::lock_guard<std::mutex> lock(yaie::shared().lock);
    yaie::shared().get().run(yaie::chosen()->sample, samples, samples->count);
}
}
#pragma GCC visibility pop
