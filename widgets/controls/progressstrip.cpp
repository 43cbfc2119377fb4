// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/progressstrip.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr int barSteps = 1000;

} // namespace

ProgressStrip::ProgressStrip(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *outer = new QHBoxLayout(this);
    outer->setContentsMargins(theme.scaled(12), theme.scaled(8), theme.scaled(8), theme.scaled(8));
    outer->setSpacing(theme.scaled(12));
    auto *column = new QVBoxLayout;
    column->setSpacing(theme.scaled(4));
    auto *line = new QHBoxLayout;
    m_title = new ElidedLabel(this);
    m_detail = new ElidedLabel(this);
    m_detail->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_detail->setForegroundRole(QPalette::PlaceholderText);
    line->addWidget(m_title, 1);
    line->addWidget(m_detail, 1);
    column->addLayout(line);
    auto *bar = new QProgressBar(this);
    bar->setTextVisible(false);
    bar->setFixedHeight(theme.scaled(6));
    bar->setRange(0, 0);
    m_bar = bar;
    column->addWidget(bar);
    outer->addLayout(column, 1);
    m_cancel = new QPushButton(tr("Cancel"), this);
    outer->addWidget(m_cancel);
    connect(m_cancel, &QPushButton::clicked, this, &ProgressStrip::cancelRequested);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void ProgressStrip::setTitle(const QString &what)
{
    m_title->setText(what);
    m_bar->setAccessibleName(what);
    m_cancel->setAccessibleName(tr("Cancel: %1").arg(what));
}

void ProgressStrip::setProgress(std::uint64_t done, std::uint64_t total, double seconds,
                                const QString &amount)
{
    auto *bar = static_cast<QProgressBar *>(m_bar);
    if (total == 0) {
        bar->setRange(0, 0);
    } else {
        bar->setRange(0, barSteps);
        const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
        bar->setValue(static_cast<int>(share * barSteps));
    }
    const QString left = timeLeft(done, total, seconds);
    m_detail->setText(left.isEmpty() ? amount : amount + QStringLiteral(" · ") + left);
    m_bar->setAccessibleDescription(m_detail->text());
}

QString ProgressStrip::detail() const
{
    return m_detail->text();
}

QString ProgressStrip::timeLeft(std::uint64_t done, std::uint64_t total, double seconds)
{
    if (done == 0 || done >= total || seconds < 0.5)
        return {};
    const double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
    if (left < 1.0)
        return tr("less than 1 s left");
    if (left < 99.5)
        return tr("%1 s left").arg(std::lround(left));
    if (left < 99.5 * 60.0)
        return tr("%1 min left").arg(std::lround(left / 60.0));
    return tr("%1 h left").arg(left / 3600.0, 0, 'f', 1);
}

void ProgressStrip::paintEvent(QPaintEvent *)
{
    const ThemeColors &c = Theme::instance().colors();
    QPainter painter(this);
    drawRounded(painter, rect(), AppStyle::panelRadius, c.panel, c.line);
}

} // namespace tokenloupe
