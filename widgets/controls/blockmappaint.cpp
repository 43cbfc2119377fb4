// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/blockmappaint.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>

namespace tokenloupe {

namespace {

constexpr double paleStrength = 0.74;   // of blocks that other sequences own; still 3:1 against the panel
constexpr double cachedStrength = 0.35; // ground of the hatch

QColor fillColor(const Block &block)
{
    const ThemeColors &c = Theme::instance().colors();
    const bool hit = block.flags.testFlag(BlockFlag::PrefixHit);
    if (block.state == BlockState::Cached)
        return c.stage(hit ? StageFamily::MassCut : StageFamily::Raw);
    const QColor full = c.stage(hit ? StageFamily::MassCut : StageFamily::CountCut);
    return block.flags.testFlag(BlockFlag::Other) ? blended(c.panel, full, paleStrength) : full;
}

void paintFill(QPainter &painter, const QRectF &rect, const Block &block, double level)
{
    const ThemeColors &c = Theme::instance().colors();
    const QRectF filled(rect.left(), level, rect.width(), rect.bottom() - level);
    const QColor color = fillColor(block);
    if (block.state == BlockState::Active) {
        painter.fillRect(filled, color);
        return;
    }
    painter.fillRect(filled, blended(c.panel, color, cachedStrength));
    painter.save();
    painter.setClipRect(filled, Qt::IntersectClip);
    painter.setPen(QPen(c.muted, 1.0));
    const double pitch = rect.width() >= 12.0 ? 4.0 : 3.0;
    for (double x = rect.left() - rect.height(); x < rect.right(); x += pitch)
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()));
    painter.restore();
}

void paintCorner(QPainter &painter, const QPointF &corner, double dx, double dy, const QColor &color)
{
    QPainterPath triangle(corner);
    triangle.lineTo(corner + QPointF(dx, 0.0));
    triangle.lineTo(corner + QPointF(0.0, dy));
    triangle.closeSubpath();
    painter.fillPath(triangle, color);
}

void paintShared(QPainter &painter, const QRectF &rect, const Block &block)
{
    const ThemeColors &c = Theme::instance().colors();
    const QColor ground = fillColor(block);
    const QColor ink = contrastRatio(c.panel, ground) >= contrastRatio(c.text, ground) ? c.panel : c.text;
    const double side = rect.width();
    if (side < Theme::instance().scaled(12)) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        painter.drawEllipse(rect.center(), side / 6.0, side / 6.0);
        return;
    }
    QFont font = Theme::instance().font(TextRole::Small);
    font.setPixelSize(static_cast<int>(side * 0.72));
    font.setWeight(QFont::DemiBold);
    painter.setFont(font);
    painter.setPen(ink);
    painter.drawText(rect, Qt::AlignCenter | Qt::TextDontClip,
                     block.shared < 10 ? QString::number(block.shared) : QStringLiteral("9+"));
}

void paintOutlines(QPainter &painter, const QRectF &rect, const Block &block, int gap, double radius)
{
    const ThemeColors &c = Theme::instance().colors();
    const double away = gap >= 4 ? 1.5 : 0.5;
    if (block.flags.testFlag(BlockFlag::Selected)) {
        painter.setPen(QPen(c.accent, 2.0));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-away, -away, away, away), radius + 1, radius + 1);
    } else if (block.flags.testFlag(BlockFlag::Own) && gap >= 2) {
        painter.setPen(QPen(c.text, 1.0));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(rect.adjusted(-away, -away, away, away), radius + 1, radius + 1);
    }
}

} // namespace

Block mergedBlock(const Block *first, const Block *last)
{
    Block result = *first;
    float fill = 0.0F;
    bool everyOther = true;
    for (const Block *block = first; block != last; ++block) {
        fill += block->fill;
        if (block->state == BlockState::Active || result.state == BlockState::Free)
            result.state = block->state;
        result.flags |= block->flags;
        result.shared = std::max(result.shared, block->shared);
        if (block->state == BlockState::Active)
            everyOther = everyOther && block->flags.testFlag(BlockFlag::Other);
    }
    result.flags.setFlag(BlockFlag::Other, result.state == BlockState::Active && everyOther);
    result.fill = fill / static_cast<float>(last - first);
    return result;
}

