// C interface of recurrent layers: a part of abi.h, mirrored in recurrent_structures.py.
#pragma once

#include <cstdint>

extern "C" {

// A run of rows of one path, in one step. A number of a state from `num_slots` on is a spare one. A
// chain without rows copies its state.
struct YaieChain {
    int64_t first_row;
    int64_t end_row;
    int64_t source;  // the state before the first row; -1: zeros
    int64_t target;  // takes the state after the last row; -1: none
};

// The chains of one step.
struct YaieChains {
    const YaieChain* chains;
    int64_t num_chains;
    int64_t num_spare;  // the spare states that they name
};

// The states of one recurrent layer.
struct YaieStates {
    float* slots;  // [num_slots, stride]
    float* spare;  // those that the step alone has
    int64_t num_slots;
    int64_t stride;
};

// A convolution of each channel over the rows of its chain, which reads the inputs before them.
struct YaieConvolution {
    const float* x;  // [rows, num_channels]
    int64_t x_stride;
    float* y;  // the same
    int64_t y_stride;
    const float* weights;  // [num_taps, num_channels], the latest input's last
    const float* bias;     // [num_channels] or null
    int64_t num_taps;      // at most 8
    int64_t num_channels;
    int64_t has_silu;  // not 0: y = silu(...)
    const YaieChain* chains;
    int64_t num_chains;
    YaieStates states;  // [num_taps - 1, num_channels]
};

// A recurrence of each head: state = decay * state + key (x) (value * step), y = query * state.
// With the delta rule, state = decay * state + key (x) ((value - key * decay * state) * gate), and
// queries and keys are normalized first, in place. The step is softplus(steps + bias), the decay
// exp(rate * step), the gate sigmoid(gates) times a factor.
struct YaieRecurrence {
    float* queries;  // [rows, num_key_heads, key_width]
    float* keys;
    const float* values;  // [rows, num_heads, value_width]
    int64_t row_stride;   // of all three
    const float* steps;   // [rows, num_heads]
    int64_t step_stride;
    const float* gates;  // [rows, num_heads]: of the delta rule
    int64_t gate_stride;
    const float* step_bias;  // [num_heads]
    const float* rates;      // [num_heads]
    const float* skip;       // [num_heads] or null: y += value * skip
    float* y;                // [rows, num_heads, value_width]
    int64_t num_rows;
    int64_t num_heads;
    int64_t num_key_heads;  // each serves num_heads / num_key_heads heads: see has_tiles
    int64_t key_width;
    int64_t value_width;
    const YaieChain* chains;
    int64_t num_chains;
    YaieStates states;  // [num_heads, key_width, value_width]
    int32_t is_delta_rule;
    float gate_factor;
    float min_step;
    float max_step;
    int64_t has_tiles;  // 0: a key head's heads are neighbours; else num_key_heads apart
};

// An RMS norm of groups of a row, and a product with silu(gate) before or after it.
struct YaieGatedNorm {
    const float* x;     // [rows, num_groups, width]
    const float* gate;  // the same, or null after a norm
    int64_t gate_stride;
    const float* weight;    // [width] of each group, or null: no norm
    int64_t weight_stride;  // between groups; 0: all have one weight
    float* y;               // as x, and may be x
    int64_t num_rows;
    int64_t num_groups;
    int64_t width;
    int32_t norm_first;  // not 0: the product comes after the norm
    float epsilon;
};
}
