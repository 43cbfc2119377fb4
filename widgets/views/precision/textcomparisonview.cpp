// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/precision/textcomparisonview.h"

#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QLabel>
#include <QStackedLayout>
#include <QVBoxLayout>

namespace tokenloupe {

TextComparisonView::TextComparisonView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    m_stack = new QStackedLayout(this);
    m_explanation = new QLabel;
    m_explanation->setTextFormat(Qt::PlainText);
    m_explanation->setWordWrap(true);
    m_explanation->setAlignment(Qt::AlignCenter);
    m_explanation->setForegroundRole(QPalette::PlaceholderText);
    m_explanation->setMargin(theme.scaled(12));
    m_stack->addWidget(m_explanation);
    auto *page = new QWidget;
    auto *column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.scaled(4));
    m_verdict = new QLabel;
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    m_verdict->setFont(theme.font(TextRole::Small));
    m_verdict->setAccessibleName(tr("Divergence over the whole text"));
    column->addWidget(m_verdict);
    m_plot = new DivergencePlot(tr("Divergence of the two precisions at every position"));
    m_plot->setMinimumHeight(theme.scaled(90));
    m_plot->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    column->addWidget(m_plot, 1);
    m_stack->addWidget(page);
    connect(m_plot, &DivergencePlot::positionClicked, this, &TextComparisonView::positionClicked);
}

void TextComparisonView::setExplanation(const QString &text)
{
    m_explanation->setText(text);
    m_stack->setCurrentIndex(0);
}

void TextComparisonView::setText(Text text)
{
    const DivergenceTotals &totals = text.totals;
    QString verdict;
    if (totals.positions() < static_cast<std::size_t>(text.length))
        verdict = tr("%1 of %2 positions · ")
                      .arg(formatCount(totals.positions()), formatCount(std::uint64_t(text.length)));
    else
        verdict = counted(totals.positions(), tr("position"), tr("positions")) + QStringLiteral(" · ");
    verdict += tr("KL(exact ‖ fast): mean %1, largest %2 nats")
                   .arg(formatSignificant(totals.meanKl(), 3), formatSignificant(totals.largestKl(), 3));
    if (totals.largestKl() > 0.0 && totals.largestAt() < text.bars.size())
        verdict +=
            tr(" at position %1").arg(formatCount(std::uint64_t(text.bars[totals.largestAt()].position) + 1));
    verdict += tr(" · same first choice at %1 % · largest Δ logit %2")
                   .arg(formatPercent(totals.argmaxEqualShare()),
                        formatSignificant(static_cast<double>(totals.largestDifference()), 3));
    m_verdict->setText(verdict);
    m_plot->setPromptLength(text.promptLength);
    m_plot->setSelected(text.selected);
    m_plot->setBars(std::move(text.bars), text.length);
    m_stack->setCurrentIndex(1);
}

QString TextComparisonView::verdict() const
{
    return m_verdict->text();
}

} // namespace tokenloupe
