// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <QStyledItemDelegate>
#include <memory>

namespace tokenloupe {

/// Rows about tokens: the token in column 0 as a chip, numbers in tabular figures, the chosen token's row on
/// the soft accent. Models give the id and whether it is the chosen one under these roles.
class TokenCellDelegate : public QStyledItemDelegate
{
    Q_OBJECT

public:
    static constexpr int tokenIdRole = Qt::UserRole;    ///< uint
    static constexpr int chosenRole = Qt::UserRole + 1; ///< bool

    using QStyledItemDelegate::QStyledItemDelegate;

    /// Null: cells are painted as plain text.
    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer) { m_tokenizer = std::move(tokenizer); }

    void paint(QPainter *painter, const QStyleOptionViewItem &option,
               const QModelIndex &index) const override;

private:
    std::shared_ptr<const Tokenizer> m_tokenizer;
};

} // namespace tokenloupe
