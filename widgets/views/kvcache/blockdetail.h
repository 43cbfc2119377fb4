// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"
#include "widgets/controls/flowchips.h"

#include <QWidget>
#include <memory>

namespace tokenloupe {

class ElidedLabel;

/// What is in one block: a line of words and its tokens as chips.
class BlockDetail : public QWidget, private ChipProvider
{
    Q_OBJECT

public:
    explicit BlockDetail(QWidget *parent = nullptr);
    ~BlockDetail() override;

    /// Without a tokenizer the chips show ids.
    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer);
    void showBlock(const QString &text, std::vector<TokenId> tokens, std::uint32_t firstPosition);
    void showHint(const QString &hint); ///< while no block is pointed at
    QString text() const;
    int chipCount() const { return static_cast<int>(m_tokens.size()); }
    QString chipTextAt(int index) const { return chip(index).label.text; }

private:
    int count() const override { return chipCount(); }
    TokenChip chip(int index) const override;
    QString tooltip(int index) const override;
    QString copyText(int first, int last) const override;

    ElidedLabel *m_text = nullptr;
    FlowChips *m_chips = nullptr;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::vector<TokenId> m_tokens;
    std::uint32_t m_firstPosition = 0;
};

} // namespace tokenloupe
