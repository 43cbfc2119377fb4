// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/model/vocabularydata.h"

#include <QRectF>
#include <QSizeF>
#include <QString>
#include <string_view>

class QPainter;

namespace tokenloupe {

enum class ChipForm : std::uint8_t { Plain, Control, Bytes };

/// How a token's bytes are written: "·" for a space, "⏎" for a line break, "⇥" for a tab, "E4 B8" for bytes
/// that are not whole characters, other control characters as their pictures (U+2400 …). Never empty: a token
/// without bytes shows as "∅". Long texts are cut in the middle at 40 characters.
struct ChipText
{
    QString text;
    ChipForm form = ChipForm::Plain;
};
ChipText chipText(std::string_view bytes, TokenKind kind);

enum class ChipState : std::uint8_t { Normal, Drawn, Removed };

/// A token as the whole program draws it.
struct TokenChip
{
    ChipText label;
    QString caption; ///< small line below (the id); empty: none
    ChipState state = ChipState::Normal;
    bool selected = false; ///< outlined in the accent colour

    QSizeF size() const; ///< logical pixels in the present theme's fonts
    void paint(QPainter &painter, const QPointF &topLeft) const;
};

} // namespace tokenloupe
