// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/flowchips.h"
#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

namespace tokenloupe {

struct RunRecord;
class Tokenizer;

/// The exact prompt of the selected step's run, as the model got it: every token, control tokens too, with
/// its id.
class PromptPanel : public LivePanel, private ChipProvider
{
    Q_OBJECT

public:
    explicit PromptPanel(InspectorContext &context, QWidget *parent = nullptr);
    ~PromptPanel() override;

protected:
    void refresh() override;

private:
    int count() const override;
    TokenChip chip(int index) const override;
    QString tooltip(int index) const override;
    QString copyText(int first, int last) const override;
    const RunRecord *record() const;

    InspectorContext m_context;
    FlowChips *m_chips = nullptr;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    RunId m_run;
    std::size_t m_shown = 0; // tokens
};

} // namespace tokenloupe
