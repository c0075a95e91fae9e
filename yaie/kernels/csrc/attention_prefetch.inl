// Prefetch of keys and values, for attention loops that read a block's heads one after the other.
// The first head's first block is not prefetched. Needs: attention.inl.

template <class T>
YAIE_INLINE void prefetch_row(const T* row, int64_t width) {
    const char* at = reinterpret_cast<const char*>(row);
    for (int64_t byte = 0; byte < static_cast<int64_t>(width * sizeof(T)); byte += 64)
        __builtin_prefetch(at + byte, 0, 2);
}

// Slots of a head, prefetched a few at a time between other work: the processor tracks a limited
// number of outstanding loads.
template <class T>
struct BlockPrefetch {
    const T* keys;  // the head's keys, at slot 0
    const T* values;
    int64_t key_stride, value_stride;  // from slot to slot
    int key_width, value_width;
    const int64_t* slots;
    int left;

    void rows(int count) {
        for (; count > 0 && left > 0; --count, --left, ++slots) {
            prefetch_row(keys + *slots * key_stride, key_width);
            prefetch_row(values + *slots * value_stride, value_width);
        }
    }
};

// Return the prefetch of the data after `head` and its first `n` slots: the next head's data in
// them, or the first head's data in the following `next_n` slots.
template <class T>
YAIE_INLINE BlockPrefetch<T> prefetch_after(const YaieLayer& at, int first_head, int end_head,
                                            int head, const int64_t* slots, int n, int next_n) {
    bool is_last = head + 1 == end_head;
    int next = is_last ? first_head : head + 1;
    return {static_cast<const T*>(at.keys) + next * at.key_head_stride,
            static_cast<const T*>(at.values) + next * at.value_head_stride,
            at.key_slot_stride,
            at.value_slot_stride,
            at.key_width,
            at.value_width,
            is_last ? slots + n : slots,
            is_last ? next_n : n};
}
