// Mixtures of experts: the order of rows and tasks, for all instruction sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "abi.h"
#include "pool.h"

namespace yaie {

// Pairs of a row and an expert that are computed at once: bounds the memory of results between the
// layers of an expert.
constexpr int64_t kPairsAtOnce = 4096;
// Places of an expert's rows are a multiple of this: rows in AMX tiles form blocks.
constexpr int64_t kPlacesInBlock = 16;
constexpr int64_t kExpertTasksPerThread = 12;
constexpr int64_t kMinExpertTaskBytes = 32 << 10;
// Reading a panel's weights takes as long as this many rows with it.
constexpr int64_t kRowsOfReading = 8;

// An expert that some rows have chosen, and the places of these rows in the sorted order.
struct HitExpert {
    int64_t expert, first_place, num_rows;
};

// Some panels of a hit expert's layer.
struct ExpertTask {
    int64_t hit, first_panel, end_panel;
};

// The rows of a call, sorted by expert.
class ExpertOrder {
public:
    std::vector<HitExpert> hits;
    std::vector<int64_t> row_of_place;   // -1: padding
    std::vector<int64_t> place_of_pair;  // [rows, num_chosen]; -1: no expert
    std::vector<ExpertTask> tasks;

    void sort(const YaieExperts& experts, const YaieExpertsCall& call, int64_t first_row,
              int64_t num_rows) {
        counts_.assign(experts.num_experts, 0);
        int64_t pairs = num_rows * call.num_chosen;
        const int64_t* ids = call.ids + first_row * call.num_chosen;
        for (int64_t i = 0; i < pairs; ++i)
            if (is_expert(experts, ids[i])) ++counts_[ids[i]];
        hits.clear();
        int64_t place = 0;
        for (int64_t expert = 0; expert < experts.num_experts; ++expert) {
            int64_t count = counts_[expert];
            if (!count) continue;
            hits.push_back({expert, place, count});
            counts_[expert] = place;  // of its next row
            place += (count + kPlacesInBlock - 1) / kPlacesInBlock * kPlacesInBlock;
        }
        row_of_place.assign(place, -1);
        place_of_pair.assign(pairs, -1);
        for (int64_t i = 0; i < pairs; ++i) {
            if (!is_expert(experts, ids[i])) continue;
            place_of_pair[i] = counts_[ids[i]]++;
            row_of_place[place_of_pair[i]] = first_row + i / call.num_chosen;
        }
    }

    int64_t num_places() const { return static_cast<int64_t>(row_of_place.size()); }

    // Divide the experts' panels into tasks of about equal cost.
    void cut(int64_t num_panels, int64_t panel_bytes, int threads) {
        int64_t cost = 0;
        for (const HitExpert& hit : hits) cost += num_panels * (hit.num_rows + kRowsOfReading);
        int64_t fair = cost / (threads * kExpertTasksPerThread) + 1;
        int64_t least = std::max<int64_t>(1, kMinExpertTaskBytes / panel_bytes);
        tasks.clear();
        for (size_t i = 0; i < hits.size(); ++i) {
            int64_t panels = std::max(least, fair / (hits[i].num_rows + kRowsOfReading));
            int64_t parts = (num_panels + panels - 1) / panels;
            for (int64_t part = 0; part < parts; ++part)
                tasks.push_back({static_cast<int64_t>(i), num_panels * part / parts,
                                 num_panels * (part + 1) / parts});
        }
    }

private:
    static bool is_expert(const YaieExperts& experts, int64_t id) {
        return id >= 0 && id < experts.num_experts;
    }

    std::vector<int64_t> counts_;
};

// Memory that outlives a call.
class ExpertBuffers {
public:
    enum Place { kRows, kGated, kGatedRows, kOutputs, kPlaces };

    ExpertOrder order;

    char* bytes(Place place, int64_t count) { return memory_[place].get(count); }

private:
    Scratch memory_[kPlaces];
};

}  // namespace yaie
