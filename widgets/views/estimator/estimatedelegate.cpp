// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/estimatedelegate.h"

#include "widgets/controls/stackedbar.h"
#include "widgets/models/attentionmodel.h"
#include "widgets/models/estimatepartsmodel.h"
#include "widgets/models/fittablemodel.h"
#include "widgets/models/gpulistmodel.h"
#include "widgets/models/textbookmodel.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QPainter>
#include <cmath>

namespace tokenloupe {

namespace {

// Room at both ends of a cell; of a verdict's mark; of a part's colour.
int side()
{
    return Theme::instance().scaled(6);
}
int markRoom()
{
    return Theme::instance().scaled(14);
}

// ✓ or ✗, drawn: fonts differ in theirs.
void drawVerdictMark(QPainter &painter, const QPointF &center, bool fits, const QColor &color)
{
    const double u = Theme::instance().scaled(8) / 8.0;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    if (fits) {
        painter.drawPolyline(QPolygonF{center + QPointF(-3.5 * u, 0.2 * u),
                                       center + QPointF(-1.0 * u, 2.8 * u),
                                       center + QPointF(3.5 * u, -2.8 * u)});
    } else {
        painter.drawLine(center + QPointF(-2.7 * u, -2.7 * u), center + QPointF(2.7 * u, 2.7 * u));
        painter.drawLine(center + QPointF(-2.7 * u, 2.7 * u), center + QPointF(2.7 * u, -2.7 * u));
    }
    painter.restore();
}

} // namespace

EstimateDelegate::Look EstimateDelegate::look(const QModelIndex &index) const
{
    Look result;
    const QAbstractItemModel *model = index.model();
    if (qobject_cast<const EstimatePartsModel *>(model)) {
        const QVariant color = index.data(EstimatePartsModel::ColorRole);
        result.color = color.isValid() ? color.toInt() : -1;
    } else if (qobject_cast<const FitTableModel *>(model)) {
        const QVariant fits = index.data(FitTableModel::FitsRole);
        result.hasVerdict = fits.isValid();
        result.fits = fits.toBool();
        result.isCurrent = result.hasVerdict && index.data(FitTableModel::CurrentRole).toBool();
        result.isStrong = index.data(FitTableModel::CurrentRole).toBool();
    } else if (qobject_cast<const GpuListModel *>(model)) {
        const QVariant fits = index.data(GpuListModel::FitsRole);
        result.hasVerdict = fits.isValid();
        result.fits = fits.toBool();
    } else if (qobject_cast<const TextbookModel *>(model)) {
        result.isStrong = index.data(TextbookModel::OffRole).toBool();
    } else if (qobject_cast<const AttentionModel *>(model)) {
        result.isStrong = index.data(AttentionModel::OwnRole).toBool();
    }
    return result;
}

void EstimateDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option,
                             const QModelIndex &index) const
{
    const Theme &theme = Theme::instance();
    const ThemeColors &c = theme.colors();
    const Look cell = look(index);
    painter->save();
    painter->setClipRect(option.rect);
    if (option.state & QStyle::State_Selected)
        painter->fillRect(option.rect, c.softAccent);
    QRectF text = QRectF(option.rect).adjusted(side(), 0, -side(), 0);
    QColor ink = c.text;
    if (cell.hasVerdict) {
        const QColor color = cell.fits ? c.ok : c.error;
        const QRectF ground = QRectF(option.rect).adjusted(1, 1, -1, -1);
        drawRounded(*painter, ground, AppStyle::chipRadius, blended(c.panel, color, 0.10),
                    cell.isCurrent ? c.accent : Qt::transparent);
        if (cell.isCurrent || (option.state & QStyle::State_HasFocus))
            drawFocusRing(*painter, ground, AppStyle::chipRadius);
        drawVerdictMark(*painter, QPointF(text.right() - theme.scaled(4), text.center().y()), cell.fits,
                        color);
        text.setRight(text.right() - markRoom());
        ink = cell.fits ? c.text : c.mutedOnTint;
    } else if (option.state & QStyle::State_HasFocus) {
        drawFocusRing(*painter, option.rect, AppStyle::chipRadius);
    }
    if (cell.color >= 0) {
        const double square = theme.scaled(8);
        drawRounded(*painter, QRectF(text.left(), text.center().y() - square / 2, square, square), 2,
                    StackedBar::segmentColor(cell.color), Qt::transparent);
        text.setLeft(text.left() + markRoom());
    }
    QFont font = theme.font(TextRole::Body);
    if (cell.isStrong)
        font.setWeight(QFont::DemiBold);
    painter->setFont(font);
    painter->setPen(ink);
    const QString string = index.data().toString();
    const auto alignment = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt());
    if (alignment & Qt::AlignRight)
        drawTabular(*painter, text, alignment, string);
    else
        painter->drawText(text, alignment,
                          QFontMetricsF(font).elidedText(string, Qt::ElideRight, text.width()));
    painter->restore();
}

QSize EstimateDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &index) const
{
    const Theme &theme = Theme::instance();
    const Look cell = look(index);
    QFont font = theme.font(TextRole::Body);
    if (cell.isStrong)
        font.setWeight(QFont::DemiBold);
    const double width = tabularWidth(font, index.data().toString()) + 2 * side() +
                         (cell.hasVerdict || cell.color >= 0 ? markRoom() : 0);
    return QSize(static_cast<int>(std::ceil(width)) + 1, theme.scaled(22));
}

} // namespace tokenloupe
