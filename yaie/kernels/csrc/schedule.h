// Schedule: divides a step's segments into work items and tasks for the attention kernels. A work
// item is a row block and a key range of one segment. Each (work item, range of KV heads) is a task
// for one thread. A single work item finishes its row; the partial results of other rows are merged
// afterwards. The schedule does not depend on the instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "abi.h"
#include "batch_invariant_split.h"
#include "work_item.h"

namespace yaie {

// Shorter key ranges do not repay the merge.
constexpr int64_t kMinKeysInItem = 128;
constexpr int64_t kItemsPerThread = 4;

struct Work {
    int32_t item;
    int32_t first_head, end_head;  // KV heads
    double cost;
};

class Schedule {
public:
    std::vector<WorkItem> items;
    std::vector<Work> tasks;            // level by level, most expensive first
    std::vector<int64_t> level_ends;    // end of each level in tasks
    std::vector<int32_t> items_of_row;  // all rows' work items, concatenated
    // [num_rows + 1] into items_of_row; in a batch-invariant step, into its spans.
    std::vector<int32_t> row_offsets;
    std::vector<int32_t> merged_rows;  // rows with more than one work item, or span
    int64_t num_partials = 0;

    // Return true if this schedule can be reused for `step` and `layer`.
    bool serves(const YaieStep& step, const YaieLayer& layer, int threads, bool tiles) const {
        return key_ == key_of(step, layer, threads, tiles);
    }

    bool is_of(const YaieStep& step) const { return key_.step == step.id; }

    // `tiles`: true if many query vectors use packed tiles of keys.
    void make(const YaieStep& step, const YaieLayer& layer, int threads, bool tiles) {
        key_ = Key{};
        group_ = layer.num_heads / layer.num_kv_heads;
        num_partials = 0;
        if (step.exact) {
            split_.cut(step, layer, items);
            count_spans(step, layer);
        } else {
            cut_rows(step, layer, threads, tiles);
            cut_keys(layer, threads);
            find_items_of_rows(step.num_rows);
            place_partials(layer);
        }
        // The keys of a batch-invariant work item are not divided further, so its heads are divided
        // sooner.
        make_tasks(layer, threads, step.exact ? threads * kItemsPerThread : threads);
        key_ = key_of(step, layer, threads, tiles);
    }

    // Return true if a work item passes partial results to a later item or to the merge.
    bool has_partials() const { return has_levels_ || !merged_rows.empty(); }

    bool is_merged(int64_t row) const { return row_offsets[row + 1] - row_offsets[row] > 1; }

private:
    struct Key {
        int64_t step = -1;
        int32_t kv_heads = 0, heads = 0, window = 0, threads = 0;
        bool tiles = false;

        bool operator==(const Key& other) const {
            return step == other.step && kv_heads == other.kv_heads && heads == other.heads &&
                   window == other.window && threads == other.threads && tiles == other.tiles;
        }
    };

    static Key key_of(const YaieStep& step, const YaieLayer& layer, int threads, bool tiles) {
        return {step.id, layer.num_kv_heads, layer.num_heads, layer.sliding_window, threads, tiles};
    }

    // KV heads in one task. Few query vectors take all heads: each head is prefetched during the
    // last one.
    int64_t heads_together(const WorkItem& item, const YaieLayer& layer) const {
        if (item.loops == Loops::gemv) return layer.num_kv_heads;
        if (item.loops == Loops::gemm) return 1;
        int64_t num_queries = (item.end_row - item.first_row) * group_;
        return std::clamp<int64_t>(kTileQueriesTogether / num_queries, 1, layer.num_kv_heads);
    }

    // Cost of reading a key for one KV head plus the cost of each query vector, in the same unit.
    double cost_of(const WorkItem& item) const {
        int64_t num_queries = (item.end_row - item.first_row) * group_;
        if (item.loops != Loops::gemv) num_queries = (num_queries + 15) / 16 * 16;
        if (item.loops == Loops::tiles) num_queries = num_queries / 8;
        return static_cast<double>(item.num_keys + 8) * static_cast<double>(num_queries + 4);
    }

