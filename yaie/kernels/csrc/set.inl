// The kernels for one instruction set: kernels.cpp includes this file for each.
//
// Define before the include: YAIE_NAMESPACE (the name of the set), YAIE_LANES (floats in a vector),
// YAIE_TILE_ROWS (rows whose accumulators fit in registers) and YAIE_REGISTERS (vector registers);
// YAIE_VNNI, YAIE_BF16 and YAIE_AMX if it multiplies bytes, bf16 and tiles of both; YAIE_TARGET,
// the compiler's target, if it exceeds the default. All are undefined afterwards.

#ifdef YAIE_TARGET
#ifdef __clang__
YAIE_PRAGMA(clang attribute push(__attribute__((target(YAIE_TARGET))), apply_to = function))
#else
YAIE_PRAGMA(GCC push_options)
YAIE_PRAGMA(GCC target(YAIE_TARGET, "prefer-vector-width=512"))
#endif
#endif

namespace yaie {
namespace YAIE_NAMESPACE {
#include "simd.inl"
#include "tiles.inl"
#include "attention.inl"
#include "linear.inl"
#include "linear_quantized.inl"
#ifdef YAIE_BF16
#include "linear_bf16.inl"
#endif
#ifdef YAIE_AMX
#include "linear_tiles.inl"
#endif
#include "block_kinds.inl"
#include "block_packing.inl"
#include "linear_blocks.inl"
#include "experts.inl"
#include "hadamard.inl"
#include "recurrent.inl"
#include "mixer.inl"
#include "decoder.inl"
#include "sampling.inl"
#include "weight_rounding.inl"
}  // namespace YAIE_NAMESPACE
}  // namespace yaie

#ifdef YAIE_TARGET
#ifdef __clang__
YAIE_PRAGMA(clang attribute pop)
#else
YAIE_PRAGMA(GCC pop_options)
#endif
#endif

#undef YAIE_NAMESPACE
#undef YAIE_TARGET
#undef YAIE_LANES
#undef YAIE_TILE_ROWS
#undef YAIE_REGISTERS
#undef YAIE_VNNI
#undef YAIE_BF16
#undef YAIE_AMX
#undef YAIE_MEMORY_IS_WRITTEN
#undef YAIE_INLINE
#undef YAIE_MEMBER
