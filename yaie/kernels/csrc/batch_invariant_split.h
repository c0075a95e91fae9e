// Batch-invariant split: divides a step's segments into work items for
// attention_batch_invariant.inl.
//
// A row's keys are taken in blocks between multiples of kKeysInBlock positions, independent of the
// tree's branches. So a node's work item ends at a block border, and each branch below reads the
// keys after it, fewer than a block, again. Within a span of kKeysInSpan positions a work item
// continues from the accumulators of the items above, so it runs one level later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "abi.h"
#include "work_item.h"

namespace yaie {

// Positions that are accumulated together; a row's spans may be computed in parallel.
constexpr int64_t kKeysInSpan = 4096;

class BatchInvariantSplit {
public:
    // Cut the step into work items, upper nodes first. Valid until the next call.
    void cut(const YaieStep& step, const YaieLayer& layer, std::vector<WorkItem>& items) {
        step_ = &step;
        layer_ = &layer;
        items_ = &items;
        items.clear();
        gathered_.clear();
        std::vector<const YaieSegment*> order;
        for (int64_t s = 0; s < step.num_segments; ++s)
            if (step.segments[s].end_row > step.segments[s].first_row &&
                step.segments[s].end_slot > step.segments[s].first_slot)
                order.push_back(step.segments + s);
        // Depth first: a segment with more rows below it begins no later, at a lower position.
        std::sort(order.begin(), order.end(), [](const YaieSegment* a, const YaieSegment* b) {
            return a->first_row != b->first_row ? a->first_row < b->first_row
                                                : a->first_position < b->first_position;
        });
        std::vector<Above> path;
        for (const YaieSegment* segment : order) {
            while (!path.empty() && path.back().end_row <= segment->first_row) path.pop_back();
            path.push_back(cut_segment(*segment, path.empty() ? Above{} : path.back()));
        }
    }

private:
    // Keys at consecutive positions.
    struct Keys {
        const int64_t* slots;
        int64_t first, end;  // positions
    };

    // The state that a segment passes to the segments below it.
    struct Above {
        int64_t end_row = 0;
        Keys rest{};    // its last keys, fewer than a block
        int level = 0;  // level of the work item that continues within the span
    };

    Above cut_segment(const YaieSegment& segment, const Above& above) {
        Keys keys = with_rest(segment, above.rest);
        int64_t border = keys.end / kKeysInBlock * kKeysInBlock;
        int64_t row = segment.first_row;
        // The segment's own rows end within it; all other rows continue below it.
        int64_t below = 0;
        for (int64_t r = row; r < segment.end_row; ++r) below += position(r) >= keys.end;
        Above left{segment.end_row, {keys.slots, keys.first, keys.end}, above.level};
        if (!below) {
            add(keys, row, segment.end_row, above.level);
            return left;
        }
        if (border > keys.first) {
            left.level =
                add(keys_between(keys, keys.first, border), row, segment.end_row, above.level);
            left.rest = keys_between(keys, border, keys.end);
        }
        for (int64_t end; row < segment.end_row; row = end + 1) {
            for (end = row; end < segment.end_row && position(end) < keys.end;) ++end;
            while (row < end && position(row) < left.rest.first) ++row;
            if (row < end) add(left.rest, row, end, left.level);
        }
        return left;
    }

    // Return the segment's keys, preceded by the rest of the segment above.
    Keys with_rest(const YaieSegment& segment, const Keys& rest) {
        const int64_t* slots = step_->slots + segment.first_slot;
        int64_t count = segment.end_slot - segment.first_slot, first = segment.first_position;
        if (rest.end != first || rest.first == rest.end) return {slots, first, first + count};
        gathered_.emplace_back(rest.slots, rest.slots + (rest.end - rest.first));
        gathered_.back().insert(gathered_.back().end(), slots, slots + count);
        return {gathered_.back().data(), rest.first, first + count};
    }

    static Keys keys_between(const Keys& keys, int64_t first, int64_t end) {
        return {keys.slots + (first - keys.first), first, end};
    }

    // Add work items, cut at span borders. Return the level of the work items that continue after
    // these keys.
    int add(const Keys& keys, int64_t first_row, int64_t end_row, int level) {
        for (int64_t first = keys.first, end; first < keys.end; first = end) {
            end = std::min(keys.end, (first / kKeysInSpan + 1) * kKeysInSpan);
            if (first % kKeysInSpan == 0) level = 0;
            add_blocks_of_rows(keys_between(keys, first, end), first_row, end_row, level);
            level = end % kKeysInSpan == 0 ? 0 : level + 1;
        }
        return level;
    }

    void add_blocks_of_rows(const Keys& keys, int64_t first_row, int64_t end_row, int level) {
        int64_t rows = end_row - first_row, group = layer_->num_heads / layer_->num_kv_heads;
        int64_t blocks = std::min(rows, (rows * group + kMaxGemmQueries - 1) / kMaxGemmQueries);
        for (int64_t b = 0; b < blocks; ++b) {
            WorkItem item{};
            item.first_row = first_row + rows * b / blocks;
            item.end_row = first_row + rows * (b + 1) / blocks;
            bool narrow = (item.end_row - item.first_row) * group <= kMaxGemvQueries;
            item.loops = narrow ? Loops::gemv : Loops::gemm;
            item.level = level;
            if (limit_keys(keys, item)) items_->push_back(item);
        }
    }

    // Drop whole blocks that no row of the work item sees; return false if none remains.
    bool limit_keys(const Keys& keys, WorkItem& item) const {
        const int64_t* from = step_->positions + item.first_row;
        const int64_t* to = step_->positions + item.end_row;
        int64_t first = keys.first, end = std::min(keys.end, *std::max_element(from, to) + 1);
        if (layer_->sliding_window > 0) {
            int64_t oldest = *std::min_element(from, to) - layer_->sliding_window + 1;
            first = std::max(first, oldest / kKeysInBlock * kKeysInBlock);
        }
        item.slots = keys.slots + (first - keys.first);
        item.first_position = first;
        item.num_keys = end - first;
        return item.num_keys > 0;
    }

    int64_t position(int64_t row) const { return step_->positions[row]; }

    const YaieStep* step_ = nullptr;
    const YaieLayer* layer_ = nullptr;
    std::vector<WorkItem>* items_ = nullptr;
    std::deque<std::vector<int64_t>> gathered_;
};

}  // namespace yaie
