// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/tokencelldelegate.h"

#include "widgets/controls/tokenchip.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QPainter>

namespace tokenloupe {

void TokenCellDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option,
                              const QModelIndex &index) const
{
    const Theme &theme = Theme::instance();
    const ThemeColors &colors = theme.colors();
    painter->save();
    const bool chosen = index.data(chosenRole).toBool();
    if (chosen)
        painter->fillRect(option.rect, colors.softAccent);
    const TokenId id(index.data(tokenIdRole).toUInt());
    if (index.column() == 0 && m_tokenizer && id.value() < m_tokenizer->size()) {
        const TokenChip chip{chipText(m_tokenizer->bytes(id), m_tokenizer->kind(id)),
                             {},
                             chosen ? ChipState::Drawn : ChipState::Normal,
                             false};
        painter->setClipRect(option.rect);
        chip.paint(*painter, {double(option.rect.left()),
                              option.rect.top() + (option.rect.height() - chip.size().height()) / 2.0});
    } else {
        painter->setFont(theme.font(TextRole::Body));
        painter->setPen(colors.text);
        drawTabular(*painter, option.rect.adjusted(0, 0, -theme.scaled(4), 0),
                    Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
    }
    painter->restore();
}

} // namespace tokenloupe
