// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/cuda/makecuda.h"
#include "tests/compute/cuda/cudafixture.h"
#include "tests/session/sessionfixture.h"

namespace tokenloupe::test {

/// The CPU, and the device that the host plays.
inline Result<std::shared_ptr<Backend>> makeHosted(BackendKind kind, int threads)
{
    return kind == BackendKind::Cuda ? makeCudaBackend() : makeCpuBackend(threads);
}

/// Null where there is none, with the reason as a test failure.
inline std::unique_ptr<Session> openHosted(const std::shared_ptr<const LoadedModel> &model,
                                           const SessionSettings &settings)
{
    auto session = Session::create(model, settings, nullptr, {}, makeHosted);
    if (!session)
        QTest::qFail(session.error().text().c_str(), __FILE__, __LINE__);
    return session ? std::move(*session) : nullptr;
}

/// The likeliest tokens after a prompt; fewer where a step fails.
inline std::vector<TokenId> greedy(Session &session, std::span<const TokenId> prompt, int count)
{
    std::vector<TokenId> drawn;
    if (!session.prefill(prompt, 1))
        return drawn;
    for (int i = 0; i < count; ++i) {
        const auto step = session.step(SessionFixture::request(0.0F));
        if (!step)
            break;
        drawn.push_back(step->token);
    }
    return drawn;
}

} // namespace tokenloupe::test
