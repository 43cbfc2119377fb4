// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/sourceplace.h"

#include <array>
#include <cstdint>
#include <string>

namespace cudahost {

/// What the lanes of a mask do together.
enum class WarpAction : std::uint8_t {
    Wait,
    Shuffle,     ///< each gets the value of its source lane
    Ballot,      ///< bit i: lane i's value is not 0
    MatchAny,    ///< the lanes with the same value as one's own
    AddUnsigned, ///< and on: one number from the low 32 bits of all values
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
};

struct WarpRequest
{
    std::uint32_t mask = 0;
    WarpAction action = WarpAction::Wait;
    std::uint8_t source = 0;
    std::uint64_t value = 0;
    SourcePlace place;
};

/// The lanes of a warp and what they wait for.
class Warp
{
public:
    /// A new block: lanes [0, lanes) have not begun.
    void start(unsigned int lanes);

    enum class Answer : std::uint8_t {
        Waits,
        Complete, ///< all lanes of the mask have asked: their results are there
        Wrong,    ///< see whatIsWrong()
    };

    Answer request(unsigned int lane, const WarpRequest &request)
    {
        const std::uint32_t mask = request.mask;
        m_requests[lane] = request;
        m_waiting |= 1U << lane;
        if ((mask >> lane & 1) == 0 || (mask & ~m_live) != 0)
            return Answer::Wrong;
        if ((m_waiting & mask) != mask)
            return Answer::Waits;
        return complete(request) ? Answer::Complete : Answer::Wrong;
    }
    std::string whatIsWrong(unsigned int lane) const;
    std::uint64_t result(unsigned int lane) const { return m_results[lane]; }
    /// The lane ends. False: another one waits for it.
    bool end(unsigned int lane);
    std::string whoWaitsFor(unsigned int lane) const;

    std::uint32_t waiting() const { return m_waiting; }
    const WarpRequest &requestOf(unsigned int lane) const { return m_requests[lane]; }
    std::uint32_t live() const { return m_live; }

    std::uint32_t ready = 0;     ///< lanes that can go on
    std::uint32_t atBarrier = 0; ///< lanes that wait for the block
    std::uint32_t turn = 0;      ///< from where, and in which direction, the next lane is looked for

private:
    bool complete(const WarpRequest &request);
    void findResults(std::uint32_t mask, WarpAction action);

    std::uint32_t m_live = 0;
    std::uint32_t m_waiting = 0; ///< lanes that wait for others of the warp
    std::array<WarpRequest, 32> m_requests{};
    std::array<std::uint64_t, 32> m_results{};
};

} // namespace cudahost
