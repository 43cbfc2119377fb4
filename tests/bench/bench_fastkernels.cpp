// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix products of the fast precision, one thread, for the shapes of a 135M and of a 1.1B model.
// bytes_per_second: packed weights read; items_per_second: multiply-adds.
#include "kernels/cpu/fastkernels.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace tokenloupe;

namespace {

struct Shape
{
    const char *name;
    std::int64_t rows;
    std::int64_t columns;
};

constexpr Shape shapes[] = {{"small", 256, 768},
                            {"135M gate", 1536, 576},
                            {"135M down", 576, 1536},
                            {"135M output", 49152, 576},
                            {"1.1B gate", 5632, 2048}};
constexpr TensorType types[] = {TensorType::Q4_0, TensorType::Q4_1, TensorType::Q5_0,   TensorType::Q5_1,
                                TensorType::Q8_0, TensorType::Q2_K, TensorType::Q3_K,   TensorType::Q4_K,
                                TensorType::Q5_K, TensorType::Q6_K, TensorType::IQ4_NL, TensorType::IQ4_XS,
                                TensorType::MXFP4};
constexpr IsaLevel levels[] = {IsaLevel::Avx512, IsaLevel::Avx2, IsaLevel::Portable};
constexpr std::int64_t prefillTokens = 96;
constexpr std::int64_t pastTheCaches = std::int64_t(512) << 20; ///< bytes of weights to walk through

/// Memory on large pages, as the program asks for, whose every aligned pair of bytes is a small binary16.
class Weights
{
public:
    explicit Weights(std::int64_t size)
        : m_data(static_cast<std::byte *>(::operator new(std::size_t(size), pageBytes)))
    {
#ifdef MADV_HUGEPAGE
        ::madvise(m_data, std::size_t(size), MADV_HUGEPAGE);
#endif
        std::mt19937 random(1);
        for (std::int64_t i = 0; i < size; ++i)
            m_data[i] = std::byte(i % 2 == 0 ? random() & 255U : 0x28U | (random() & 0x81U));
    }
    ~Weights()
    {
        ::operator delete(m_data, pageBytes);
    }
    Weights(const Weights &) = delete;
    Weights &operator=(const Weights &) = delete;
    const std::byte *data() const
    {
        return m_data;
    }

private:
    static constexpr std::align_val_t pageBytes{std::size_t(2) << 20};
    std::byte *m_data;
};

std::vector<std::byte> activations(const FastKernels &kernels, std::int64_t tokens, std::int64_t columns)
{
    std::vector<float> x(std::size_t(columns), 0.01F);
    std::vector<std::byte> rows(std::size_t(tokens * activationRowBytes(columns)));
    for (std::int64_t t = 0; t < tokens; ++t)
        kernels.quantizeRow(x.data(), columns, rows.data() + t * activationRowBytes(columns));
    return rows;
}

enum class Walk { OneMatrix, PastTheCaches };

void product(benchmark::State &state, const FastKernels &kernels, TensorType type, const Shape &shape,
             std::int64_t tokens, Walk walk)
{
    const std::int64_t bytes = packedBytes(type, shape.rows, shape.columns);
    // A walk through many matrices, as a model is one: each product finds its weights in memory.
    const std::int64_t copies =
        walk == Walk::OneMatrix ? 1 : std::max<std::int64_t>(1, pastTheCaches / bytes);
    const Weights weights(bytes * copies);
    const std::vector<std::byte> x = activations(kernels, tokens, shape.columns);
    std::vector<float> y(std::size_t(shape.rows * tokens));
    std::int64_t next = 0;
    for ([[maybe_unused]] auto _ : state) {
        const PackedMatrix w{type, shape.rows, shape.columns, weights.data() + next * bytes};
        next = (next + 1) % copies;
        kernels.matmul(w, x.data(), tokens, y.data(), shape.rows, 0, stripesOf(shape.rows));
        benchmark::DoNotOptimize(y.data());
    }
    state.SetBytesProcessed(state.iterations() * bytes);
    state.SetItemsProcessed(state.iterations() * shape.rows * shape.columns * tokens);
}

void quantize(benchmark::State &state, const FastKernels &kernels)
{
    const std::vector<float> x(1536, 0.01F);
    std::vector<std::byte> out(std::size_t(activationRowBytes(1536)));
    for ([[maybe_unused]] auto _ : state) {
        kernels.quantizeRow(x.data(), 1536, out.data());
        benchmark::DoNotOptimize(out.data());
    }
    state.SetItemsProcessed(state.iterations() * 1536);
}

void pack(benchmark::State &state, TensorType type)
{
    const TensorTypeTraits &traits = traitsOf(type);
    const std::int64_t rows = 1536;
    const std::int64_t columns = 768;
    const Weights file(rows * columns / traits.blockValues * traits.blockBytes);
    std::vector<std::byte> packed(std::size_t(packedBytes(type, rows, columns)));
    for ([[maybe_unused]] auto _ : state) {
        packStripes({type, rows, columns, file.data()}, 0, stripesOf(rows), packed.data());
        benchmark::DoNotOptimize(packed.data());
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(packed.size()));
}

void registerAll()
{
    for (const TensorType type : types)
        benchmark::RegisterBenchmark((std::string("pack/") + traitsOf(type).name).c_str(), pack, type);
    for (const IsaLevel level : levels) {
        const FastKernels *kernels = fastKernelsFor(level);
        if (!kernels)
            continue;
        const std::string isa = kernels->name;
        benchmark::RegisterBenchmark((isa + "/quantize").c_str(), quantize, *kernels);
        for (const TensorType type : types) {
            for (const Shape &shape : shapes) {
                if (shape.columns % std::int64_t(traitsOf(type).blockValues) != 0)
                    continue;
                const std::string tail = std::string("/") + traitsOf(type).name + "/" + shape.name;
                const auto add = [&](const char *name, std::int64_t tokens, Walk walk) {
                    benchmark::RegisterBenchmark((isa + name + tail).c_str(), product, *kernels, type, shape,
                                                 tokens, walk);
                };
                add("/decode", 1, Walk::PastTheCaches);
                add("/cached", 1, Walk::OneMatrix);
                add("/prefill", prefillTokens, Walk::OneMatrix);
            }
        }
    }
}

} // namespace

int main(int argc, char *argv[])
{
    registerAll();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
