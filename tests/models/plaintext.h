// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"
#include "tests/support/tinymodel.h"

#include <limits>

namespace tokenloupe::test {

/// The default chain, but for tokens that a tiny random model shall not draw in a test: ends of a turn, and
/// bytes that are no ASCII text. By chance those make up letters of scripts for which the machine may have no
/// font, and Qt warns.
inline SamplerSettings plainTextSettings()
{
    SamplerSettings settings = SamplerSettings::defaults();
    constexpr float never = -std::numeric_limits<float>::infinity();
    LogitBiasParams bans{{{TokenId(tinyEos), never}, {TokenId(tinyTurnEnd), never}}};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        if (byte < 0x20 || byte >= 0x7F)
            bans.biases.emplace_back(TokenId(tinyFirstByte + byte), never);
    }
    settings.find(StageKind::LogitBias)->params = bans;
    return settings;
}

} // namespace tokenloupe::test
