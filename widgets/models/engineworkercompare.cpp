// SPDX-License-Identifier: GPL-3.0-or-later
// The two precisions side by side.
#include "widgets/models/engineworker.h"

#include "engine/compare/precisioncomparison.h"

namespace tokenloupe {

namespace {

constexpr std::size_t partPositions = 16; // that the window hears of at a time

} // namespace

void EngineHost::Worker::comparePrecisions(const CompareRequest &request)
{
    post(
        CommandTag::Compare, [this, request](const std::stop_token &stop) { compareNow(request, stop); },
        [this] { tell([this] { Q_EMIT m_host.comparisonEnded(QString()); }); });
}

void EngineHost::Worker::compareNow(const CompareRequest &request, const std::stop_token &stop)
{
    const auto end = [this](const QString &message) {
        tell([this, message] { Q_EMIT m_host.comparisonEnded(message); });
    };
    if (!m_session || m_state == EngineState::Running || request.tokens.empty())
        return end({});
    const EngineState before = m_state;
    beginWork(EngineState::Comparing);
    ComparedText part;
    part.run = request.run;
    part.tokens = std::make_shared<const std::vector<TokenId>>(request.tokens);
    const auto send = [&] {
        if (!part.positions.empty())
            tell([this, part] { Q_EMIT m_host.precisionsCompared(part); });
        part.first += static_cast<std::uint32_t>(part.positions.size());
        part.positions.clear();
    };
    const auto add = [&part](PositionComparison position) {
        part.positions.push_back(std::make_shared<const PositionComparison>(std::move(position)));
    };
    const PrecisionComparison comparison(m_session->sharedModel(), request.arithmetic,
                                         m_session->settings().precision, m_session->settings().threads);
    Status done;
    if (request.positions == ComparedPositions::Last) {
        const LogitStore::Row kept =
            request.kept.isValid() ? m_session->logits()->get(request.kept) : nullptr;
        auto last =
            comparison.last(request.tokens, kept ? std::span<const float>(*kept) : std::span<const float>(),
                            &m_progress, stop);
        part.first = static_cast<std::uint32_t>(request.tokens.size() - 1);
        if (last)
            add(std::move(*last));
        else
            done = tl::unexpected(last.error());
    } else {
        done = comparison.all(
            request.tokens,
            [&](std::uint32_t, PositionComparison position) {
                add(std::move(position));
                if (part.positions.size() == partPositions)
                    send();
            },
            &m_progress, stop);
    }
    send();
    setState(before);
    const bool tellWhy = !done && done.error().code != ErrorCode::Cancelled;
    end(tellWhy ? QString::fromStdString(done.error().text()) : QString());
}

} // namespace tokenloupe
