// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/conversation.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/explanationservice.h"
#include "widgets/models/inspectorcontext.h"
#include "widgets/models/runstore.h"
#include "widgets/models/samplermodel.h"
#include "widgets/models/selectionstate.h"
#include "widgets/models/tracepump.h"

namespace tokenloupe {

/// The objects at the seam between engine and window, wired to each other. Members in the order of their
/// needs.
class Inspector : public QObject
{
    Q_OBJECT

public:
    explicit Inspector(DeviceSource devices = cpuAlone(), QObject *parent = nullptr);

    InspectorContext context();

    EngineHost host;
    RunStore runs;
    TracePump pump;
    SelectionState selection;
    ExplanationService explanations;
    SamplerModel sampler;
    Conversation conversation;

private:
    void samplerChanged();
    void selectionChanged(StepRef step);
    StepRef m_whatIfStep; // the step that is explained with settings other than its own
};

} // namespace tokenloupe
