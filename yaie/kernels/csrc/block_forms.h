// GGUF blocks: their forms in files and panels, for all instruction sets. See block_kinds.inl.
#pragma once

#include <cstdint>

#include "abi.h"

namespace yaie {

constexpr bool has_blocks(int32_t kind) { return kind >= 16; }

constexpr int64_t kMostBlockInputs = 256;
constexpr int64_t kMostGroups = 16;  // of a block
constexpr int kSignedOffset = -1;    // codes are signed bytes, plus what their set needs

enum class Factors { none, bytes, signed_bytes, nibbles };
enum class Table { none, iq4, fp4 };

struct BlockForm {
    int bits;    // of a code in a panel
    int inputs;  // of a block
    int group;   // inputs per factor
    Factors factors;
    bool has_minimum;
    int offset;  // of the codes
    Table table = Table::none;
    bool has_exponent = false;  // the scale is a power of 2 in a byte, instead of an fp16
};

constexpr BlockForm form_of(int32_t kind) {
    switch (kind) {
        case YAIE_WEIGHTS_Q8_0: return {8, 32, 32, Factors::none, false, kSignedOffset};
        case YAIE_WEIGHTS_Q4_0: return {4, 32, 32, Factors::none, false, 8};
        case YAIE_WEIGHTS_Q4_1: return {4, 32, 32, Factors::none, true, 0};
        case YAIE_WEIGHTS_Q5_0: return {5, 32, 32, Factors::none, false, 16};
        case YAIE_WEIGHTS_Q5_1: return {5, 32, 32, Factors::none, true, 0};
        case YAIE_WEIGHTS_Q2_K: return {2, 256, 16, Factors::nibbles, true, 0};
        case YAIE_WEIGHTS_Q3_K: return {3, 256, 16, Factors::signed_bytes, false, 4};
        case YAIE_WEIGHTS_Q4_K: return {4, 256, 32, Factors::bytes, true, 0};
        case YAIE_WEIGHTS_Q5_K: return {5, 256, 32, Factors::bytes, true, 0};
        case YAIE_WEIGHTS_Q6_K: return {6, 256, 16, Factors::signed_bytes, false, 32};
        case YAIE_WEIGHTS_IQ4_NL:
            return {4, 32, 32, Factors::none, false, kSignedOffset, Table::iq4};
        case YAIE_WEIGHTS_IQ4_XS:
            return {4, 256, 32, Factors::signed_bytes, false, kSignedOffset, Table::iq4};
        default: return {4, 32, 32, Factors::none, false, 12, Table::fp4, true};  // MXFP4
    }
}

// Places in a block of a panel, in bytes for each output.
struct BlockPlaces {
    int64_t minimums, factors, minimum_factors, codes, end;
};

constexpr BlockPlaces places_of(const BlockForm& form) {
    int64_t groups = form.factors == Factors::none ? 0 : form.inputs / form.group;
    int64_t minimums = form.has_exponent ? 1 : 2;
    int64_t factors = minimums + (form.has_minimum ? 2 : 0);
    int64_t minimum_factors = factors + groups;
    bool has_bytes = form.factors == Factors::bytes && form.has_minimum;
    int64_t codes = minimum_factors + (has_bytes ? groups : 0);
    return {minimums, factors, minimum_factors, codes, codes + form.inputs * form.bits / 8};
}

// Return the bytes of a block of a file.
constexpr int64_t stored_block_bytes(int32_t kind) {
    BlockForm form = form_of(kind);
    switch (kind) {  // where the file packs factors in 6 bits
        case YAIE_WEIGHTS_Q3_K: return 110;
        case YAIE_WEIGHTS_Q4_K: return 144;
        case YAIE_WEIGHTS_Q5_K: return 176;
        case YAIE_WEIGHTS_IQ4_XS: return 136;
        default: return places_of(form).end;
    }
}

// Return the bytes of an output in a panel, or 0 if blocks do not divide its inputs.
constexpr int64_t block_output_bytes(int32_t kind, int64_t inputs) {
    BlockForm form = form_of(kind);
    return inputs % form.inputs ? 0 : inputs / form.inputs * places_of(form).end;
}

}  // namespace yaie
