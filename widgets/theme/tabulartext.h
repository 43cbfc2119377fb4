// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QRectF>
#include <QString>

class QPainter;

namespace tokenloupe {

/// Numbers whose digits are all equally wide, so that columns line up and changing values do not jitter. Qt
/// before 6.7 cannot ask a font for its tabular figures; digits are placed one by one in cells of the widest
/// digit.
double tabularWidth(const QFont &font, const QString &text);
/// In the painter's pen and font; one line, vertically centred unless `alignment` says otherwise.
void drawTabular(QPainter &painter, const QRectF &rect, Qt::Alignment alignment, const QString &text);

} // namespace tokenloupe
