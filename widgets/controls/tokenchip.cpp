// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/tokenchip.h"

#include "engine/base/utf8.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr int longestText = 40; // characters shown; longer texts keep both ends

// Invisible or direction-changing characters would make two tokens look alike or upset the line around them.
bool isInvisible(char32_t c)
{
    return c == 0xAD || c == 0x61C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
           (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

void appendVisible(QString &out, char32_t c)
{
    if (c == U' ')
        out += QChar(0x00B7);
    else if (c == U'\n')
        out += QChar(0x23CE);
    else if (c == U'\t')
        out += QChar(0x21E5);
    else if (c < 0x20)
        out += QChar(static_cast<char16_t>(0x2400 + c));
    else if (c == 0x7F)
        out += QChar(0x2421);
    else if ((c >= 0x80 && c < 0xA0) || isInvisible(c))
        out += QStringLiteral("U+") + QString::number(c, 16).toUpper().rightJustified(4, QLatin1Char('0'));
    else
        out += QString::fromUcs4(&c, 1);
}

void appendHex(QString &out, std::string_view bytes)
{
    for (const char byte : bytes) {
        if (!out.isEmpty() && out.back() != QLatin1Char(' '))
            out += QLatin1Char(' ');
        out += QString::number(static_cast<unsigned char>(byte), 16)
                   .toUpper()
                   .rightJustified(2, QLatin1Char('0'));
    }
}

QString cutInTheMiddle(const QString &text)
{
    const auto characters = text.toUcs4();
    if (characters.size() <= longestText)
        return text;
    const qsizetype head = longestText / 2;
    const qsizetype tail = longestText - head - 1;
    const auto ucs = [&](qsizetype from, qsizetype count) {
        QString part;
        for (qsizetype i = from; i < from + count; ++i) {
            const char32_t c = characters[i];
            part += QString::fromUcs4(&c, 1);
        }
        return part;
    };
    return ucs(0, head) + QChar(0x2026) + ucs(characters.size() - tail, tail);
}

// Shown texts need both ends only: a token of 100 kB must not cost 100 kB of work at every paint.
QString visibleText(std::string_view bytes)
{
    constexpr std::size_t enough = std::size_t(longestText) * 4 * 2;
    const auto append = [](QString &out, std::string_view part) {
        for (std::size_t at = 0; at < part.size();) {
            const Utf8Unit unit = decodeUtf8(part, at);
            const std::size_t length = std::max<std::size_t>(1, unit.length);
            if (unit.valid)
                appendVisible(out, unit.codePoint);
            else
                appendHex(out, part.substr(at, length));
            at += length;
        }
    };
    QString text;
    if (bytes.size() <= 2 * enough) {
        append(text, bytes);
        return cutInTheMiddle(text);
    }
    const auto isContinuation = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; };
    std::size_t headEnd = enough;
    while (headEnd > enough - 4 && isContinuation(bytes[headEnd]))
        --headEnd;
    std::size_t tailBegin = bytes.size() - enough;
    while (tailBegin < bytes.size() - enough + 4 && isContinuation(bytes[tailBegin]))
        ++tailBegin;
    append(text, bytes.substr(0, headEnd));
    append(text, bytes.substr(tailBegin));
    return cutInTheMiddle(text);
}

struct ChipColors
{
    QColor ground, border, text, caption;
};

ChipColors colorsFor(const TokenChip &chip)
{
    const ThemeColors &c = Theme::instance().colors();
    ChipColors result{c.chip, Qt::transparent, c.text, c.mutedOnTint};
    if (chip.label.form == ChipForm::Control)
        result = {c.softAccent, Qt::transparent, c.accent, c.mutedOnTint};
    else if (chip.label.form == ChipForm::Bytes)
        result.border = c.line;
    if (chip.state == ChipState::Removed)
        result = {blended(c.panel, c.chip, 0.5), Qt::transparent, c.muted, c.muted};
    else if (chip.state == ChipState::Drawn)
        result = {c.accent, Qt::transparent, c.onAccent, c.onAccent};
    return result;
}

double padding()
{
    return Theme::instance().scaled(5);
}

} // namespace

ChipText chipText(std::string_view bytes, TokenKind kind)
{
    if (bytes.empty())
        return {QStringLiteral("∅"), kind == TokenKind::Control ? ChipForm::Control : ChipForm::Plain};
    if (kind == TokenKind::Control)
        return {visibleText(bytes), ChipForm::Control};
    if (isValidUtf8(bytes))
        return {visibleText(bytes), ChipForm::Plain};
    // Bytes that are not whole characters: all of them in hexadecimal, so that nothing is guessed.
    constexpr std::size_t most = longestText / 3;
    QString text;
    if (bytes.size() <= most) {
        appendHex(text, bytes);
    } else {
        appendHex(text, bytes.substr(0, most / 2));
        text += QStringLiteral(" … ");
        appendHex(text, bytes.substr(bytes.size() - most / 2));
    }
    return {text, ChipForm::Bytes};
}

QSizeF TokenChip::size() const
{
    const Theme &theme = Theme::instance();
    const QFontMetricsF metrics(theme.font(TextRole::Mono));
    double width = metrics.horizontalAdvance(label.text);
    double height = metrics.height() + theme.scaled(2);
    if (!caption.isEmpty()) {
        const QFontMetricsF small(theme.font(TextRole::MonoSmall));
        width = std::max(width, small.horizontalAdvance(caption));
        height += small.height() - theme.scaled(2);
    }
    return {std::ceil(width + 2 * padding()), std::ceil(height)};
}

void TokenChip::paint(QPainter &painter, const QPointF &topLeft) const
{
    const Theme &theme = Theme::instance();
    const ChipColors colors = colorsFor(*this);
    const QRectF rect(topLeft, size());
    painter.save();
    drawRounded(painter, rect, AppStyle::chipRadius, colors.ground, colors.border);
    const QFont mono = theme.font(TextRole::Mono);
    const QFontMetricsF metrics(mono);
    painter.setFont(mono);
    painter.setPen(colors.text);
    // one direction for all: an Arabic token does not change sides inside its chip
    painter.setLayoutDirection(Qt::LeftToRight);
    painter.drawText(QPointF(rect.left() + padding(), rect.top() + theme.scaled(1) + metrics.ascent()),
                     label.text);
    if (!caption.isEmpty()) {
        const QFont small = theme.font(TextRole::MonoSmall);
        painter.setFont(small);
        painter.setPen(colors.caption);
        painter.drawText(QPointF(rect.left() + padding(), rect.bottom() - QFontMetricsF(small).descent() - 1),
                         caption);
    }
    if (selected)
        drawFocusRing(painter, rect.adjusted(-2, -2, 2, 2), AppStyle::chipRadius + 2);
    painter.restore();
}

} // namespace tokenloupe