    void cut_rows(const YaieStep& step, const YaieLayer& layer, int threads, bool tiles) {
        items.clear();
        for (int64_t s = 0; s < step.num_segments; ++s) {
            const YaieSegment& segment = step.segments[s];
            int64_t rows = segment.end_row - segment.first_row;
            if (rows <= 0) continue;
            int64_t num_queries = rows * group_;
            Loops loops = num_queries <= kMaxGemvQueries ? Loops::gemv : Loops::gemm;
            int64_t most = kMaxGemmQueries;
            if (tiles && num_queries >= kMinTileQueries) {
                loops = Loops::tiles;
                // Prefer tasks along rows: partial results along keys have to be merged.
                int64_t fair = num_queries * layer.num_kv_heads / (threads * kItemsPerThread);
                most = std::clamp(fair, kMaxGemmQueries, kMaxTileQueries);
            }
            int64_t blocks = std::min(rows, (num_queries + most - 1) / most);
            for (int64_t b = 0; b < blocks; ++b) {
                WorkItem item{};
                item.first_row = segment.first_row + rows * b / blocks;
                item.end_row = segment.first_row + rows * (b + 1) / blocks;
                item.loops = loops;
                if (limit_keys(step, layer, segment, item)) items.push_back(item);
            }
        }
    }

    // Drop the keys that no row of the work item sees; return false if none remains.
    bool limit_keys(const YaieStep& step, const YaieLayer& layer, const YaieSegment& segment,
                    WorkItem& item) const {
        const int64_t* first = step.positions + item.first_row;
        const int64_t* end = step.positions + item.end_row;
        int64_t lowest = *std::min_element(first, end);
        int64_t highest = *std::max_element(first, end);
        int64_t begin_key = 0;
        if (layer.sliding_window > 0)
            begin_key =
                std::max<int64_t>(0, lowest - layer.sliding_window + 1 - segment.first_position);
        int64_t end_key =
            std::min(segment.end_slot - segment.first_slot, highest + 1 - segment.first_position);
        item.slots = step.slots + segment.first_slot + begin_key;
        item.num_keys = end_key - begin_key;
        item.first_position = segment.first_position + begin_key;
        return item.num_keys > 0;
    }

    // Split work items that would occupy one thread while other threads are idle.
    void cut_keys(const YaieLayer& layer, int threads) {
        if (threads <= 1) return;
        double total = 0;
        for (const WorkItem& item : items) total += cost_of(item) * layer.num_kv_heads;
        double most = total / static_cast<double>(threads * kItemsPerThread);
        std::vector<WorkItem> whole;
        whole.swap(items);
        for (const WorkItem& item : whole) {
            double cost = cost_of(item) * static_cast<double>(heads_together(item, layer));
            int64_t parts = static_cast<int64_t>(cost / most) + 1;
            parts = std::min(parts, (item.num_keys + kMinKeysInItem - 1) / kMinKeysInItem);
            int64_t step = (item.num_keys + parts - 1) / parts;
            step = (step + kKeysInBlock - 1) / kKeysInBlock * kKeysInBlock;
            for (int64_t key = 0; key < item.num_keys; key += step) {
                WorkItem part = item;
                part.slots += key;
                part.first_position += key;
                part.num_keys = std::min(step, item.num_keys - key);
                items.push_back(part);
            }
        }
    }

    void find_items_of_rows(int64_t num_rows) {
        row_offsets.assign(num_rows + 1, 0);
        for (const WorkItem& item : items)
            for (int64_t row = item.first_row; row < item.end_row; ++row) ++row_offsets[row + 1];
        for (int64_t row = 0; row < num_rows; ++row) row_offsets[row + 1] += row_offsets[row];
        items_of_row.resize(row_offsets[num_rows]);
        std::vector<int32_t> next(row_offsets.begin(), row_offsets.end() - 1);
        for (size_t i = 0; i < items.size(); ++i)
            for (int64_t row = items[i].first_row; row < items[i].end_row; ++row)
                items_of_row[next[row]++] = static_cast<int32_t>(i);
        find_merged_rows(num_rows);
    }

