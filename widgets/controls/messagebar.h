// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QPushButton;
class QToolButton;

namespace tokenloupe {

enum class MessageKind : std::uint8_t { Info, Warning, Error };

struct Message
{
    MessageKind kind = MessageKind::Info;
    QString what;             ///< "model.gguf could not be opened"
    QString why;              ///< "tensor 12: offset 9 231 104 is outside of the file"
    QString advice;           ///< "Download the file again."
    QString details;          ///< long text, shown on demand; empty: no button
    QString action;           ///< button that does what the advice says; empty: none
    QString otherAction = {}; ///< button below it for the second choice; empty: none
};

/// A bar inside the window that says what happened, why, and what to do; not a modal box. Hidden until
/// show().
class MessageBar : public QWidget
{
    Q_OBJECT

public:
    explicit MessageBar(QWidget *parent = nullptr);

    void showMessage(const Message &message);
    const Message &message() const { return m_message; }

Q_SIGNALS:
    void actionTriggered();
    void otherActionTriggered();
    void closed();

protected:
    void paintEvent(QPaintEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override; ///< Escape closes
    void resizeEvent(QResizeEvent *event) override;

private:
    void refreshIcon();
    void fitHeight(); ///< as high as its texts at the present width, wherever it lies
    void closeBar();

    Message m_message;
    QLabel *m_icon = nullptr;
    QLabel *m_what = nullptr;
    QLabel *m_why = nullptr;
    QLabel *m_details = nullptr;
    QPushButton *m_detailsButton = nullptr;
    QPushButton *m_actionButton = nullptr;
    QPushButton *m_otherActionButton = nullptr;
    QToolButton *m_closeButton = nullptr;
};

} // namespace tokenloupe
