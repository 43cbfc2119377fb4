// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/prompttokens.h"
#include "widgets/controls/flowchips.h"
#include "widgets/controls/panel.h"
#include "widgets/models/inspectorcontext.h"
#include "widgets/models/latestworker.h"

#include <memory>

class QCheckBox;
class QPlainTextEdit;

namespace tokenloupe {

/// A field in which any text is split as one types: chips with ids; hover tells bytes, kind and place.
/// Pointing at a chip marks its bytes in the text. Splitting runs on a thread of its own, so that a pasted
/// book holds nothing up.
class TokensPanel : public Panel, private ChipProvider
{
    Q_OBJECT

public:
    explicit TokensPanel(InspectorContext &context, QWidget *parent = nullptr);
    ~TokensPanel() override;

    const PromptTokens &split() const { return m_split; }

Q_SIGNALS:
    void splitChanged();

private:
    struct Job
    {
        std::uint64_t generation = 0;
        std::string text;
        SpecialTokens special = SpecialTokens::AsText;
        std::shared_ptr<const Tokenizer> tokenizer;
    };

    int count() const override;
    TokenChip chip(int index) const override;
    QString tooltip(int index) const override;
    QString copyText(int first, int last) const override;
    void splitNow();
    void deliver(std::uint64_t generation, const std::shared_ptr<const Tokenizer> &tokenizer,
                 PromptTokens split, const QString &error);
    void markInText(int index);
    void modelChanged();

    InspectorContext m_context;
    QPlainTextEdit *m_text = nullptr;
    QCheckBox *m_special = nullptr;
    FlowChips *m_chips = nullptr;
    std::shared_ptr<const Tokenizer> m_tokenizer; // of m_split
    PromptTokens m_split;
    std::uint64_t m_generation = 0;
    std::unique_ptr<LatestWorker<Job>> m_worker;
};

} // namespace tokenloupe