    void find_merged_rows(int64_t num_rows) {
        merged_rows.clear();
        for (int64_t row = 0; row < num_rows; ++row)
            if (is_merged(row)) merged_rows.push_back(static_cast<int32_t>(row));
    }

    void place_partials(const YaieLayer& layer) {
        for (WorkItem& item : items) {
            item.partial = num_partials;
            num_partials += (item.end_row - item.first_row) * layer.num_heads;
        }
    }

    // A batch-invariant step has partial results for each row, span and head, independent of the
    // work items.
    void count_spans(const YaieStep& step, const YaieLayer& layer) {
        row_offsets.assign(step.num_rows + 1, 0);
        for (int64_t row = 0; row < step.num_rows; ++row)
            row_offsets[row + 1] =
                row_offsets[row] + static_cast<int32_t>(step.positions[row] / kKeysInSpan) + 1;
        num_partials = static_cast<int64_t>(row_offsets[step.num_rows]) * layer.num_heads;
        find_merged_rows(step.num_rows);
    }

    void make_tasks(const YaieLayer& layer, int threads, int64_t wanted) {
        tasks.clear();
        // Only a step of very few work items divides heads that could stay together among threads.
        int64_t parts = 1;
        if (threads > 1 && static_cast<int64_t>(items.size()) < wanted)
            parts = std::min<int64_t>(layer.num_kv_heads, threads);
        for (size_t i = 0; i < items.size(); ++i) {
            const WorkItem& item = items[i];
            int64_t together = heads_together(item, layer);
            int64_t tasks_of_item = std::max(std::min<int64_t>(parts, layer.num_kv_heads),
                                             (layer.num_kv_heads + together - 1) / together);
            double cost = cost_of(item);
            for (int64_t t = 0; t < tasks_of_item; ++t) {
                Work work{};
                work.item = static_cast<int32_t>(i);
                work.first_head = static_cast<int32_t>(layer.num_kv_heads * t / tasks_of_item);
                work.end_head = static_cast<int32_t>(layer.num_kv_heads * (t + 1) / tasks_of_item);
                work.cost = cost * (work.end_head - work.first_head);
                tasks.push_back(work);
            }
        }
        std::stable_sort(tasks.begin(), tasks.end(), [&](const Work& a, const Work& b) {
            int32_t level_a = items[a.item].level, level_b = items[b.item].level;
            return level_a != level_b ? level_a < level_b : threads > 1 && a.cost > b.cost;
        });
        level_ends.clear();
        has_levels_ = !tasks.empty() && items[tasks.back().item].level > 0;
        for (size_t i = 0; i < tasks.size(); ++i)
            if (i + 1 == tasks.size() ||
                items[tasks[i].item].level != items[tasks[i + 1].item].level)
                level_ends.push_back(static_cast<int64_t>(i + 1));
    }

    Key key_;
    int64_t group_ = 1;
    bool has_levels_ = false;
    BatchInvariantSplit split_;
};

// A step's schedules, one for each layer type: models that alternate between layers with and
// without a window would otherwise rebuild two schedules in every layer.
class Schedules {
public:
    const Schedule& get(const YaieStep& step, const YaieLayer& layer, int threads, bool tiles) {
        for (const Schedule& schedule : schedules_)
            if (schedule.serves(step, layer, threads, tiles)) return schedule;
        Schedule& schedule = to_replace(step);
        schedule.make(step, layer, threads, tiles);
        return schedule;
    }

private:
    static constexpr size_t kKinds = 4;

    // Return an earlier step's schedule; a step with more layer types replaces them in turn.
    Schedule& to_replace(const YaieStep& step) {
        for (Schedule& schedule : schedules_)
            if (!schedule.is_of(step)) return schedule;
        return schedules_[turn_++ % kKinds];
    }

    Schedule schedules_[kKinds];
    size_t turn_ = 0;
};

}  // namespace yaie
