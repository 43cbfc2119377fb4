// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/enginehost.h"

#include "widgets/models/engineworker.h"

namespace tokenloupe {

EngineHost::EngineHost(DeviceSource devices, QObject *parent)
    : QObject(parent)
    , m_worker(std::make_unique<Worker>(*this, std::move(devices)))
{}

EngineHost::~EngineHost() = default;

TraceMailbox &EngineHost::mailbox()
{
    return m_worker->mailbox;
}

EngineProgress EngineHost::progress() const
{
    return m_worker->progress();
}

void EngineHost::openModel(const QString &path, const SessionSettings &settings,
                           const ModelLoadOptions &options)
{
    m_worker->openModel(path.toStdString(), settings, options);
}

void EngineHost::closeModel()
{
    m_worker->closeModel();
}

void EngineHost::cancelWork()
{
    m_worker->cancelWork();
}

void EngineHost::reply(const ReplyRequest &request)
{
    m_worker->reply(request);
}

void EngineHost::run()
{
    m_worker->run();
}

void EngineHost::pause()
{
    m_worker->pause();
}

void EngineHost::step()
{
    m_worker->step();
}

void EngineHost::stop()
{
    m_worker->stop();
}

void EngineHost::force(StepIndex step, TokenId token)
{
    m_worker->force(step, token);
}

void EngineHost::setSampler(std::shared_ptr<const SamplerSettings> settings)
{
    m_worker->setSampler(std::move(settings));
}

void EngineHost::configure(const SessionSettings &settings)
{
    m_worker->configure(settings);
}

void EngineHost::setCacheUse(CacheUse use)
{
    m_worker->setCacheUse(use);
}

void EngineHost::measureOperations(Measuring measuring)
{
    m_worker->measureOperations(measuring);
}

void EngineHost::branch(StepIndex step)
{
    m_worker->branch(step);
}

void EngineHost::activate(RunId run)
{
    m_worker->activate(run);
}

void EngineHost::measureWithoutCache(const RunRecord &start, const std::vector<StepRecord> &steps)
{
    m_worker->measureWithoutCache(start, steps);
}

void EngineHost::comparePrecisions(const CompareRequest &request)
{
    m_worker->comparePrecisions(request);
}

void EngineHost::acceptDevices(const DeviceList &devices)
{
    m_devices = devices;
    Q_EMIT devicesChanged();
}

void EngineHost::acceptCache(std::shared_ptr<const CacheSnapshot> cache)
{
    m_cache = std::move(cache);
    Q_EMIT cacheChanged();
}

void EngineHost::acceptWork(std::shared_ptr<const CacheWork> work)
{
    m_cacheWork = std::move(work);
    Q_EMIT cacheWorkChanged();
}

void EngineHost::accept(const EngineStatus &status, std::shared_ptr<LogitStore> logits)
{
    m_status = status;
    m_logits = std::move(logits);
    if (std::exchange(m_modelIsNew, false))
        Q_EMIT modelOpened();
    Q_EMIT statusChanged();
}

} // namespace tokenloupe
