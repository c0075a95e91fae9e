// The Walsh-Hadamard transform of heads. Needs: simd.inl.
//
// Trained models' keys have a few large elements, which would set a head's quantization step in an
// int8 pool. The transform spreads them over the head. It is orthogonal, so products of queries and
// keys do not change. Mirrored by `spread` in yaie/kvcache/int8_rows.py.

// Heads of other widths are stored as they are.
YAIE_INLINE bool can_spread(int width) { return width > 1 && (width & (width - 1)) == 0; }

YAIE_INLINE void spread_head(float* x, int width) {
    for (int half = 1; half < width; half *= 2)
        for (int first = 0; first < width; first += 2 * half)
            for (int i = first; i < first + half; ++i) {
                float a = x[i], b = x[i + half];
                x[i] = a + b;
                x[i + half] = a - b;
            }
    float factor = 1.0f / __builtin_sqrtf((float)width);
    for (int i = 0; i < width; ++i) x[i] *= factor;
}
