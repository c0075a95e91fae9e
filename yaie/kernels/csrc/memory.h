// Memory that is read again and again in long streams: in huge pages where the system gives them.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace yaie {

constexpr size_t kHugePage = 2 << 20;
// Bytes that the L2 cache does not hold beside what is read: such results are written past the caches,
// or each line of them would be read before it is overwritten.
constexpr int64_t kLargeResult = 2 << 20;

// Asks for huge pages where whole ones fit. A stream of small pages waits for the page table some
// hundred times in a megabyte, and twice as long in a virtual machine. Only a wish: it may be refused.
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
