// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/overflow.h"

#include <QString>
#include <cstdint>

namespace tokenloupe {

/// Whether a reply will fit.
struct ContextOutlook
{
    std::uint32_t contextTokens = 0;
    std::uint32_t tokens = 0;   ///< in the context when the newest step was drawn
    std::uint32_t steps = 0;    ///< drawn so far
    std::uint32_t maxSteps = 0; ///< the reply may have; 0: no limit
    OverflowPolicy overflow = OverflowPolicy::Stop;
    std::uint32_t sinkTokens = 4; ///< Streaming: how many stay at the front
};

/// "Context ends at step 212 of 512: the reply will stop there"; empty when the reply fits, and when it has
/// no length of its own to compare.
QString contextWarning(const ContextOutlook &outlook);

} // namespace tokenloupe
