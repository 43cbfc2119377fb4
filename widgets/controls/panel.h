// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

class QVBoxLayout;
class QLabel;
class QHBoxLayout;
class QPushButton;
class QStackedLayout;

namespace tokenloupe {

/// Frame that all panels share: a heading with the title on the left and, muted and right-aligned, the number
/// that the panel is about; below it the content, or an empty state that says what to do. Paints panel ground
/// and rounded border itself. Lives in a dock; the dock has no title bar of its own but this heading.
class Panel : public QWidget
{
    Q_OBJECT

public:
    explicit Panel(const QString &title, QWidget *parent = nullptr);

    QString title() const;
    QString summary() const;
    void setSummary(const QString &text);
    /// Small widget at the heading's right end, after the number (a menu button).
    void addHeadingWidget(QWidget *widget);
    QVBoxLayout *content() const { return m_content; }
    /// Gives the heading away: a dock makes it its title bar and then paints the frame round both.
    QWidget *takeHeading();
    void setTitleVisible(bool visible); ///< off while a tab above says the same
    /// Shows `text` (and a button, when `action` is not empty) instead of the content; empty `text`: the
    /// content.
    void setEmptyState(const QString &text, const QString &action = {});
    bool isEmptyState() const;

Q_SIGNALS:
    void emptyActionTriggered();

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    QLabel *m_title = nullptr;
    QLabel *m_summary = nullptr;
    QWidget *m_headingWidget = nullptr;
    QHBoxLayout *m_heading = nullptr;
    bool m_headingTaken = false;
    QVBoxLayout *m_content = nullptr;
    QStackedLayout *m_stack = nullptr;
    QWidget *m_emptyPage = nullptr;
    QLabel *m_emptyText = nullptr;
    QPushButton *m_emptyButton = nullptr;
};

} // namespace tokenloupe
