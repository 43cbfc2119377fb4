// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"

#include <cuda_runtime.h>

// What the record of a step needs of a row of logits (vocabulary), so that the row itself can stay on the
// device.

namespace tokenloupe::cuda {

constexpr std::int32_t largestTop = 256;

/// The worst of a row. NaN counts as -inf, which is no flaw: it bans a token.
enum class LogitRowFlaw : std::int32_t { None, NotANumber, NothingFinite, PositiveInfinity };

struct TopLogit
{
    float logit = 0.0F;
    std::int32_t id = 0;
};

/// Of one row, in device memory. Order: larger logits first, equal ones by rising id.
struct LogitSummary
{
    double logSumExp = 0.0;           ///< NaN where nothing is finite or a logit is +inf
    double entropyBits = 0.0;         ///< of softmax; NaN as above
    double tokenLogProbability = 0.0; ///< of the token that was asked for; NaN as above and where none was
    float maximum = 0.0F;
    float tokenLogit = 0.0F; ///< as it is in the row; NaN where no token was asked for
    std::int32_t argmax = 0;
    std::int32_t tokenRank = 0; ///< from 0; the vocabulary's size where no token was asked for
    LogitRowFlaw flaw = LogitRowFlaw::None;
    std::int32_t topCount = 0;
    TopLogit top[largestTop]; ///< the first topCount; NaN shows as -inf
};

/// Scratch of summarizeLogits.
std::uint64_t logitSummaryBytes(std::int32_t rows, std::int32_t columns, std::int32_t top);

/// One summary for each row, with the `top` (0 to largestTop) largest logits. `tokens`: (rows) ids, one of
/// each row; those outside the vocabulary stand for none; null: none of any row.
cudaError_t summarizeLogits(DeviceRows logits, const std::int32_t *tokens, std::int32_t top, void *scratch,
                            LogitSummary *summaries, cudaStream_t stream);

} // namespace tokenloupe::cuda
