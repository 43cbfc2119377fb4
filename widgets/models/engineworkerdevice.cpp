// SPDX-License-Identifier: GPL-3.0-or-later
// What the engine computes on.
#include "widgets/models/engineworker.h"

namespace tokenloupe {

BackendMaker EngineHost::Worker::maker()
{
    return [this](BackendKind kind, int threads) { return m_devices.make(kind, m_device, threads); };
}

Status EngineHost::Worker::reconfigure(const SessionSettings &settings, Progress *progress,
                                       const std::stop_token &stop)
{
    m_device = settings.device;
    return m_session->reconfigure(settings, progress, stop);
}

void EngineHost::Worker::measureOperations(Measuring measuring)
{
    post(CommandTag::Operations, [this, measuring](const std::stop_token &) {
        m_operationTimes = measuring;
        if (m_session)
            m_session->measureOperations(measuring);
        publish();
    });
}

void EngineHost::Worker::tellFailed(const Error &error)
{
    const QString message = QString::fromStdString(error.text());
    const bool isLost = error.code == ErrorCode::DeviceLost;
    tell([this, message, isLost] {
        if (isLost)
            Q_EMIT m_host.deviceLost(message);
        else
            Q_EMIT m_host.failed(message);
    });
}

void EngineHost::Worker::fillDevice(EngineStatus &status) const
{
    const Backend &backend = m_session->backend();
    const std::string device = backend.deviceName();
    status.device = QString::fromStdString(device.empty() ? backend.name() + " " + backend.isa() : device);
    status.deviceLayers = m_session->deviceLayers();
    status.threads = status.deviceLayers ? m_session->settings().threads : backend.threads();
    status.fallbackReason = QString::fromStdString(m_session->fallbackReason());
    status.remark = QString::fromStdString(backend.remark());
    status.deviceBytesPerSecond = backend.bytesPerSecond();
    status.deviceNeeds = m_session->deviceNeeds();
    status.deviceMemory = backend.deviceMemory();
}

} // namespace tokenloupe
