// Packing of GGUF blocks into panels, once at load, and dequantizing. Needs:
// block_kinds.inl, linear_pack.inl.

// The numbers of a block of a file.
struct BlockNumbers {
    uint16_t scale, minimum;
    uint8_t codes[kMostBlockInputs];
    // As panels have them: signed factors plus 128, nibbles of a factor and its minimum's factor.
    uint8_t factors[kMostGroups], minimum_factors[kMostGroups];
};

// Read codes of 4 bits: of each `half` inputs twice, the first have the low nibbles.
YAIE_INLINE void read_nibbles(const uint8_t* from, int64_t inputs, int64_t half, uint8_t* codes) {
    for (int64_t first = 0; first < inputs; first += 2 * half, from += half)
        for (int64_t i = 0; i < half; ++i) {
            codes[first + i] = from[i] & 15;
            codes[first + half + i] = from[i] >> 4;
        }
}

// Read codes of 2 bits: four times 32 inputs have the bits of 32 bytes.
YAIE_INLINE void read_bit_pairs(const uint8_t* from, uint8_t* codes, int shift) {
    for (int64_t first = 0; first < kMostBlockInputs; first += 128, from += 32)
        for (int64_t quarter = 0; quarter < 4; ++quarter)
            for (int64_t i = 0; i < 32; ++i)
                codes[first + quarter * 32 + i] |=
                    (uint8_t)((from[i] >> (quarter * 2) & 3) << shift);
}

// Read one bit of 256 inputs: each eighth has a bit of 32 bytes.
YAIE_INLINE void read_eighths(const uint8_t* from, uint8_t* codes, int shift) {
    for (int64_t eighth = 0; eighth < 8; ++eighth)
        for (int64_t i = 0; i < 32; ++i)
            codes[eighth * 32 + i] |= (uint8_t)((from[i] >> eighth & 1) << shift);
}

// Read a fifth bit of 32 inputs.
YAIE_INLINE void read_fifth_bits(const uint8_t* from, uint8_t* codes) {
    for (int64_t i = 0; i < 32; ++i) codes[i] |= (uint8_t)((from[i / 8] >> (i % 8) & 1) << 4);
}

// Read the 6-bit factors of Q4_K and Q5_K, of scales and minimums.
YAIE_INLINE void read_six_bits(const uint8_t* from, BlockNumbers& to) {
    for (int g = 0; g < 4; ++g) {
        to.factors[g] = from[g] & 63;
        to.minimum_factors[g] = from[g + 4] & 63;
        to.factors[g + 4] = (uint8_t)((from[g + 8] & 15) | from[g] >> 6 << 4);
        to.minimum_factors[g + 4] = (uint8_t)(from[g + 8] >> 4 | from[g + 4] >> 6 << 4);
    }
}

YAIE_INLINE uint16_t read_half(const uint8_t* from) {
    uint16_t half;
    __builtin_memcpy(&half, from, sizeof half);
    return half;
}

