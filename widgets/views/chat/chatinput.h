// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPlainTextEdit>

namespace tokenloupe {

/// The message field: grows with its text up to six lines. Enter sends, Shift+Enter breaks the line.
class ChatInput : public QPlainTextEdit
{
    Q_OBJECT

public:
    explicit ChatInput(QWidget *parent = nullptr);

    void setHint(const QString &hint); ///< at the right end: "⏎ send"

Q_SIGNALS:
    void sendRequested();
    void cancelRequested(); ///< Escape

protected:
    bool event(QEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void fit();
    QString m_hint;
};

} // namespace tokenloupe
