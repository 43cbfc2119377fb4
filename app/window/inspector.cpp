// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/inspector.h"

namespace tokenloupe {

Inspector::Inspector(DeviceSource devices, QObject *parent)
    : QObject(parent)
    , host(std::move(devices))
    , pump(host.mailbox(), runs)
    , selection(runs)
    , explanations(host, runs, selection)
    , conversation(host, runs, sampler)
{
    connect(&host, &EngineHost::modelOpened, this, [this] {
        runs.clear();
        conversation.newChat();
    });
    // What was recorded before the state changed is shown with it, not a tick later.
    connect(&host, &EngineHost::statusChanged, &pump, &TracePump::pumpNow);
    connect(&sampler, &SamplerModel::settingsChanged, this, &Inspector::samplerChanged);
    connect(&selection, &SelectionState::changed, this, &Inspector::selectionChanged);
}

InspectorContext Inspector::context()
{
    return {host, runs, selection, explanations, sampler, conversation};
}

void Inspector::samplerChanged()
{
    host.setSampler(sampler.settings());
    // The selected step is explained anew with what is set now; steps that come are drawn with it anyway.
    m_whatIfStep = selection.current();
    explanations.setWhatIf(m_whatIfStep.isValid() ? sampler.settings() : nullptr);
}

void Inspector::selectionChanged(StepRef step)
{
    if (m_whatIfStep.isValid() && step != m_whatIfStep) {
        m_whatIfStep = {};
        explanations.setWhatIf(nullptr);
    }
}

} // namespace tokenloupe