template <int32_t Kind>
YAIE_INLINE void read_block(const uint8_t* from, BlockNumbers& to) {
    constexpr BlockForm form = form_of(Kind);
    if constexpr (Kind == YAIE_WEIGHTS_GGUF_MXFP4) {
        to.scale = from[0];
        read_nibbles(from + 1, 32, 16, to.codes);
        return;
    }
    if constexpr (form.inputs == 32) {
        to.scale = read_half(from);
        from += 2;
        if constexpr (form.has_minimum) {
            to.minimum = read_half(from);
            from += 2;
        }
        if constexpr (form.bits == 8) {
            for (int i = 0; i < 32; ++i) to.codes[i] = (uint8_t)(from[i] + offset_of(form));
            return;
        }
        read_nibbles(from + (form.bits == 5 ? 4 : 0), 32, 16, to.codes);
        if constexpr (form.bits == 5) read_fifth_bits(from, to.codes);
        return;
    }
    if constexpr (Kind == YAIE_WEIGHTS_Q2_K) {
        to.scale = read_half(from + 80);
        to.minimum = read_half(from + 82);
        __builtin_memcpy(to.factors, from, 16);
        __builtin_memset(to.codes, 0, sizeof to.codes);
        read_bit_pairs(from + 16, to.codes, 0);
    } else if constexpr (Kind == YAIE_WEIGHTS_Q3_K) {
        to.scale = read_half(from + 108);
        const uint8_t* six = from + 96;
        for (int g = 0; g < 16; ++g) {
            int low = g < 8 ? six[g] & 15 : six[g - 8] >> 4;
            int high = six[8 + g % 4] >> (g / 4 * 2) & 3;
            to.factors[g] = (uint8_t)((low | high << 4) - 32 + 128);
        }
        __builtin_memset(to.codes, 0, sizeof to.codes);
        read_eighths(from, to.codes, 2);
        read_bit_pairs(from + 32, to.codes, 0);
    } else if constexpr (Kind == YAIE_WEIGHTS_Q6_K) {
        to.scale = read_half(from + 208);
        for (int g = 0; g < 16; ++g) to.factors[g] = (uint8_t)(from[192 + g] + 128);
        read_nibbles(from, 256, 64, to.codes);
        read_bit_pairs(from + 128, to.codes, 4);
    } else if constexpr (Kind == YAIE_WEIGHTS_IQ4_XS) {
        to.scale = read_half(from);
        int high = read_half(from + 2);
        for (int g = 0; g < 8; ++g) {
            int low = from[4 + g / 2] >> (g % 2 * 4) & 15;
            to.factors[g] = (uint8_t)((low | (high >> (2 * g) & 3) << 4) - 32 + 128);
        }
        read_nibbles(from + 8, 256, 16, to.codes);
    } else {  // Q4_K, Q5_K
        to.scale = read_half(from);
        to.minimum = read_half(from + 2);
        read_six_bits(from + 4, to);
        read_nibbles(from + (form.bits == 5 ? 48 : 16), 256, 32, to.codes);
        if constexpr (form.bits == 5) read_eighths(from + 16, to.codes, 4);
    }
}

// A place of some bits in a block of a panel.
struct CodePlace {
    int64_t byte;
    int shift;
};

// Return the place of the nibble (or byte), the pair of bits or the single bit of a code.
template <int32_t Kind>
YAIE_INLINE CodePlace code_place(int64_t input, int64_t lane, int width) {
    typedef UnitCodes<Kind> Codes;
    int64_t quad = input % kUnit / kQuad, half = lane / kLanes;
    int64_t at = places_of(form_of(Kind)).codes * kChunk + input / kUnit * Codes::kBytes +
                 lane % kLanes * kQuad + input % kQuad;
    switch (width) {
        case 8: return {at + (2 * quad + half) * kVecBytes, 0};
        case 4: return {at + quad * kVecBytes, (int)half * 4};
        case 2:
            return {at + Codes::kPairsAt + quad / 2 * kVecBytes, (int)(quad % 2 * 4 + half * 2)};
        default: return {at + Codes::kSinglesAt, (int)(2 * quad + half)};
    }
}

// Call `each(width, place, shift)` for the parts of a code, lowest first; `shift` is theirs in it.
template <int32_t Kind, class Each>
YAIE_INLINE void each_part(int64_t input, int64_t lane, Each each) {
    constexpr int bits = form_of(Kind).bits;
    int done = 0;
    for (int width : {8, 4, 2, 1}) {
        if (bits - done < width) continue;
        each(width, code_place<Kind>(input, lane, width), done);
        done += width;
        if (done == bits) return;
    }
}

