// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/blockdetail.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/tokentext.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QVBoxLayout>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr int chipRows = 2;

bool knows(const std::shared_ptr<const Tokenizer> &tokenizer, TokenId id)
{
    return tokenizer && id.value() < tokenizer->size();
}

} // namespace

BlockDetail::BlockDetail(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.scaled(2));
    m_text = new ElidedLabel;
    m_text->setFont(theme.font(TextRole::Small));
    m_text->setForegroundRole(QPalette::PlaceholderText);
    column->addWidget(m_text);
    m_chips = new FlowChips;
    m_chips->setAccessibleName(tr("Tokens in the block"));
    m_chips->setProvider(this);
    const TokenChip sample{{QStringLiteral("x"), ChipForm::Plain}, {}, ChipState::Normal, false};
    const int row = static_cast<int>(std::ceil(sample.size().height())) + theme.scaled(4);
    m_chips->setFixedHeight(chipRows * row + 2);
    column->addWidget(m_chips);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

BlockDetail::~BlockDetail()
{
    m_chips->setProvider(nullptr);
}

void BlockDetail::setTokenizer(std::shared_ptr<const Tokenizer> tokenizer)
{
    if (tokenizer == m_tokenizer)
        return;
    m_tokenizer = std::move(tokenizer);
    m_chips->itemsReset();
}

void BlockDetail::showBlock(const QString &text, std::vector<TokenId> tokens, std::uint32_t firstPosition)
{
    m_text->setText(text);
    m_text->setAccessibleName(text);
    if (tokens == m_tokens && firstPosition == m_firstPosition)
        return;
    m_tokens = std::move(tokens);
    m_firstPosition = firstPosition;
    m_chips->setFocusPolicy(m_tokens.empty() ? Qt::NoFocus : Qt::StrongFocus);
    m_chips->itemsReset();
}

void BlockDetail::showHint(const QString &hint)
{
    showBlock(hint, {}, 0);
}

QString BlockDetail::text() const
{
    return m_text->text();
}

TokenChip BlockDetail::chip(int index) const
{
    const TokenId id = m_tokens[std::size_t(index)];
    const ChipText label = knows(m_tokenizer, id) ? chipText(m_tokenizer->bytes(id), m_tokenizer->kind(id))
                                                  : ChipText{QString::number(id.value()), ChipForm::Plain};
    return {label, {}, ChipState::Normal, false};
}

QString BlockDetail::tooltip(int index) const
{
    const TokenId id = m_tokens[std::size_t(index)];
    const QString where =
        tr("position %1").arg(formatCount(std::uint64_t(m_firstPosition) + std::uint64_t(index)));
    if (!knows(m_tokenizer, id))
        return tr("token %1").arg(id.value()) + QLatin1Char('\n') + where;
    return tokenDescription(*m_tokenizer, id) + QLatin1Char('\n') + where;
}

QString BlockDetail::copyText(int first, int last) const
{
    return m_tokenizer ? tokensText(*m_tokenizer, m_tokens, first, last)
                       : ChipProvider::copyText(first, last);
}

} // namespace tokenloupe
