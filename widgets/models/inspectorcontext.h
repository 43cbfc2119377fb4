// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tokenloupe {

class EngineHost;
class RunStore;
class SelectionState;
class ExplanationService;
class SamplerModel;
class Conversation;

/// What every panel is given: the objects at the seam, all on the GUI thread, all outliving the panels.
struct InspectorContext
{
    EngineHost &host;
    RunStore &runs;
    SelectionState &selection;
    ExplanationService &explanations;
    SamplerModel &sampler;
    Conversation &conversation;
};

} // namespace tokenloupe
