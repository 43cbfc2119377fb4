// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>
#include <cstdint>

class QLabel;
class QPushButton;

namespace tokenloupe {

/// Long work inside the panel that it concerns: what, how far, how long left, and Cancel. Never modal.
class ProgressStrip : public QWidget
{
    Q_OBJECT

public:
    explicit ProgressStrip(QWidget *parent = nullptr);

    void setTitle(const QString &what); ///< "Loading SmolLM2-135M-Instruct"
    /// `done` of `total` (0: not known yet) after `seconds`; `amount` says it in words, "41.2 of 92.1 MiB".
    void setProgress(std::uint64_t done, std::uint64_t total, double seconds, const QString &amount);
    QString detail() const;

    /// "3 s left", "2 min left"; empty while nothing can be said (the first half second, or no total).
    static QString timeLeft(std::uint64_t done, std::uint64_t total, double seconds);

Q_SIGNALS:
    void cancelRequested();

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    QLabel *m_title = nullptr;
    QLabel *m_detail = nullptr;
    QWidget *m_bar = nullptr;
    QPushButton *m_cancel = nullptr;
};

} // namespace tokenloupe
