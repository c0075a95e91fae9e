// Epilogues of linear layers in AMX tiles, which run between tile products. Needs:
// linear_tiles.inl.

YAIE_INLINE bool is_non_temporal(const LinearCall& call) {
    const Target& target = call.target;
    int64_t row_bytes = target.y_stride * (int64_t)(target.halves ? sizeof(Bf16) : sizeof(float));
    if (target.halves) return call.rows * row_bytes >= kLargeResult;
    bool reads = target.store != YAIE_SET && !is_gated_store(target.store);
    return !reads && !target.rounded && is_aligned(target.y, row_bytes) &&
           call.rows * row_bytes >= kLargeResult;
}

// Epilogues that finish one row of a panel after the other. GeneralEpilogue covers all cases; the
// other epilogues are common cases in few instructions. They run between tile products, and the
// processor looks only some five hundred instructions ahead.
template <bool non_temporal>
struct GeneralEpilogue {
    const LinearCall& call;
    int64_t panel = 0, row = 0;

    YAIE_MEMBER void begin(int64_t of_panel, int64_t first_row) {
        panel = of_panel;
        row = first_row;
    }

    YAIE_MEMBER void one(Pair sum) {
        finish_row<non_temporal>(call.target, *call.linear, row, panel * kChunk, sum.a, sum.b);
        ++row;
    }
};

// Float32 as it is.
struct SetEpilogue {
    const LinearCall& call;
    float* y = nullptr;

    YAIE_MEMBER void begin(int64_t panel, int64_t row) {
        y = call.target.y + row * call.target.y_stride + panel * kChunk;
    }

    YAIE_MEMBER void one(Pair sum) {
        store(y, sum.a);
        store(y + kLanes, sum.b);
        y += call.target.y_stride;
    }
};

// Addition to float32.
struct AddEpilogue {
    const LinearCall& call;
    float* y = nullptr;

    YAIE_MEMBER void begin(int64_t panel, int64_t row) {
        y = call.target.y + row * call.target.y_stride + panel * kChunk;
    }

    YAIE_MEMBER void one(Pair sum) {
        Vec factor = splat(call.target.factor);
        store(y, fma(sum.a, factor, load(y)));
        store(y + kLanes, fma(sum.b, factor, load(y + kLanes)));
        y += call.target.y_stride;
    }
};

// bf16 with non-temporal stores.
struct HalvesEpilogue {
    const LinearCall& call;
    Bf16* to = nullptr;

    YAIE_MEMBER void begin(int64_t panel, int64_t row) {
        to = (Bf16*)call.target.halves + row * call.target.y_stride + panel * kChunk;
    }

    YAIE_MEMBER void one(Pair sum) {
        __m512bh both = _mm512_cvtne2ps_pbh((__m512)sum.b, (__m512)sum.a);
        store_cache_line(to, &both, true);
        to += call.target.y_stride;
    }
};

// Gated by silu, as bf16 rows of the next layer.
struct GatedEpilogue {
    const LinearCall& call;
    char* to = nullptr;
    int64_t row = 0;

    YAIE_MEMBER void begin(int64_t panel, int64_t first_row) {
        const RoundedRows& rounded = *call.target.rounded;
        row = first_row;
        to = byte_address(rounded, row_address(rounded, row),
                          panel * kLanes * (int64_t)sizeof(Bf16));
    }

    YAIE_MEMBER void one(Pair sum) {
        const RoundedRows& rounded = *call.target.rounded;
        Vec gate = sum.a * call.target.gate_factor;
        __m256bh numbers = _mm512_cvtneps_pbh((__m512)(sigmoid_times(gate) * sum.b));
        __builtin_memcpy(to, &numbers, sizeof numbers);
        to += rounded.row_stride;
        if (++row % kRowsInBlock == 0)
            to += rounded.block_stride - kRowsInBlock * rounded.row_stride;
    }
};

// The accumulators of a pair of blocks with a panel, finished row by row during the products of the
// next pair.
template <class Products, class Epilogue>
struct PendingEpilogue {
    const LinearCall& call;
    Epilogue epilogue;
    const char* accumulators = nullptr;
    int64_t panel = 0, row = 0, left = 0;

    YAIE_MEMBER void begin(const char* from, int64_t of_panel, int64_t first_row, int64_t count) {
        accumulators = from;
        panel = of_panel;
        row = first_row;
        left = count;
        epilogue.begin(panel, row);
    }

    YAIE_MEMBER void one() {
        Pair sum;
        if (Products::kIntegers) {
            IntPair products{(Int)load_bits(accumulators),
                             (Int)load_bits(accumulators + 2 * kChunk)};
            GroupScales scales = GroupScales::of_bytes(*call.linear, panel * kChunk);
            const char* weights = panel_at(*call.linear, panel);
            Pair outliers = outlier_sum(call.rounded.outliers, row, weights, scales);
            sum = add_scaled_sum(call.rounded, row, scales, products, outliers);
        } else {
            sum = load_chunk((const float*)accumulators);
        }
        epilogue.one(sum);
        accumulators += kChunk * 4;
        ++row;
        --left;
    }

    YAIE_MEMBER void some(int64_t count) {
        for (; count > 0 && left > 0; --count) one();
    }
};
