// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/panel.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStackedLayout>
#include <QVBoxLayout>

namespace tokenloupe {

Panel::Panel(const QString &title, QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    const int side = theme.scaled(12);
    setAccessibleName(title);

    m_title = new QLabel(title, this);
    m_title->setFont(theme.font(TextRole::Heading));
    m_title->setTextFormat(Qt::PlainText);
    m_summary = new ElidedLabel(this);
    QFont plain = theme.font(TextRole::Heading);
    plain.setWeight(QFont::Normal);
    m_summary->setFont(plain);
    m_summary->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_summary->setForegroundRole(QPalette::PlaceholderText);

    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(1, 1, 1, theme.scaled(8));
    outer->setSpacing(0);
    m_headingWidget = new QWidget(this);
    m_heading = new QHBoxLayout(m_headingWidget);
    m_heading->setContentsMargins(side, theme.scaled(6), side, theme.scaled(4));
    m_heading->setSpacing(theme.scaled(8));
    m_heading->addWidget(m_title);
    m_heading->addWidget(m_summary, 1);
    outer->addWidget(m_headingWidget);

    m_stack = new QStackedLayout;
    outer->addLayout(m_stack, 1);
    auto *contentPage = new QWidget(this);
    m_content = new QVBoxLayout(contentPage);
    m_content->setContentsMargins(side, 0, side, 0);
    m_content->setSpacing(theme.scaled(4));
    m_stack->addWidget(contentPage);

    m_emptyPage = new QWidget(this);
    auto *empty = new QVBoxLayout(m_emptyPage);
    empty->setContentsMargins(side, 0, side, 0);
    empty->setSpacing(theme.scaled(12));
    empty->addStretch(1);
    m_emptyText = new QLabel(m_emptyPage);
    m_emptyText->setTextFormat(Qt::PlainText);
    m_emptyText->setWordWrap(true);
    m_emptyText->setAlignment(Qt::AlignCenter);
    m_emptyText->setForegroundRole(QPalette::PlaceholderText);
    empty->addWidget(m_emptyText);
    m_emptyButton = new QPushButton(m_emptyPage);
    m_emptyButton->setDefault(true);
    empty->addWidget(m_emptyButton, 0, Qt::AlignHCenter);
    empty->addStretch(1);
    m_stack->addWidget(m_emptyPage);
    connect(m_emptyButton, &QPushButton::clicked, this, &Panel::emptyActionTriggered);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

QString Panel::title() const
{
    return m_title->text();
}

QString Panel::summary() const
{
    return m_summary->text();
}

void Panel::setSummary(const QString &text)
{
    if (m_summary->text() == text)
        return;
    m_summary->setText(text);
    m_summary->setAccessibleName(title() + QStringLiteral(": ") + text);
    setAccessibleDescription(text);
}

void Panel::addHeadingWidget(QWidget *widget)
{
    m_heading->addWidget(widget);
}

QWidget *Panel::takeHeading()
{
    m_headingTaken = true;
    layout()->removeWidget(m_headingWidget);
    return m_headingWidget;
}

void Panel::setTitleVisible(bool visible)
{
    m_title->setVisible(visible);
}

void Panel::setEmptyState(const QString &text, const QString &action)
{
    m_emptyText->setText(text);
    m_emptyButton->setText(action);
    m_emptyButton->setVisible(!action.isEmpty());
    m_stack->setCurrentIndex(text.isEmpty() ? 0 : 1);
}

bool Panel::isEmptyState() const
{
    return m_stack->currentIndex() == 1;
}

void Panel::paintEvent(QPaintEvent *)
{
    if (m_headingTaken)
        return; // the dock paints the frame
    const ThemeColors &colors = Theme::instance().colors();
    QPainter painter(this);
    drawRounded(painter, rect(), AppStyle::panelRadius, colors.panel, colors.line);
}

} // namespace tokenloupe
