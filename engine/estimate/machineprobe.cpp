// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/machineprobe.h"

#include "engine/cache/hostmemory.h"
#include "engine/compute/backend.h"
#include "engine/estimate/gpucatalogue.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/readkernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tokenloupe {

namespace {

constexpr int passes = 5;

std::uint64_t freeMemory()
{
    const long pages = sysconf(_SC_AVPHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

} // namespace

std::uint64_t lastLevelCacheBytes()
{
    for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
        if (const long bytes = sysconf(level); bytes > 0)
            return static_cast<std::uint64_t>(bytes);
    }
    return 0;
}

Result<double> readBandwidth(int threads)
{
    constexpr std::uint64_t least = std::uint64_t(512) << 20;
    constexpr std::uint64_t most = std::uint64_t(1) << 30;
    return readBandwidth(threads, std::clamp(2 * lastLevelCacheBytes(), least, most));
}

Result<double> readBandwidth(int threads, std::uint64_t wanted)
{
    constexpr std::uint64_t megabyte = std::uint64_t(1) << 20;
    const std::uint64_t bytes =
        std::min((wanted + megabyte - 1) / megabyte * megabyte, freeMemory() / 4 / megabyte * megabyte);
    if (bytes == 0)
        return makeError(ErrorCode::OutOfMemory, "bandwidth probe", "no free memory to read");
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return makeError(ErrorCode::OutOfMemory, "bandwidth probe",
                         std::to_string(bytes) + " bytes are needed");
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif

    using Clock = std::chrono::steady_clock;
    const auto count = static_cast<std::size_t>(std::max(threads, 1));
    const std::size_t share = bytes / count / 1024 * 1024;
    // Short buffers several times a pass, so that starting together weighs little.
    const std::uint64_t rounds = std::max<std::uint64_t>(1, (std::uint64_t(256) << 20) / bytes);
    std::atomic<float> sink{0.0F};
    std::array<Clock::time_point, passes + 1> marks{};
    std::size_t mark = 0;
    // All threads start a pass together; the last to arrive takes the time.
    std::barrier gate(static_cast<std::ptrdiff_t>(count), [&]() noexcept { marks[mark++] = Clock::now(); });
    {
        std::vector<std::jthread> readers;
        for (std::size_t thread = 0; thread < count; ++thread) {
            readers.emplace_back([&, thread] {
                auto *part = static_cast<std::byte *>(memory) + thread * share;
                std::memset(part, 1, share); // pages of the own memory node
                for (int pass = 0; pass < passes; ++pass) {
                    gate.arrive_and_wait();
                    for (std::uint64_t round = 0; round < rounds; ++round)
                        sink = sink + readAll(part, static_cast<std::int64_t>(share));
                }
                gate.arrive_and_wait();
            });
        }
    }
    munmap(memory, bytes);
    double best = 0.0;
    for (int pass = 0; pass < passes; ++pass) {
        const double seconds =
            std::chrono::duration<double>(marks[std::size_t(pass) + 1] - marks[std::size_t(pass)]).count();
        if (seconds > 0.0)
            best = std::max(best, static_cast<double>(share * count * rounds) / seconds);
    }
    return best;
}

double matrixRate(int threads)
{
    // A matrix of 256 KiB and its activations stay in a core's cache, as the parts do that a thread works on.
    constexpr std::int64_t rows = 128;
    constexpr std::int64_t columns = 512;
    constexpr std::int64_t tokens = 64;
    constexpr int repetitions = 24;
    using Clock = std::chrono::steady_clock;
    const auto count = static_cast<std::size_t>(std::max(threads, 1));
    std::array<Clock::time_point, passes + 1> marks{};
    std::size_t mark = 0;
    std::barrier gate(static_cast<std::ptrdiff_t>(count), [&]() noexcept { marks[mark++] = Clock::now(); });
    {
        std::vector<std::jthread> workers;
        for (std::size_t thread = 0; thread < count; ++thread) {
            workers.emplace_back([&] {
                const std::vector<float> weights(rows * columns, 0.25F);
                const std::vector<float> input(tokens * columns, 0.5F);
                std::vector<float> output(tokens * rows);
                const WeightMatrix matrix{TensorType::F32, rows, columns,
                                          reinterpret_cast<const std::byte *>(weights.data())};
                for (int pass = 0; pass < passes; ++pass) {
                    gate.arrive_and_wait();
                    for (int i = 0; i < repetitions; ++i)
                        cpuKernels().matmul(matrix, input.data(), columns, tokens, output.data(), rows, 0,
                                            rows);
                }
                gate.arrive_and_wait();
            });
        }
    }
    constexpr double operations = 2.0 * rows * columns * tokens * repetitions;
    double best = 0.0;
    for (int pass = 0; pass < passes; ++pass) {
        const double seconds =
            std::chrono::duration<double>(marks[std::size_t(pass) + 1] - marks[std::size_t(pass)]).count();
        if (seconds > 0.0)
            best = std::max(best, operations * static_cast<double>(count) / seconds);
    }
    return best;
}

Gpu thisMachine()
{
    static const Gpu machine = [] {
        Gpu gpu;
        gpu.name = "this machine";
        gpu.maker = cpuKernels().name;
        gpu.kind = "this machine";
        gpu.memoryBytes = hostMemoryBytes();
        // Beside a model and a window: no larger than needed.
        gpu.bandwidth = readBandwidth(usableCores(), std::uint64_t(512) << 20).value_or(0.0);
        gpu.halfFlops = matrixRate(usableCores());
        gpu.isShared = true;
        return gpu;
    }();
    return machine;
}

} // namespace tokenloupe