// Write the codes of a unit of a panel's outputs, four inputs at a time.
template <int32_t Kind>
YAIE_INLINE void write_unit(const BlockNumbers* from, int64_t unit, uint8_t* to) {
    typedef UnitCodes<Kind> Codes;
    constexpr int bits = form_of(Kind).bits;
    constexpr uint32_t nibble = 0x0f0f0f0fu, pair = 0x03030303u, single = 0x01010101u;
    auto put = [&](int64_t place, int64_t lane, uint32_t word) {
        __builtin_memcpy(to + place + lane * 4, &word, sizeof word);
    };
    for (int64_t lane = 0; lane < kLanes; ++lane) {
        uint32_t a[kUnitQuads], b[kUnitQuads];
        __builtin_memcpy(a, from[lane].codes + unit * kUnit, sizeof a);
        __builtin_memcpy(b, from[kLanes + lane].codes + unit * kUnit, sizeof b);
        if constexpr (bits == 8)
            for (int q = 0; q < kUnitQuads; ++q) {
                put(2 * q * kVecBytes, lane, a[q]);
                put((2 * q + 1) * kVecBytes, lane, b[q]);
            }
        if constexpr (bits >= 4 && bits < 8)
            for (int q = 0; q < kUnitQuads; ++q)
                put(q * kVecBytes, lane, (a[q] & nibble) | (b[q] & nibble) << 4);
        if constexpr (bits == 6 || bits < 4) {
            constexpr int done = bits == 6 ? 4 : 0;
            for (int q = 0; q < kUnitQuads; q += 2)
                put(Codes::kPairsAt + q / 2 * kVecBytes, lane,
                    (a[q] >> done & pair) | (b[q] >> done & pair) << 2 |
                        (a[q + 1] >> done & pair) << 4 | (b[q + 1] >> done & pair) << 6);
        }
        if constexpr (bits == 5 || bits == 3) {
            uint32_t word = 0;
            for (int q = 0; q < kUnitQuads; ++q)
                word |= (a[q] >> (bits - 1) & single) << (2 * q) | (b[q] >> (bits - 1) & single)
                                                                       << (2 * q + 1);
            put(Codes::kSinglesAt, lane, word);
        }
    }
}

// Write a block of each of a panel's outputs.
template <int32_t Kind>
YAIE_INLINE void write_blocks(const BlockNumbers* from, uint8_t* to) {
    constexpr BlockForm form = form_of(Kind);
    constexpr BlockPlaces places = places_of(form);
    for (int64_t lane = 0; lane < kChunk; ++lane) {
        const BlockNumbers& numbers = from[lane];
        if constexpr (form.has_exponent)
            to[lane] = (uint8_t)numbers.scale;
        else
            ((uint16_t*)to)[lane] = numbers.scale;
        if constexpr (form.has_minimum)
            ((uint16_t*)(to + places.minimums * kChunk))[lane] = numbers.minimum;
        if constexpr (form.factors != Factors::none)
            for (int64_t g = 0; g < form.inputs / form.group; ++g) {
                to[(places.factors + g) * kChunk + lane] = numbers.factors[g];
                if constexpr (form.factors == Factors::bytes && form.has_minimum)
                    to[(places.minimum_factors + g) * kChunk + lane] = numbers.minimum_factors[g];
            }
    }
    uint8_t* codes = to + places.codes * kChunk;
    for (int64_t unit = 0; unit < form.inputs / kUnit; ++unit)
        write_unit<Kind>(from, unit, codes + unit * UnitCodes<Kind>::kBytes);
}

// Pack blocks [outputs, blocks] of a file. Outputs of the last panel's padding have zeros.
static void pack_blocks(const PackCall& call, int64_t panel) {
    with_kind(call.kind, [&](auto tag) {
        constexpr int32_t kind = decltype(tag)::kind;
        typedef PackedBlock<kind> Packed;
        constexpr int64_t stored = stored_block_bytes(kind);
        int64_t blocks = call.inputs / Packed::form.inputs;
        uint8_t* to = (uint8_t*)call.to + panel * blocks * Packed::kBytes;
        BlockNumbers numbers[kChunk];
        __builtin_memset(numbers, 0, sizeof numbers);
        for (int64_t block = 0; block < blocks; ++block, to += Packed::kBytes) {
            for (int64_t lane = 0; lane < kChunk; ++lane) {
                int64_t row = packed_row(call, panel, lane);
                if (row >= call.outputs) continue;
                read_block<kind>((const uint8_t*)call.from + (row * blocks + block) * stored,
                                 numbers[lane]);
            }
            write_blocks<kind>(numbers, to);
        }
    });
}