void paintBlock(QPainter &painter, const QRectF &rect, const Block &block, int gap)
{
    const ThemeColors &c = Theme::instance().colors();
    const double side = rect.width();
    const double radius = std::min(3.0, side / 4.0);
    drawRounded(painter, rect, radius, c.chip, Qt::transparent);
    const bool filled = block.state != BlockState::Free && block.fill > 0.0F;
    const double level =
        rect.bottom() - rect.height() * static_cast<double>(std::clamp(block.fill, 0.0F, 1.0F));
    QPainterPath shape;
    shape.addRoundedRect(rect, radius, radius);
    painter.save();
    painter.setClipPath(shape, Qt::IntersectClip);
    if (filled) {
        paintFill(painter, rect, block, level);
        if (block.flags.testFlag(BlockFlag::PrefixHit))
            paintCorner(painter, rect.topLeft(), side * 0.42, side * 0.42, c.panel);
    }
    if (block.flags.testFlag(BlockFlag::Written)) {
        const double bar = std::max(2.0, side / 8.0);
        painter.fillRect(QRectF(rect.left(),
                                std::min(std::max(rect.top(), level - bar / 2), rect.bottom() - bar), side,
                                bar),
                         c.text);
    }
    if (block.flags.testFlag(BlockFlag::Evicted)) {
        const double size = side * 0.5;
        paintCorner(painter, rect.bottomRight(), -size - 2.5, -size - 2.5, c.panel);
        paintCorner(painter, rect.bottomRight(), -size, -size, c.stage(StageFamily::Penalties));
    }
    painter.restore();
    if (filled && block.shared > 1)
        paintShared(painter, rect, block);
    paintOutlines(painter, rect, block, gap, radius);
}

std::vector<BlockMark> marksIn(const std::vector<Block> &blocks)
{
    constexpr std::array flags{
        std::pair{BlockFlag::Own, BlockMark::Own}, std::pair{BlockFlag::Other, BlockMark::Other},
        std::pair{BlockFlag::PrefixHit, BlockMark::PrefixHit},
        std::pair{BlockFlag::Written, BlockMark::Written}, std::pair{BlockFlag::Evicted, BlockMark::Evicted}};
    std::uint32_t seen = 0;
    const auto see = [&seen](BlockMark mark) { seen |= 1U << static_cast<unsigned>(mark); };
    for (const Block &block : blocks) {
        see(block.state == BlockState::Free     ? BlockMark::Free
            : block.state == BlockState::Cached ? BlockMark::Cached
                                                : BlockMark::Active);
        for (const auto &[flag, mark] : flags)
            if (block.flags.testFlag(flag))
                see(mark);
        if (block.shared > 1)
            see(BlockMark::Shared);
    }
    std::vector<BlockMark> marks;
    for (unsigned mark = 0; mark <= static_cast<unsigned>(BlockMark::Free); ++mark)
        if (seen & (1U << mark))
            marks.push_back(static_cast<BlockMark>(mark));
    return marks;
}

Block sampleOf(BlockMark mark)
{
    switch (mark) {
    case BlockMark::Active:
        return {BlockState::Active, 1.0F, {}, 0};
    case BlockMark::Own:
        return {BlockState::Free, 0.0F, BlockFlag::Own, 0};
    case BlockMark::Other:
        return {BlockState::Active, 1.0F, BlockFlag::Other, 0};
    case BlockMark::PrefixHit:
        return {BlockState::Active, 1.0F, BlockFlag::PrefixHit, 0};
    case BlockMark::Shared:
        return {BlockState::Active, 1.0F, {}, 2};
    case BlockMark::Written:
        return {BlockState::Active, 0.5F, BlockFlag::Written, 0};
    case BlockMark::Evicted:
        return {BlockState::Free, 0.0F, BlockFlag::Evicted, 0};
    case BlockMark::Cached:
        return {BlockState::Cached, 1.0F, {}, 0};
    case BlockMark::Free:
        return {};
    }
    return {};
}

} // namespace tokenloupe
