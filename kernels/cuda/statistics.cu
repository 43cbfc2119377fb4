// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/statistics.h"

#include "kernels/cuda/sortruns.cuh"
#include "kernels/cuda/statisticsgeometry.h"
#include "kernels/cuda/statisticssums.cuh"

namespace tokenloupe::cuda {

namespace {

constexpr int sliceThreads = 256;
constexpr int mergeThreads = 512;
constexpr int slicePasses = sliceColumns / (4 * sliceThreads);

struct SliceShared
{
    std::uint64_t keys[sliceColumns];
    float maxima[largestWarps];
    SliceSums sums[largestWarps];
};

/// Larger for what comes earlier: the logit in the upper half (NaN and -inf, -0 and 0 are the same), in the
/// lower one the id upside down. 0 is behind all.
__device__ std::uint64_t keyOf(float logit, std::int32_t id)
{
    const float plain = logit == logit ? logit + 0.0F : -infinity();
    const auto bits = static_cast<std::uint32_t>(__float_as_int(plain));
    const std::uint32_t upper = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
    return (std::uint64_t(upper) << 32) | (0xFFFFFFFFU - static_cast<std::uint32_t>(id));
}

__device__ TopLogit logitOf(std::uint64_t key)
{
    const auto upper = static_cast<std::uint32_t>(key >> 32);
    const std::uint32_t bits = (upper >> 31) != 0 ? upper & 0x7FFFFFFFU : ~upper;
    return {__int_as_float(static_cast<int>(bits)),
            static_cast<std::int32_t>(0xFFFFFFFFU - static_cast<std::uint32_t>(key))};
}

struct StatisticsCall
{
    RowPlane logits;
    std::int32_t columns = 0;
    std::int32_t top = 0;
    const std::int32_t *tokens = nullptr;
    StatisticsPlan plan;
    SlicePart *parts = nullptr; ///< (rows × slices)
    LogitSummary *summaries = nullptr;
};

/// The token asked for, or -1.
__device__ std::int32_t tokenOf(const StatisticsCall &call, std::int64_t row)
{
    const std::int32_t token = call.tokens ? call.tokens[row] : -1;
    return token < call.columns ? token : -1;
}

__global__ void __launch_bounds__(sliceThreads)
    summarizeSliceKernel(StatisticsCall call, std::uint64_t *lists)
{
    followPrevious();
    auto &shared = sharedMemory<SliceShared>();
    const auto slices = static_cast<unsigned>(call.plan.slices);
    const std::int64_t row = blockIdx.x / slices;
    const std::int32_t begin = static_cast<std::int32_t>(blockIdx.x % slices) * sliceColumns;
    const float *logits = call.logits.data + row * call.logits.stride;
    const std::int32_t token = tokenOf(call, row);
    const std::uint64_t tokenKey = token >= 0 ? keyOf(logits[token], token) : 0xFFFFFFFFFFFFFFFFU;
    const unsigned sorted = 1U << call.plan.sliceBits;

    Four kept[slicePasses];
    SliceSums sums;
    float maximum = -infinity();
    for (int pass = 0; pass < slicePasses; ++pass) {
        const unsigned place = 4 * (threadIdx.x + pass * sliceThreads);
        const std::int32_t column = begin + static_cast<std::int32_t>(place);
        kept[pass] = loadFour(logits, column, call.columns, call.logits.isAligned);
        for (int k = 0; k < 4; ++k) {
            float &logit = kept[pass].value[k];
            const bool isThere = column + k < call.columns;
            const std::uint64_t key = isThere ? keyOf(logit, column + k) : 0U;
            if (place + k < sorted)
                shared.keys[place + k] = key;
            sums.before += key > tokenKey ? 1 : 0;
            if (isThere && logit != logit)
                ++sums.nans;
            if (!isThere || logit != logit)
                logit = -infinity();
            maximum = Larger()(logit, maximum);
        }
    }
    // note: its barrier also is the one between writing the keys and sorting them.
    maximum = blockJoin(maximum, Larger(), -infinity(), shared.maxima);
    for (int pass = 0; pass < slicePasses; ++pass) {
        for (int k = 0; k < 4; ++k)
            addLogit(sums, kept[pass].value[k], maximum);
    }
    sums = blockJoin(sums, AddSums(), SliceSums(), shared.sums);
    if (threadIdx.x == 0)
        call.parts[blockIdx.x] = {sums, maximum};

    sortRuns(shared.keys, call.plan.sliceBits, call.plan.listBits);
    keepLargest(shared.keys, call.plan.sliceBits, call.plan.listBits);
    const unsigned length = 1U << call.plan.listBits;
    for (unsigned i = threadIdx.x; i < length; i += sliceThreads)
        lists[(std::uint64_t(blockIdx.x) << call.plan.listBits) + i] = shared.keys[i];
}

__device__ void fillSummary(const StatisticsCall &call, std::int64_t row, TopLogit first, const RowSums &sums)
{
    LogitSummary &summary = call.summaries[row];
    const double none = notANumber();
    const float *logits = call.logits.data + row * call.logits.stride;
    const std::int32_t token = tokenOf(call, row);
    summary.maximum = first.logit;
    summary.argmax = first.id;
    summary.topCount = call.top < call.columns ? call.top : call.columns;
    summary.tokenLogit = token >= 0 ? logits[token] : notANumber();
    summary.tokenRank = token >= 0 ? sums.before : call.columns;
    summary.flaw = sums.nans > 0 ? LogitRowFlaw::NotANumber : LogitRowFlaw::None;
    if (first.logit == -infinity())
        summary.flaw = LogitRowFlaw::NothingFinite;
    if (first.logit == infinity())
        summary.flaw = LogitRowFlaw::PositiveInfinity;
    const bool hasSums = first.logit > -infinity() && first.logit < infinity();
    const double spread = log(sums.weights);
    // H = -Σ p ln p with ln p = l - M - ln Σ; rounding must not give a tiny negative number.
    const double nats = spread - sums.moments / sums.weights;
    const double ln2 = 0.69314718055994530942;
    const double logSumExp = double(first.logit) + spread;
    summary.logSumExp = hasSums ? logSumExp : none;
    summary.entropyBits = hasSums ? Larger()(nats, 0.0) / ln2 : none;
    summary.tokenLogProbability =
        hasSums && token >= 0 ? double(logitOf(keyOf(logits[token], token)).logit) - logSumExp : none;
}

/// Lists of a row become fewer; the last time the summary is written instead.
__global__ void __launch_bounds__(mergeThreads)
    mergeListsKernel(StatisticsCall call, const std::uint64_t *from, std::int32_t lists, std::uint64_t *to,
                     std::int32_t listsLeft)
{
    followPrevious();
    struct Shared
    {
        std::uint64_t keys[mergeKeys];
    };
    std::uint64_t *keys = sharedMemory<Shared>().keys;
    const int lengthBits = call.plan.listBits;
    const std::int64_t row = blockIdx.x / static_cast<unsigned>(listsLeft);
    const std::int32_t place = static_cast<std::int32_t>(blockIdx.x % static_cast<unsigned>(listsLeft));
    const std::int32_t first = place * call.plan.mergedLists;
    const std::int32_t count = lists - first < call.plan.mergedLists ? lists - first : call.plan.mergedLists;
    int countBits = lengthBits;
    while ((1 << (countBits - lengthBits)) < count)
        ++countBits;

    const std::uint64_t *own = from + ((row * lists + first) << lengthBits);
    const unsigned filled = static_cast<unsigned>(count) << lengthBits;
    for (unsigned i = threadIdx.x; i < 1U << countBits; i += mergeThreads)
        keys[i] = i < filled ? own[i] : 0U;
    __syncthreads();
    keepLargest(keys, countBits, lengthBits);

    if (listsLeft > 1) {
        for (unsigned i = threadIdx.x; i < 1U << lengthBits; i += mergeThreads)
            to[(std::uint64_t(blockIdx.x) << lengthBits) + i] = keys[i];
        return;
    }
    for (unsigned i = threadIdx.x; i < 1U << lengthBits; i += mergeThreads) {
        if (static_cast<std::int32_t>(i) < call.top && static_cast<std::int32_t>(i) < call.columns)
            call.summaries[row].top[i] = logitOf(keys[i]);
    }
    if (threadIdx.x < warpLanes) {
        const TopLogit largest = logitOf(keys[0]);
        const RowSums sums = joinSlices(call.parts + row * call.plan.slices, call.plan.slices,
                                        static_cast<int>(threadIdx.x), largest.logit);
        if (threadIdx.x == 0)
            fillSummary(call, row, largest, sums);
    }
}

} // namespace

std::uint64_t logitSummaryBytes(std::int32_t rows, std::int32_t columns, std::int32_t top)
{
    return statisticsPlan(rows, columns, top, sizeof(SlicePart)).bytes;
}

cudaError_t summarizeLogits(DeviceRows logits, const std::int32_t *tokens, std::int32_t top, void *scratch,
                            LogitSummary *summaries, cudaStream_t stream)
{
    const StatisticsPlan plan = statisticsPlan(logits.rows, logits.columns, top, sizeof(SlicePart));
    if (plan.slices == 0 || !logits.data || logits.stride < logits.columns || !scratch || !summaries)
        return cudaErrorInvalidValue;
    auto *bytes = static_cast<std::byte *>(scratch);
    StatisticsCall call;
    call.logits = rowPlane(logits);
    call.columns = logits.columns;
    call.top = top;
    call.tokens = tokens;
    call.plan = plan;
    call.parts = reinterpret_cast<SlicePart *>(bytes + plan.partsAt);
    call.summaries = summaries;
    auto *from = reinterpret_cast<std::uint64_t *>(bytes + plan.listsAt[0]);
    auto *to = reinterpret_cast<std::uint64_t *>(bytes + plan.listsAt[1]);

    LaunchShape shape;
    shape.grid.x = static_cast<unsigned>(logits.rows) * static_cast<unsigned>(plan.slices);
    shape.block.x = sliceThreads;
    shape.sharedBytes = sizeof(SliceShared);
    cudaError_t status = launch(summarizeSliceKernel, shape, stream, call, from);
    std::int32_t lists = plan.slices;
    shape.block.x = mergeThreads;
    shape.sharedBytes = sizeof(std::uint64_t) * mergeKeys;
    do {
        if (status != cudaSuccess)
            return status;
        const std::int32_t left = listsAfterMerge(plan, lists);
        shape.grid.x = static_cast<unsigned>(logits.rows) * static_cast<unsigned>(left);
        status = launch(mergeListsKernel, shape, stream, call, static_cast<const std::uint64_t *>(from),
                        lists, to, left);
        lists = left;
        std::swap(from, to);
    } while (lists > 1);
    return status;
}

} // namespace tokenloupe::cuda