// Compute the weights of a block of a file.
template <int32_t Kind>
YAIE_INLINE void dequantize_block(const BlockNumbers& from, float* to) {
    constexpr BlockForm form = form_of(Kind);
    float scale, minimum = 0.0f;
    if constexpr (form.has_exponent) {
        uint8_t exponents[kLanes];
        __builtin_memset(exponents, (int)from.scale, sizeof exponents);
        scale = load_exponents(exponents)[0];
    } else {
        scale = upcast_fp16(Bits{} + ((uint32_t)from.scale << 16))[0];
    }
    if constexpr (form.has_minimum)
        minimum = upcast_fp16(Bits{} + ((uint32_t)from.minimum << 16))[0];
    for (int64_t g = 0; g < form.inputs / form.group; ++g) {
        float factor = scale, least = minimum;
        if constexpr (form.factors == Factors::signed_bytes)
            factor *= (float)(from.factors[g] - 128);
        if constexpr (form.factors == Factors::nibbles) {
            factor *= (float)(from.factors[g] & 15);
            least *= (float)-(from.factors[g] >> 4);
        }
        if constexpr (form.factors == Factors::bytes) {
            factor *= (float)from.factors[g];
            least *= (float)-from.minimum_factors[g];
        }
        const uint8_t* codes = from.codes + g * form.group;
        for (int64_t i = 0; i < form.group; ++i) {
            int code = codes[i];
            if constexpr (form.table != Table::none)
                code = table_of(form.table)[code];
            else if constexpr (form.bits == 8 && kSignedBytes)
                code = (int8_t)code;
            else
                code -= offset_of(form);
            to[g * form.group + i] = (float)code * factor + least;
        }
    }
}

// Dequantize a row of a file's blocks: `to` is float32 [outputs, inputs].
static void dequantize_task(void* context, int64_t row, Scratch&) {
    const PackCall& call = *static_cast<const PackCall*>(context);
    with_kind(call.kind, [&](auto tag) {
        constexpr int32_t kind = decltype(tag)::kind;
        constexpr int64_t inputs = form_of(kind).inputs, stored = stored_block_bytes(kind);
        int64_t blocks = call.inputs / inputs;
        const uint8_t* from = (const uint8_t*)call.from + row * blocks * stored;
        float* to = (float*)call.to + row * call.inputs;
        BlockNumbers numbers;
        for (int64_t block = 0; block < blocks; ++block) {
            read_block<kind>(from + block * stored, numbers);
            dequantize_block<kind>(numbers, to + block * inputs);
        }
    });
}

// Dequantize one output's weights: a row of an embedding.
static void unpack_blocks(const YaieLinear& linear, int64_t output, float* to) {
    int64_t lane = output % kChunk;
    with_kind(linear.weights_kind, [&](auto tag) {
        constexpr int32_t kind = decltype(tag)::kind;
        typedef PackedBlock<kind> Packed;
        constexpr BlockForm form = Packed::form;
        const uint8_t* at = (const uint8_t*)panel_at(linear, output / kChunk);
        auto of_lane = [&](const Pair& pair) {
            return lane < kLanes ? pair.a[lane] : pair.b[lane - kLanes];
        };
        for (int64_t first = 0; first < linear.num_inputs; first += form.inputs) {
            Packed block = Packed::load(at);
            for (int64_t group = 0; group < Packed::kGroups; ++group) {
                GroupTerms terms = block.terms(group);
                float scale = of_lane(terms.scale), minimum = of_lane(terms.minimum);
                for (int64_t i = group * form.group; i < (group + 1) * form.group; ++i) {
                    int code = 0;
                    each_part<kind>(i, lane, [&](int width, CodePlace place, int shift) {
                        code |= (at[place.byte] >> place.shift & ((1 << width) - 1)) << shift;
                    });
                    if constexpr (form.table != Table::none)
                        code = table_of(form.table)[code];
                    else if constexpr (form.bits == 8 && kSignedBytes)
                        code = (int8_t)code;
                    else
                        code -= offset_of(form);
                    to[first + i] = (float)code * scale + minimum;
                }
            }
            at += Packed::kBytes;
        }
    });
}
