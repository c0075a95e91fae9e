// A program that schedules twelve layers of several kinds in each of three steps, and prints the
// number of schedules built in a step. Built and run by test_schedules.py.
#include "schedule.h"

#include <cstdio>
#include <cstdlib>

int main(int, char** arguments) {
    int num_kinds = std::atoi(arguments[1]);
    constexpr int64_t kRows = 3, kSlots = 300;
    int64_t positions[kRows] = {297, 298, 299}, slots[kSlots] = {};
    YaieSegment segment{0, kSlots, 0, 0, kRows};
    YaieStep step{};
    step.num_rows = kRows;
    step.num_segments = 1;
    step.positions = positions;
    step.slots = slots;
    step.segments = &segment;
    YaieLayer layer{};
    layer.num_heads = layer.num_kv_heads = 1;
    yaie::Schedules schedules;
    for (step.id = 0; step.id < 3; ++step.id) {
        int made = 0;
        for (int i = 0; i < 12; ++i) {
            layer.sliding_window = i % num_kinds * 20;  // of the first kind: none
            // An earlier schedule has more slots than there are now.
            segment.end_slot = kSlots - 1 - i;
            const yaie::WorkItem& item = schedules.get(step, layer, 1, false).items.at(0);
            made += item.first_position + item.num_keys == segment.end_slot;
            int64_t first = layer.sliding_window ? positions[0] + 1 - layer.sliding_window : 0;
            if (item.first_position != first) return 1;
        }
        std::printf("%d ", made);
    }
    return 0;
}
