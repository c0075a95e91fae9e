// Huge pages for memory that is read in long streams, and the threshold of non-temporal stores.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace yaie {

constexpr size_t kHugePage = 2 << 20;
// Bytes of a result that, with its inputs, exceed the L2 cache: larger results use non-temporal
// stores, which avoid reading each cache line before it is overwritten.
constexpr int64_t kLargeResult = 2 << 20;

// Request huge pages for the whole pages of a range. A stream of small pages waits for the page
// table some hundred times in a megabyte, and twice as long in a virtual machine. The system may
// refuse.
inline void prefer_huge_pages(void* memory, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    uintptr_t first = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) / kHugePage * kHugePage;
    uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kHugePage * kHugePage;
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

}  // namespace yaie
