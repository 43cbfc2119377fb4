// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chat/chatlayout.h"

#include <QFontMetricsF>
#include <QTextOption>

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double lineFactor = 1.75; ///< of the font's pixel size
constexpr double gapBeforeRole = 14.0;
constexpr double gapAfterRole = 2.0;

} // namespace

void ChatLayout::setFonts(const Fonts &fonts)
{
    m_fonts = fonts;
    const QFontMetricsF metrics(fonts.text);
    const double pixels =
        fonts.text.pixelSize() > 0 ? fonts.text.pixelSize() : metrics.ascent() + metrics.descent();
    m_lineHeight = std::max(std::ceil(pixels * lineFactor), std::ceil(metrics.height()));
    m_charWidth = std::max(1.0, metrics.averageCharWidth());
    for (Row &row : m_rows) {
        row.layout.reset();
        row.height = row.isRole ? 0.0 : estimatedHeight(row.length);
    }
    placeFrom(0);
}

void ChatLayout::setWidth(double width)
{
    width = std::max(width, 40.0);
    if (width == m_width)
        return;
    m_width = width;
    for (Row &row : m_rows) {
        if (row.isRole)
            continue;
        row.layout.reset();
        row.height = estimatedHeight(row.length);
    }
    placeFrom(0);
}

double ChatLayout::height() const
{
    return m_rows.empty() ? 0.0 : m_rows.back().top + m_rows.back().height;
}

double ChatLayout::estimatedHeight(int length) const
{
    return m_lineHeight * std::max(1.0, std::ceil(length * m_charWidth / m_width));
}

void ChatLayout::placeFrom(std::size_t first)
{
    const QFontMetricsF role(m_fonts.role);
    double y = first == 0 ? 0.0 : m_rows[first - 1].top + m_rows[first - 1].height;
    for (std::size_t i = first; i < m_rows.size(); ++i) {
        Row &row = m_rows[i];
        if (row.isRole)
            row.height = std::ceil(role.height()) + gapAfterRole + (row.message > 0 ? gapBeforeRole : 0.0);
        row.top = y;
        y += row.height;
    }
}

void ChatLayout::clear()
{
    m_messages.clear();
    m_rows.clear();
}

void ChatLayout::buildRows(int message)
{
    const std::size_t first = m_rows.size();
    Row role;
    role.message = message;
    role.isRole = true;
    m_rows.push_back(std::move(role));
    const QString &text = m_messages[std::size_t(message)].text;
    qsizetype start = 0;
    for (;;) {
        const qsizetype end = text.indexOf(QLatin1Char('\n'), start);
        Row row;
        row.message = message;
        row.start = static_cast<int>(start);
        row.length = static_cast<int>((end < 0 ? text.size() : end) - start);
        row.height = estimatedHeight(row.length);
        m_rows.push_back(std::move(row));
        if (end < 0)
            break;
        start = end + 1;
    }
    placeFrom(first);
}

void ChatLayout::appendMessage(ChatText message)
{
    m_messages.push_back(std::move(message));
    buildRows(messageCount() - 1);
}

void ChatLayout::removeFrom(int message)
{
    if (message >= messageCount())
        return;
    m_messages.resize(std::size_t(std::max(message, 0)));
    const auto first =
        std::find_if(m_rows.begin(), m_rows.end(), [&](const Row &row) { return row.message >= message; });
    m_rows.erase(first, m_rows.end());
}

void ChatLayout::replaceLast(ChatText message)
{
    const int last = messageCount() - 1;
    removeFrom(last);
    appendMessage(std::move(message));
}

void ChatLayout::extendLast(const QString &added, const std::vector<TokenSpan> &tokens)
{
    ChatText &message = m_messages.back();
    message.tokens.insert(message.tokens.end(), tokens.begin(), tokens.end());
    if (added.isEmpty())
        return;
    message.text += added;
    // The last paragraph grows; line breaks in what came start new ones.
    const std::size_t changed = m_rows.size() - 1;
    const int start = m_rows.back().start;
    const int owner = m_rows.back().message;
    m_rows.pop_back();
    qsizetype from = start;
    for (;;) {
        const qsizetype end = message.text.indexOf(QLatin1Char('\n'), from);
        Row row;
        row.message = owner;
        row.start = static_cast<int>(from);
        row.length = static_cast<int>((end < 0 ? message.text.size() : end) - from);
        row.height = estimatedHeight(row.length);
        m_rows.push_back(std::move(row));
        if (end < 0)
            break;
        from = end + 1;
    }
    for (std::size_t i = changed; i < m_rows.size(); ++i)
        layOut(m_rows[i]);
    placeFrom(changed);
}

void ChatLayout::layOut(Row &row)
{
    if (row.layout || row.isRole)
        return;
    row.layout =
        std::make_unique<QTextLayout>(message(row.message).text.mid(row.start, row.length), m_fonts.text);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    row.layout->setTextOption(option);
    row.layout->setCacheEnabled(true);
    row.layout->beginLayout();
    double y = 0.0;
    for (;;) {
        QTextLine line = row.layout->createLine();
        if (!line.isValid())
            break;
        line.setLineWidth(m_width);
        // Fallback fonts (emoji, Chinese) may be higher than the line: the line gives way rather than
        // overlaps.
        const double height = std::max(m_lineHeight, std::ceil(line.height()));
        line.setPosition({0.0, y + (height - line.height()) / 2.0});
        y += height;
    }
    row.layout->endLayout();
    row.height = std::max(y, m_lineHeight);
}

