// Abilities of the processor that some compilers have no name for. Needs: YAIE_WITH.
#pragma once

namespace yaie {
namespace {

#if defined(__x86_64__) && YAIE_WITH(amx)
// CPUID instead of __builtin_cpu_supports: some compilers that generate AMX do not know its name.
bool has_tile_registers() {
    constexpr unsigned kNeeded = 1u << 22 | 1u << 24 | 1u << 25;  // amx-bf16, amx-tile, amx-int8
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kNeeded) == kNeeded;
}

#endif

#if defined(__x86_64__) && YAIE_WITH(avx2)
// CPUID instead of __builtin_cpu_supports, as above.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 29);
}
#endif

#if defined(__x86_64__) && YAIE_WITH(amx)
// Linux enables the tile registers of a process on request; its threads inherit the permission.
bool may_use_tiles() {
#ifdef __linux__
    constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    static const bool granted = syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
    return granted;
#else
    return false;
#endif
}
#endif

// Intel's vector units multiply bf16 slower than float32.
bool ranks_after_next(const char* set) {
#if defined(__x86_64__)
    return std::strcmp(set, "bf16") == 0 && __builtin_cpu_is("intel");
#else
    return false;
#endif
}

}  // namespace
}  // namespace yaie
