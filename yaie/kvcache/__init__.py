"""KV cache: slots, the radix tree, eviction, and the pool of keys and values."""
