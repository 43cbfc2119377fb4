// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/warp.h"

#include <algorithm>
#include <cstdio>

namespace cudahost {

namespace {

std::string hex(std::uint32_t bits)
{
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%08x", bits);
    return text.data();
}

unsigned int firstLane(std::uint32_t lanes)
{
    return static_cast<unsigned int>(__builtin_ctz(lanes));
}

std::uint32_t combine(WarpAction action, std::uint32_t a, std::uint32_t b)
{
    const auto signedA = static_cast<std::int32_t>(a);
    const auto signedB = static_cast<std::int32_t>(b);
    switch (action) {
    case WarpAction::AddUnsigned:
        return a + b;
    case WarpAction::MinUnsigned:
        return std::min(a, b);
    case WarpAction::MaxUnsigned:
        return std::max(a, b);
    case WarpAction::MinSigned:
        return static_cast<std::uint32_t>(std::min(signedA, signedB));
    case WarpAction::MaxSigned:
        return static_cast<std::uint32_t>(std::max(signedA, signedB));
    case WarpAction::And:
        return a & b;
    case WarpAction::Or:
        return a | b;
    default:
        return a ^ b;
    }
}

// What a lane gets from one that takes no part: undefined on a device, a NaN in every type here.
constexpr std::uint64_t undefinedValue = ~std::uint64_t{0};

} // namespace

void Warp::start(unsigned int lanes)
{
    m_live = lanes == 32 ? ~0U : (1U << lanes) - 1;
    ready = m_live;
    atBarrier = 0;
    m_waiting = 0;
}

std::string Warp::whatIsWrong(unsigned int lane) const
{
    const WarpRequest &request = m_requests[lane];
    const std::uint32_t mask = request.mask;
    if ((mask >> lane & 1) == 0)
        return "lane " + std::to_string(lane) + " is missing from its own mask " + hex(mask);
    if ((mask & ~m_live) != 0)
        return "mask " + hex(mask) + " names lanes that have ended or do not exist: " + hex(mask & ~m_live);
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const WarpRequest &other = m_requests[firstLane(left)];
        if (other.mask != mask || other.action != request.action)
            return "lane " + std::to_string(lane) + " with mask " + hex(mask) + " meets lane " +
                   std::to_string(firstLane(left)) + " at line " + std::to_string(other.place.line) +
                   (other.mask != mask ? " with mask " + hex(other.mask) : " that does something else");
    }
    return "nothing";
}

// False: the lanes do not want the same.
bool Warp::complete(const WarpRequest &request)
{
    const std::uint32_t mask = request.mask;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const WarpRequest &other = m_requests[firstLane(left)];
        if (other.mask != mask || other.action != request.action)
            return false;
    }
    findResults(mask, request.action);
    m_waiting &= ~mask;
    return true;
}

void Warp::findResults(std::uint32_t mask, WarpAction action)
{
    const auto setAll = [&](std::uint64_t result) {
        for (std::uint32_t left = mask; left != 0; left &= left - 1)
            m_results[firstLane(left)] = result;
    };
    switch (action) {
    case WarpAction::Wait:
        return;
    case WarpAction::Shuffle:
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
            const unsigned int lane = firstLane(left);
            const unsigned int source = m_requests[lane].source;
            m_results[lane] = (mask >> source & 1) != 0 ? m_requests[source].value : undefinedValue;
        }
        return;
    case WarpAction::Ballot: {
        std::uint32_t bits = 0;
        for (std::uint32_t left = mask; left != 0; left &= left - 1)
            bits |= m_requests[firstLane(left)].value != 0 ? 1U << firstLane(left) : 0;
        setAll(bits);
        return;
    }
    case WarpAction::MatchAny:
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
            std::uint32_t same = 0;
            for (std::uint32_t others = mask; others != 0; others &= others - 1)
                if (m_requests[firstLane(others)].value == m_requests[firstLane(left)].value)
                    same |= 1U << firstLane(others);
            m_results[firstLane(left)] = same;
        }
        return;
    default: {
        auto result = static_cast<std::uint32_t>(m_requests[firstLane(mask)].value);
        for (std::uint32_t left = mask & (mask - 1); left != 0; left &= left - 1)
            result = combine(action, result, static_cast<std::uint32_t>(m_requests[firstLane(left)].value));
        setAll(result);
    }
    }
}

bool Warp::end(unsigned int lane)
{
    const std::uint32_t bit = 1U << lane;
    m_live &= ~bit;
    for (std::uint32_t left = m_waiting; left != 0; left &= left - 1)
        if ((m_requests[firstLane(left)].mask & bit) != 0)
            return false;
    return true;
}

std::string Warp::whoWaitsFor(unsigned int lane) const
{
    for (std::uint32_t left = m_waiting; left != 0; left &= left - 1) {
        const WarpRequest &waiting = m_requests[firstLane(left)];
        if ((waiting.mask >> lane & 1) != 0)
            return "lane " + std::to_string(firstLane(left)) + " waits for it at " + waiting.place.file +
                   ':' + std::to_string(waiting.place.line);
    }
    return "nobody waits for it";
}

} // namespace cudahost
