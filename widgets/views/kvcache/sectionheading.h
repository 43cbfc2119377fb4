// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QLabel;

namespace tokenloupe {

class ElidedLabel;

/// Heading of a part of a panel: its name and, right-aligned and muted, the numbers that it is about.
class SectionHeading : public QWidget
{
    Q_OBJECT

public:
    explicit SectionHeading(const QString &title, QWidget *parent = nullptr);

    void setTitle(const QString &title);
    QString title() const;
    void setSummary(const QString &summary);
    QString summary() const;

private:
    QLabel *m_title = nullptr;
    ElidedLabel *m_summary = nullptr;
};

} // namespace tokenloupe
