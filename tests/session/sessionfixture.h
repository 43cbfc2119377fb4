// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"
#include "tests/support/tinymodel.h"

#include <QTemporaryDir>

namespace tokenloupe::test {

/// A tiny random model on disk and sessions of it. Fails the running test (by a null result) where that goes
/// wrong.
class SessionFixture
{
public:
    std::shared_ptr<const LoadedModel> load(const TinyModelOptions &options = {})
    {
        auto model = loadModel(writeTinyModel(m_folder.path().toStdString(), options));
        return model ? *model : nullptr;
    }

    static std::unique_ptr<Session> open(const std::shared_ptr<const LoadedModel> &model,
                                         SessionSettings settings = {})
    {
        settings.threads = 2;
        auto session = Session::create(model, settings);
        return session ? std::move(*session) : nullptr;
    }

    /// `count` ids that repeat late, all plain pieces.
    static std::vector<TokenId> ids(std::uint32_t count, std::uint32_t seed = 0)
    {
        std::vector<TokenId> list{TokenId(tinyBos)};
        for (std::uint32_t i = 1; i < count; ++i)
            list.emplace_back(tinyFirstByte + (i * 37 + seed * 101) % 256);
        return list;
    }

    static std::vector<float> row(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

    static StepRequest request(float temperature = 0.9F)
    {
        auto settings = std::make_shared<SamplerSettings>();
        settings->stages = {StageSettings{TopKParams{40}}, StageSettings{TemperatureParams{temperature}}};
        StepRequest request;
        request.settings = settings;
        return request;
    }

private:
    QTemporaryDir m_folder;
};

} // namespace tokenloupe::test
