// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/sectionheading.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>

namespace tokenloupe {

SectionHeading::SectionHeading(const QString &title, QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *line = new QHBoxLayout(this);
    line->setContentsMargins(0, theme.scaled(4), 0, 0);
    line->setSpacing(theme.scaled(8));
    m_title = new QLabel(title);
    m_title->setFont(theme.font(TextRole::Heading));
    m_title->setTextFormat(Qt::PlainText);
    QFont plain = theme.font(TextRole::Heading);
    plain.setWeight(QFont::Normal);
    m_summary = new ElidedLabel;
    m_summary->setFont(plain);
    m_summary->setForegroundRole(QPalette::PlaceholderText);
    m_summary->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    line->addWidget(m_title);
    line->addWidget(m_summary, 1);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void SectionHeading::setTitle(const QString &title)
{
    m_title->setText(title);
}

QString SectionHeading::title() const
{
    return m_title->text();
}

void SectionHeading::setSummary(const QString &summary)
{
    if (m_summary->text() == summary)
        return;
    m_summary->setText(summary);
    m_summary->setAccessibleName(m_title->text() + QStringLiteral(": ") + summary);
}

QString SectionHeading::summary() const
{
    return m_summary->text();
}

} // namespace tokenloupe
