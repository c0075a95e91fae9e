// A program that runs tasks on a pool, with memory for few stacks of threads, and prints the number
// of threads and the tasks' result. Built and run by test_pool.py.
#include "pool.h"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

namespace {

void square(void* context, int64_t index, yaie::Scratch&) {
    static_cast<int64_t*>(context)[index] = index * index;
}

}  // namespace

int main(int, char** arguments) {
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = std::strtoull(arguments[2], nullptr, 10);
    if (limit.rlim_cur && setrlimit(RLIMIT_AS, &limit)) return 2;
    constexpr int64_t kTasks = 1000;
    static int64_t squares[kTasks];
    yaie::Pool pool(std::atoi(arguments[1]));
    pool.run(square, squares, kTasks);
    int64_t sum = 0;
    for (int64_t square : squares) sum += square;
    std::printf("%d %lld\n", pool.threads(), static_cast<long long>(sum));
    return 0;
}
