// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"

#include <QRect>
#include <QSize>
#include <QString>
#include <QStyle>

class QPainter;

namespace tokenloupe {

/// One stage of the sampler chain as a row: drag handle, colour bar of its family, title over subtitle, the
/// number of survivors over the share of probability that they kept, and a switch. Painted by item delegates;
/// the rectangles tell where clicks go.
struct StageCard
{
    QString title;     ///< "Top-k"
    QString subtitle;  ///< "k = 40"
    QString survivors; ///< "40"; empty: not known
    QString mass;      ///< "96.0 %"; empty: nothing was cut
    StageFamily family = StageFamily::Raw;
    enum class Switch : std::uint8_t { None, Off, On } toggle = Switch::None;
    bool active = true;  ///< can change something; faded when not
    bool movable = true; ///< has a drag handle

    static QSize sizeHint();
    static QRect toggleRect(const QRect &card);
    static QRect handleRect(const QRect &card);
    /// `state`: enabled, selected, focus and mouse over of the row.
    void paint(QPainter &painter, const QRect &card, QStyle::State state) const;
};

} // namespace tokenloupe