std::size_t ChatLayout::rowAt(double y) const
{
    const auto it = std::upper_bound(m_rows.begin(), m_rows.end(), y,
                                     [](double value, const Row &row) { return value < row.top; });
    return it == m_rows.begin() ? 0 : std::size_t(it - m_rows.begin() - 1);
}

std::vector<const ChatLayout::Row *> ChatLayout::rowsIn(double top, double bottom)
{
    std::vector<const Row *> result;
    if (m_rows.empty())
        return result;
    const std::size_t first = rowAt(top);
    double y = m_rows[first].top;
    bool moved = false;
    std::size_t i = first;
    for (; i < m_rows.size() && y < bottom; ++i) {
        Row &row = m_rows[i];
        const double before = row.height;
        layOut(row);
        row.top = y;
        y += row.height;
        moved = moved || row.height != before;
        result.push_back(&row);
    }
    if (moved && i < m_rows.size())
        placeFrom(i);
    return result;
}

void ChatLayout::layOutAt(ChatPosition position)
{
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        Row &row = m_rows[i];
        if (row.isRole || row.message != position.message || row.start + row.length < position.offset)
            continue;
        layOut(row);
        placeFrom(i);
        return;
    }
}

ChatPosition ChatLayout::positionAt(const QPointF &point)
{
    if (m_rows.empty())
        return {};
    rowsIn(point.y(), point.y() + 1.0);
    Row &row = m_rows[rowAt(point.y())];
    if (row.isRole)
        return {row.message, 0};
    layOut(row);
    for (int i = 0; i < row.layout->lineCount(); ++i) {
        const QTextLine line = row.layout->lineAt(i);
        const bool last = i + 1 == row.layout->lineCount();
        if (last || point.y() - row.top < row.layout->lineAt(i + 1).position().y())
            return {row.message, row.start + line.xToCursor(point.x())};
    }
    return {row.message, row.start};
}

const TokenSpan *ChatLayout::tokenAt(const QPointF &point)
{
    if (m_rows.empty() || point.y() < 0 || point.y() > height())
        return nullptr;
    rowsIn(point.y(), point.y() + 1.0);
    Row &row = m_rows[rowAt(point.y())];
    if (row.isRole)
        return nullptr;
    layOut(row);
    for (int i = 0; i < row.layout->lineCount(); ++i) {
        const QTextLine line = row.layout->lineAt(i);
        const bool last = i + 1 == row.layout->lineCount();
        if (!last && point.y() - row.top >= row.layout->lineAt(i + 1).position().y())
            continue;
        if (point.x() < 0 || point.x() > line.naturalTextRect().right())
            return nullptr;
        const int offset = row.start + line.xToCursor(point.x(), QTextLine::CursorOnCharacter);
        const auto &tokens = message(row.message).tokens;
        auto it = std::upper_bound(tokens.begin(), tokens.end(), offset,
                                   [](int value, const TokenSpan &token) { return value < token.start; });
        while (it != tokens.begin()) {
            --it;
            if (it->length > 0)
                return offset < it->start + it->length ? &*it : nullptr;
        }
        return nullptr;
    }
    return nullptr;
}

std::vector<QRectF> ChatLayout::rectsOf(int message, int start, int length)
{
    std::vector<QRectF> rects;
    const int end = start + length;
    auto row = std::lower_bound(m_rows.begin(), m_rows.end(), message,
                                [](const Row &r, int value) { return r.message < value; });
    for (; row != m_rows.end() && row->message == message; ++row) {
        if (row->isRole || row->start + row->length < start)
            continue;
        if (row->start >= end)
            break;
        if (!row->layout)
            continue; // not looked at yet
        const int from = std::max(start - row->start, 0);
        const int to = std::min(end - row->start, row->length);
        for (int i = 0; i < row->layout->lineCount(); ++i) {
            const QTextLine line = row->layout->lineAt(i);
            const int a = std::max(from, line.textStart());
            const int b = std::min(to, line.textStart() + line.textLength());
            if (a >= b)
                continue;
            // Right-to-left runs: the ends may come in either order.
            const double x1 = line.cursorToX(a);
            const double x2 = line.cursorToX(b);
            rects.emplace_back(std::min(x1, x2), row->top + line.position().y(), std::abs(x2 - x1),
                               line.height());
        }
    }
    return rects;
}

QString ChatLayout::textBetween(ChatPosition from, ChatPosition to) const
{
    if (to < from)
        std::swap(from, to);
    QStringList parts;
    for (int i = std::max(from.message, 0); i <= to.message && i < messageCount(); ++i) {
        const QString &text = message(i).text;
        const int begin = i == from.message ? from.offset : 0;
        const int end = i == to.message ? to.offset : static_cast<int>(text.size());
        parts << text.mid(begin, end - begin);
    }
    return parts.join(QStringLiteral("\n\n"));
}

} // namespace tokenloupe
