// Division of a step's segments into pieces and tasks for the attention kernels.
//
// A piece is a block of rows of one segment and a range of its keys. Each (piece, range of KV
// heads) is a task for one thread. A row with a single piece is finished by it; the partial results
// of other rows are merged afterwards. The schedule does not depend on the instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "abi.h"
#include "exact_pieces.h"
#include "piece.h"

namespace yaie {

// Shorter key ranges do not repay the merge.
constexpr int64_t kMinKeysInPiece = 128;
constexpr int64_t kPiecesPerThread = 4;

struct Work {
    int32_t piece;
    int32_t first_head, end_head;  // KV heads
    double cost;
};

class Schedule {
public:
    std::vector<Piece> pieces;
    std::vector<Work> tasks;             // level by level, most expensive first
    std::vector<int64_t> level_ends;     // of each level, into tasks
    std::vector<int32_t> pieces_of_row;  // all rows' pieces, concatenated
    // [num_rows + 1] into pieces_of_row; in a batch-invariant step, into its spans.
    std::vector<int32_t> row_offsets;
    std::vector<int32_t> merged_rows;  // rows with more than one piece, or span
    int64_t num_partials = 0;

    // Return whether it was made for an equal step and layer; `tiles`: as for `make`.
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
            exact_pieces_.cut(step, layer, pieces);
            count_spans(step, layer);
        } else {
            cut_rows(step, layer, threads, tiles);
            cut_keys(layer, threads);
            find_pieces_of_rows(step.num_rows);
            place_partials(layer);
        }
        // The keys of a batch-invariant piece are not divided further, so its heads are shared
        // sooner.
        make_tasks(layer, threads, step.exact ? threads * kPiecesPerThread : threads);
        key_ = key_of(step, layer, threads, tiles);
    }

    // Return whether a piece passes partial results to another piece or to the merge.
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

    // KV heads in one task. Few query vectors take all: each head is prefetched during the one
    // before.
    int64_t heads_together(const Piece& piece, const YaieLayer& layer) const {
        if (piece.form == Form::gemv) return layer.num_kv_heads;
        if (piece.form == Form::gemm) return 1;
        int64_t lanes = (piece.end_row - piece.first_row) * group_;
        return std::clamp<int64_t>(kTileLanesTogether / lanes, 1, layer.num_kv_heads);
    }

    // Cost of reading a key for one KV head plus the cost of each query vector, in the same unit.
    double cost_of(const Piece& piece) const {
        int64_t lanes = (piece.end_row - piece.first_row) * group_;
        if (piece.form != Form::gemv) lanes = (lanes + 15) / 16 * 16;
        if (piece.form == Form::tiles) lanes = lanes / 8;
        return static_cast<double>(piece.num_keys + 8) * static_cast<double>(lanes + 4);
    }

    void cut_rows(const YaieStep& step, const YaieLayer& layer, int threads, bool tiles) {
        pieces.clear();
        for (int64_t s = 0; s < step.num_segments; ++s) {
            const YaieSegment& segment = step.segments[s];
            int64_t rows = segment.end_row - segment.first_row;
            if (rows <= 0) continue;
            int64_t lanes = rows * group_;
            Form form = lanes <= kMaxGemvLanes ? Form::gemv : Form::gemm;
            int64_t most = kGemmLanes;
            if (tiles && lanes >= kMinTileLanes) {
                form = Form::tiles;
                // Prefer tasks along rows: partial results along keys have to be merged.
                int64_t fair = lanes * layer.num_kv_heads / (threads * kPiecesPerThread);
                most = std::clamp(fair, kGemmLanes, kTileLanes);
            }
            int64_t blocks = std::min(rows, (lanes + most - 1) / most);
            for (int64_t b = 0; b < blocks; ++b) {
                Piece piece{};
                piece.first_row = segment.first_row + rows * b / blocks;
                piece.end_row = segment.first_row + rows * (b + 1) / blocks;
                piece.form = form;
                if (limit_keys(step, layer, segment, piece)) pieces.push_back(piece);
            }
        }
    }

    // Drop the keys that no row of the piece sees; return false if none remains.
    bool limit_keys(const YaieStep& step, const YaieLayer& layer, const YaieSegment& segment,
                    Piece& piece) const {
        const int64_t* first = step.positions + piece.first_row;
        const int64_t* end = step.positions + piece.end_row;
        int64_t lowest = *std::min_element(first, end);
        int64_t highest = *std::max_element(first, end);
        int64_t begin_key = 0;
        if (layer.sliding_window > 0)
            begin_key =
                std::max<int64_t>(0, lowest - layer.sliding_window + 1 - segment.first_position);
        int64_t end_key =
            std::min(segment.end_slot - segment.first_slot, highest + 1 - segment.first_position);
        piece.slots = step.slots + segment.first_slot + begin_key;
        piece.num_keys = end_key - begin_key;
        piece.first_position = segment.first_position + begin_key;
        return piece.num_keys > 0;
    }

    // Split pieces that would occupy one thread while the others are idle.
    void cut_keys(const YaieLayer& layer, int threads) {
        if (threads <= 1) return;
        double total = 0;
        for (const Piece& piece : pieces) total += cost_of(piece) * layer.num_kv_heads;
        double most = total / static_cast<double>(threads * kPiecesPerThread);
        std::vector<Piece> whole;
        whole.swap(pieces);
        for (const Piece& piece : whole) {
            double cost = cost_of(piece) * static_cast<double>(heads_together(piece, layer));
            int64_t parts = static_cast<int64_t>(cost / most) + 1;
            parts = std::min(parts, (piece.num_keys + kMinKeysInPiece - 1) / kMinKeysInPiece);
            int64_t step = (piece.num_keys + parts - 1) / parts;
            step = (step + kKeysInBlock - 1) / kKeysInBlock * kKeysInBlock;
            for (int64_t key = 0; key < piece.num_keys; key += step) {
                Piece part = piece;
                part.slots += key;
                part.first_position += key;
                part.num_keys = std::min(step, piece.num_keys - key);
                pieces.push_back(part);
            }
        }
    }

    void find_pieces_of_rows(int64_t num_rows) {
        row_offsets.assign(num_rows + 1, 0);
        for (const Piece& piece : pieces)
            for (int64_t row = piece.first_row; row < piece.end_row; ++row) ++row_offsets[row + 1];
        for (int64_t row = 0; row < num_rows; ++row) row_offsets[row + 1] += row_offsets[row];
        pieces_of_row.resize(row_offsets[num_rows]);
        std::vector<int32_t> next(row_offsets.begin(), row_offsets.end() - 1);
        for (size_t i = 0; i < pieces.size(); ++i)
            for (int64_t row = pieces[i].first_row; row < pieces[i].end_row; ++row)
                pieces_of_row[next[row]++] = static_cast<int32_t>(i);
        find_merged_rows(num_rows);
    }

    void find_merged_rows(int64_t num_rows) {
        merged_rows.clear();
        for (int64_t row = 0; row < num_rows; ++row)
            if (is_merged(row)) merged_rows.push_back(static_cast<int32_t>(row));
    }

    void place_partials(const YaieLayer& layer) {
        for (Piece& piece : pieces) {
            piece.partial = num_partials;
            num_partials += (piece.end_row - piece.first_row) * layer.num_heads;
        }
    }

    // A batch-invariant step has partial results for each row, span and head, independent of the
    // pieces.
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
        // Only a step of very few pieces divides heads that could stay together among threads.
        int64_t parts = 1;
        if (threads > 1 && static_cast<int64_t>(pieces.size()) < wanted)
            parts = std::min<int64_t>(layer.num_kv_heads, threads);
        for (size_t i = 0; i < pieces.size(); ++i) {
            const Piece& piece = pieces[i];
            int64_t together = heads_together(piece, layer);
            int64_t tasks_of_piece = std::max(std::min<int64_t>(parts, layer.num_kv_heads),
                                              (layer.num_kv_heads + together - 1) / together);
            double cost = cost_of(piece);
            for (int64_t t = 0; t < tasks_of_piece; ++t) {
                Work work{};
                work.piece = static_cast<int32_t>(i);
                work.first_head = static_cast<int32_t>(layer.num_kv_heads * t / tasks_of_piece);
                work.end_head = static_cast<int32_t>(layer.num_kv_heads * (t + 1) / tasks_of_piece);
                work.cost = cost * (work.end_head - work.first_head);
                tasks.push_back(work);
            }
        }
        std::stable_sort(tasks.begin(), tasks.end(), [&](const Work& a, const Work& b) {
            int32_t level_a = pieces[a.piece].level, level_b = pieces[b.piece].level;
            return level_a != level_b ? level_a < level_b : threads > 1 && a.cost > b.cost;
        });
        level_ends.clear();
        has_levels_ = !tasks.empty() && pieces[tasks.back().piece].level > 0;
        for (size_t i = 0; i < tasks.size(); ++i)
            if (i + 1 == tasks.size() ||
                pieces[tasks[i].piece].level != pieces[tasks[i + 1].piece].level)
                level_ends.push_back(static_cast<int64_t>(i + 1));
    }

    Key key_;
    int64_t group_ = 1;
    bool has_levels_ = false;
    ExactPieces exact_pieces_;
};

// The schedules of a step, one for each kind of layer: models that alternate between layers with
// and without a window would rebuild the same two again and again.
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

    // Return a schedule of an earlier step; in a step of more kinds they take turns.
    Schedule& to_replace(const YaieStep& step) {
        for (Schedule& schedule : schedules_)
            if (!schedule.is_of(step)) return schedule;
        return schedules_[turn_++ % kKinds];
    }

    Schedule schedules_[kKinds];
    size_t turn_ = 0;
};

}  // namespace yaie
