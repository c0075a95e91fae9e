// One thread pool for all kernels of the library.
//
// Work is divided into many small tasks, which the threads and the caller claim from a counter. A
// thread that the system suspends delays only its current task, and a busy neighbour on one core
// costs about that core. Threads spin for some microseconds between layers and then sleep: an idle
// engine uses no processor time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "memory.h"

namespace yaie {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Memory that a thread keeps between tasks. It grows and never shrinks.
class Scratch {
public:
    ~Scratch() { std::free(memory_); }

    char* get(size_t bytes) {
        if (bytes > size_) {
            std::free(memory_);
            size_t page = bytes < 2 * kHugePage ? 4096 : kHugePage;
            size_ = (bytes + page - 1) / page * page;
            memory_ = static_cast<char*>(std::aligned_alloc(page, size_));
            if (!memory_) {
                size_ = 0;
                throw std::bad_alloc();
            }
            prefer_huge_pages(memory_, size_);
        }
        return memory_;
    }

private:
    char* memory_ = nullptr;
    size_t size_ = 0;
};

using Task = void (*)(void* context, int64_t index, Scratch& scratch);

class Pool {
public:
    // Start fewer threads if the system refuses more (a limit on processes, or on memory for their
    // stacks): the caller alone suffices.
    explicit Pool(int threads) {
        try {
            for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
        } catch (const std::exception&) {
        }
    }

    ~Pool() {
        stopping_.store(true);
        publish_nothing();
        wake();
        for (auto& worker : workers_) worker.join();
    }

    // Memory for the context of tasks; valid between two calls of the same caller.
    Scratch& caller_memory() { return caller_memory_; }

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Run tasks 0 to count-1 and return when all are done. One caller at a time.
    void run(Task task, void* context, int64_t count) {
        if (count <= 0) return;
        if (count == 1 || workers_.empty()) {
            for (int64_t i = 0; i < count; ++i) task(context, i, scratch_);
            return;
        }
        // Closed first: a late thread must not pair an old ticket with the new task.
        publish_nothing();
        task_.store(task, std::memory_order_relaxed);
        context_.store(context, std::memory_order_relaxed);
        count_.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
        remaining_.store(count, std::memory_order_relaxed);
        ticket_.store(++epoch_ << 32);
        if (sleeping_.load() > 0) wake();
        take_tasks(epoch_, scratch_);
        wait_for_others();
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kSpin = std::chrono::microseconds(40);
    static constexpr uint32_t kClosed = 0xffffffff;

    void publish_nothing() { ticket_.store((++epoch_ << 32) | kClosed); }

    void wake() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
        }
        work_there_.notify_all();
    }

    // A ticket is the epoch and the next task, which are claimed in one atomic operation.
    void take_tasks(uint64_t epoch, Scratch& scratch) {
        uint64_t ticket = ticket_.load();
        while ((ticket >> 32) == (epoch & kClosed)) {
            uint32_t index = static_cast<uint32_t>(ticket);
            if (index >= count_.load(std::memory_order_relaxed)) return;
            Task task = task_.load(std::memory_order_relaxed);
            void* context = context_.load(std::memory_order_relaxed);
            if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
            task(context, index, scratch);
            if (remaining_.fetch_sub(1) == 1) finished();
            ticket = ticket_.load();
        }
    }

    void finished() {
        if (!caller_sleeps_.load()) return;
        {
            std::lock_guard<std::mutex> lock(mutex_);
        }
        all_done_.notify_all();
    }

    void wait_for_others() {
        if (spin_until([this] { return remaining_.load() == 0; })) return;
        std::unique_lock<std::mutex> lock(mutex_);
        caller_sleeps_.store(true);
        all_done_.wait(lock, [this] { return remaining_.load() == 0; });
        caller_sleeps_.store(false);
    }

    template <class Condition>
    static bool spin_until(Condition condition) {
        auto end = Clock::now() + kSpin;
        do {
            for (int i = 0; i < 8; ++i) {
                if (condition()) return true;
                relax();
            }
        } while (Clock::now() < end);
        return false;
    }

    void work() {
        Scratch scratch;
        uint64_t seen = 0;
        auto has_work = [this, &seen] {
            uint64_t ticket = ticket_.load();
            return stopping_.load() ||
                   ((ticket >> 32) != seen && static_cast<uint32_t>(ticket) != kClosed);
        };
        while (true) {
            if (!spin_until(has_work)) {
                std::unique_lock<std::mutex> lock(mutex_);
                sleeping_.fetch_add(1);
                work_there_.wait(lock, has_work);
                sleeping_.fetch_sub(1);
            }
            if (stopping_.load()) return;
            seen = ticket_.load() >> 32;
            take_tasks(seen, scratch);
        }
    }

    std::vector<std::thread> workers_;
    Scratch scratch_;  // for the caller's tasks
    Scratch caller_memory_;
    uint64_t epoch_ = 0;
    alignas(64) std::atomic<uint64_t> ticket_{kClosed};
    alignas(64) std::atomic<int64_t> remaining_{0};
    std::atomic<Task> task_{nullptr};
    std::atomic<void*> context_{nullptr};
    std::atomic<uint32_t> count_{0};
    std::atomic<int> sleeping_{0};
    std::atomic<bool> caller_sleeps_{false};
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::condition_variable work_there_;
    std::condition_variable all_done_;
};

// The process's pool. The lock covers a whole call into the library: callers take turns, each with
// all the cores.
struct Shared {
    std::mutex lock;
    Pool* pool = nullptr;
    int threads = 1;  // requested

    Pool& get() {
        if (!pool) pool = new Pool(threads);
        return *pool;
    }

    // Number of computing threads once they started; until then, the requested number.
    int computing() const { return pool ? pool->threads() : threads; }

    void set_threads(int count) {
        if (count < 1) count = 1;
        if (count == threads) return;
        delete pool;
        pool = nullptr;
        threads = count;
    }
};

// Never destroyed: a process ends without waiting for its sleeping threads.
inline Shared*& shared_pointer() {
    static Shared* shared = new Shared;
    return shared;
}

inline Shared& shared() {
#if defined(__unix__) || defined(__APPLE__)
    static const int registered = pthread_atfork(nullptr, nullptr, [] {
        // The child has this thread alone, and perhaps a lock that stays locked.
        int threads = shared_pointer()->threads;
        shared_pointer() = new Shared;
        shared_pointer()->threads = threads;
    });
    (void)registered;
#endif
    return *shared_pointer();
}

}  // namespace yaie
