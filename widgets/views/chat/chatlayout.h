// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <QFont>
#include <QString>
#include <QTextLayout>
#include <memory>
#include <vector>

namespace tokenloupe {

/// A token's place in the text of a reply. Empty for tokens that completed no character.
struct TokenSpan
{
    int start = 0; ///< QChars
    int length = 0;
    StepRef step;
};

/// A message as it is laid out.
struct ChatText
{
    QString role; ///< the label above it
    QString text;
    std::vector<TokenSpan> tokens; ///< rising; empty for what people wrote
};

/// A place between two characters of a message.
struct ChatPosition
{
    int message = -1;
    int offset = 0;

    bool isValid() const { return message >= 0; }
    auto operator<=>(const ChatPosition &) const = default;
};

/// The chat's text cut into paragraphs, each laid out when it is first looked at and kept. Appending to the
/// last message lays out its last paragraph only. Heights of paragraphs not yet laid out are estimates.
class ChatLayout
{
public:
    struct Fonts
    {
        QFont role;
        QFont text;
    };
    /// A role label or a paragraph.
    struct Row
    {
        int message = 0;
        int start = 0; ///< offset in the message's text
        int length = 0;
        bool isRole = false;
        double top = 0.0;
        double height = 0.0;
        std::unique_ptr<QTextLayout> layout; ///< null: not laid out yet
    };

    void setFonts(const Fonts &fonts);
    void setWidth(double width);
    double width() const { return m_width; }
    double height() const;

    void clear();
    void appendMessage(ChatText message);
    void extendLast(const QString &added, const std::vector<TokenSpan> &tokens);
    void replaceLast(ChatText message);
    void removeFrom(int message);
    int messageCount() const { return static_cast<int>(m_messages.size()); }
    const ChatText &message(int index) const { return m_messages[std::size_t(index)]; }

    /// Rows that meet [top, bottom), laid out. May change heights of rows in it and the places of those
    /// below.
    std::vector<const Row *> rowsIn(double top, double bottom);
    const std::vector<Row> &rows() const { return m_rows; }
    /// Lays out the paragraph that holds this place, wherever it is.
    void layOutAt(ChatPosition position);

    /// The nearest place in the text; invalid when there is no text.
    ChatPosition positionAt(const QPointF &point);
    /// The token under the point; nullptr beside all.
    const TokenSpan *tokenAt(const QPointF &point);
    /// Rectangles of a range of one message, one a line.
    std::vector<QRectF> rectsOf(int message, int start, int length);
    QString textBetween(ChatPosition from, ChatPosition to) const;

    /// Height of a line of text: 1.75 times the font size.
    double lineHeight() const { return m_lineHeight; }

private:
    void buildRows(int message);
    void placeFrom(std::size_t row);
    void layOut(Row &row);
    double estimatedHeight(int length) const;
    std::size_t rowAt(double y) const;

    Fonts m_fonts;
    double m_width = 100.0;
    double m_lineHeight = 24.0;
    double m_charWidth = 8.0;
    std::vector<ChatText> m_messages;
    std::vector<Row> m_rows;
};

} // namespace tokenloupe
