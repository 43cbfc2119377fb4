// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix products of one thread, for the shapes of a 135M and of a 1.1B model.
// bytes_per_second: stored weights read; items_per_second: multiply-adds.
#include "kernels/cpu/cpukernels.h"

#include <benchmark/benchmark.h>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace tokenloupe;

namespace {

struct Shape
{
    const char *name;
    std::int64_t rows;
    std::int64_t columns;
};

constexpr Shape shapes[] = {{"135M gate", 1536, 576},
                            {"135M down", 576, 1536},
                            {"135M output", 49152, 576},
                            {"1.1B gate", 5632, 2048},
                            {"1.1B down", 2048, 5632}};
constexpr TensorType types[] = {
    TensorType::F32,     TensorType::F16,   TensorType::BF16,    TensorType::Q4_0,   TensorType::Q4_1,
    TensorType::Q5_0,    TensorType::Q5_1,  TensorType::Q8_0,    TensorType::Q2_K,   TensorType::Q3_K,
    TensorType::Q4_K,    TensorType::Q5_K,  TensorType::Q6_K,    TensorType::Q8_K,   TensorType::IQ4_NL,
    TensorType::IQ4_XS,  TensorType::MXFP4, TensorType::NVFP4,   TensorType::TQ1_0,  TensorType::TQ2_0,
    TensorType::IQ1_S,   TensorType::IQ1_M, TensorType::IQ2_XXS, TensorType::IQ2_XS, TensorType::IQ2_S,
    TensorType::IQ3_XXS, TensorType::IQ3_S};
constexpr IsaLevel levels[] = {IsaLevel::Avx512, IsaLevel::Avx2, IsaLevel::Portable};
constexpr std::int64_t prefillTokens = 96;
constexpr std::size_t pastTheCaches = std::size_t(256)
                                      << 20; ///< bytes of weights to walk through when decoding

std::size_t matrixBytes(TensorType type, const Shape &shape)
{
    const TensorTypeTraits &traits = traitsOf(type);
    return std::size_t(shape.rows) * std::size_t(shape.columns) / traits.blockValues * traits.blockBytes;
}

/// Bytes whose every aligned pair is a small binary16 and half of a small float32.
std::vector<std::byte> weightBytes(std::size_t count)
{
    std::vector<std::byte> bytes(count);
    std::mt19937 random(1);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = std::byte(i % 2 == 0 ? random() & 255U : 0x28U | (random() & 0x81U));
    return bytes;
}

void decode(benchmark::State &state, const CpuKernels &kernels, TensorType type, const Shape &shape)
{
    // A walk through copies of the matrix, as a model is one: each product finds its weights in memory.
    const std::size_t bytes = matrixBytes(type, shape);
    const std::size_t copies = std::max<std::size_t>(1, pastTheCaches / bytes);
    const std::vector<std::byte> matrix = weightBytes(bytes);
    std::vector<std::byte> weights(bytes * copies);
    for (std::size_t i = 0; i < copies; ++i)
        std::memcpy(weights.data() + i * bytes, matrix.data(), bytes);
    const std::vector<float> x(std::size_t(shape.columns), 0.01F);
    std::vector<float> y(std::size_t(shape.rows));
    std::size_t next = 0;
    for ([[maybe_unused]] auto _ : state) {
        const WeightMatrix w{type, shape.rows, shape.columns, weights.data() + next * bytes};
        next = (next + 1) % copies;
        kernels.matmul(w, x.data(), shape.columns, 1, y.data(), shape.rows, 0, shape.rows);
        benchmark::DoNotOptimize(y.data());
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(bytes));
    state.SetItemsProcessed(state.iterations() * shape.rows * shape.columns);
}

void prefill(benchmark::State &state, const CpuKernels &kernels, TensorType type, const Shape &shape)
{
    const std::vector<std::byte> weights = weightBytes(matrixBytes(type, shape));
    const std::vector<float> x(std::size_t(shape.columns * prefillTokens), 0.01F);
    std::vector<float> y(std::size_t(shape.rows * prefillTokens));
    const WeightMatrix w{type, shape.rows, shape.columns, weights.data()};
    for ([[maybe_unused]] auto _ : state) {
        kernels.matmul(w, x.data(), shape.columns, prefillTokens, y.data(), shape.rows, 0, shape.rows);
        benchmark::DoNotOptimize(y.data());
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(weights.size()));
    state.SetItemsProcessed(state.iterations() * shape.rows * shape.columns * prefillTokens);
}

void exponentials(benchmark::State &state, const CpuKernels &kernels)
{
    const std::vector<float> logits(49152, -1.0F);
    std::vector<float> x = logits;
    for ([[maybe_unused]] auto _ : state) {
        std::memcpy(x.data(), logits.data(), x.size() * sizeof(float));
        benchmark::DoNotOptimize(kernels.expSum(x.data(), 0.0F, std::int64_t(x.size())));
    }
    state.SetItemsProcessed(state.iterations() * std::int64_t(x.size()));
}

void registerAll()
{
    for (const IsaLevel level : levels) {
        const CpuKernels *kernels = cpuKernelsFor(level);
        if (!kernels)
            continue;
        const std::string isa = kernels->name;
        benchmark::RegisterBenchmark((isa + "/expSum").c_str(), exponentials, *kernels);
        for (const TensorType type : types) {
            for (const Shape &shape : shapes) {
                if (shape.columns % traitsOf(type).blockValues != 0)
                    continue;
                const std::string tail = std::string("/") + traitsOf(type).name + "/" + shape.name;
                benchmark::RegisterBenchmark((isa + "/decode" + tail).c_str(), decode, *kernels, type, shape);
                benchmark::RegisterBenchmark((isa + "/prefill" + tail).c_str(), prefill, *kernels, type,
                                             shape);
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
