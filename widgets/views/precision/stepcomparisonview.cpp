// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/precision/stepcomparisonview.h"

#include "widgets/controls/celltable.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/tokencelldelegate.h"
#include "widgets/controls/tokenchip.h"
#include "widgets/models/comparedcandidatemodel.h"
#include "widgets/plots/differenceplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QStackedLayout>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

QString natsText(double kl)
{
    return QString(formatSignificant(kl, 3) + QChar(0x00A0) + StepComparisonView::tr("nats"));
}

QString tokenText(TokenId id, const Tokenizer *tokenizer)
{
    if (!tokenizer || id.value() >= tokenizer->size())
        return QString::number(id.value());
    return chipText(tokenizer->bytes(id), tokenizer->kind(id)).text;
}

std::vector<DifferenceSpan> spansOf(const PositionComparison &position)
{
    std::vector<DifferenceSpan> spans;
    const double low = static_cast<double>(position.lowestLogit);
    const double width = (static_cast<double>(position.highestLogit) - low) /
                         static_cast<double>(std::max<std::size_t>(1, position.columns.size()));
    for (std::size_t i = 0; i < position.columns.size(); ++i) {
        const DifferenceColumn &column = position.columns[i];
        if (column.tokens > 0)
            spans.push_back({low + width * static_cast<double>(i), low + width * static_cast<double>(i + 1),
                             static_cast<double>(column.lowest), static_cast<double>(column.highest),
                             column.tokens});
    }
    return spans;
}

/// Widths of the columns of numbers: what their titles and figures need.
constexpr std::pair<int, int> numberWidths[] = {
    {ComparedCandidateModel::ExactLogitColumn, 46}, {ComparedCandidateModel::FastLogitColumn, 46},
    {ComparedCandidateModel::DifferenceColumn, 72}, {ComparedCandidateModel::ExactPColumn, 52},
    {ComparedCandidateModel::FastPColumn, 46},      {ComparedCandidateModel::ExactRankColumn, 50},
    {ComparedCandidateModel::FastRankColumn, 44}};
constexpr int tokenWidth = 72;
constexpr int tableWidth = 46 + 46 + 72 + 52 + 46 + 50 + 44 + tokenWidth + 12; // with a scroll bar
constexpr int leastSideWidth = 180;
constexpr int gap = 16;
constexpr int heightForAll = 340; // below each other; with less there is the table and the figures

} // namespace

StepComparisonView::StepComparisonView(QWidget *parent)
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
    m_parts = new QBoxLayout(QBoxLayout::LeftToRight, page);
    m_parts->setContentsMargins(0, 0, 0, 0);
    m_parts->setSpacing(theme.scaled(gap));
    m_model = new ComparedCandidateModel(this);
    m_table = new CellTable(tr("First candidates in both precisions"));
    m_delegate = new TokenCellDelegate(m_table);
    m_table->setModel(m_model);
    m_table->setItemDelegate(m_delegate);
    m_table->viewport()->installEventFilter(this);
    m_parts->addWidget(m_table, 1);

    m_side = new QWidget;
    auto *side = new QVBoxLayout(m_side);
    side->setContentsMargins(0, 0, 0, 0);
    side->setSpacing(theme.scaled(4));
    auto *grid = new QGridLayout;
    grid->setHorizontalSpacing(theme.scaled(12));
    grid->setVerticalSpacing(theme.scaled(2));
    grid->setColumnStretch(1, 1);
    addFact(*grid, KlFact, tr("KL(exact ‖ fast)"),
            tr("Σ p ln(p / q), p exact, q fast: what is lost by taking fast for exact"));
    addFact(*grid, KlBackFact, tr("KL(fast ‖ exact)"), tr("Σ q ln(q / p), p exact, q fast"));
    addFact(*grid, DifferenceFact, tr("largest Δ logit"), tr("of all tokens, and which one it is"));
    addFact(*grid, ArgmaxFact, tr("first choice"), tr("the token with the largest logit"));
    addFact(*grid, OverlapFact, tr("first %1 shared").arg(PositionComparison::topTokens),
            tr("tokens that are among the first in both"));
    side->addLayout(grid);
    m_plot = new DifferencePlot(tr("Difference of every logit, fast minus exact, over the exact logit"));
    m_plot->setMinimumHeight(theme.scaled(80));
    m_plot->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    side->addWidget(m_plot, 1);
    m_parts->addWidget(m_side, 1);
    m_stack->addWidget(page);
    connect(&Theme::instance(), &Theme::changed, m_table->viewport(), qOverload<>(&QWidget::update));
}

void StepComparisonView::addFact(QGridLayout &grid, Fact fact, const QString &title, const QString &tip)
{
    const QFont small = Theme::instance().font(TextRole::Small);
    auto *name = new QLabel(title);
    name->setTextFormat(Qt::PlainText);
    name->setFont(small);
    name->setForegroundRole(QPalette::PlaceholderText);
    name->setToolTip(tip);
    m_facts[fact] = new ElidedLabel;
    m_facts[fact]->setFont(small);
    m_facts[fact]->setAccessibleName(title);
    m_facts[fact]->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    grid.addWidget(name, fact, 0);
    grid.addWidget(m_facts[fact], fact, 1);
}

void StepComparisonView::setExplanation(const QString &text)
{
    m_shown.reset();
    m_model->setPosition(nullptr, std::nullopt, nullptr);
    m_explanation->setText(text);
    m_stack->setCurrentIndex(0);
}

void StepComparisonView::setPosition(const ComparisonStore::Position &position, std::optional<TokenId> chosen,
                                     const std::shared_ptr<const Tokenizer> &tokenizer)
{
    m_delegate->setTokenizer(tokenizer);
    m_model->setPosition(position, chosen, tokenizer);
    if (position != m_shown) {
        m_shown = position;
        showFacts(*position, tokenizer.get());
        m_plot->setSpans(spansOf(*position));
    }
    m_stack->setCurrentIndex(1);
    layOutColumns();
}

void StepComparisonView::showFacts(const PositionComparison &position, const Tokenizer *tokenizer)
{
    const Divergence &d = position.divergence;
    m_facts[KlFact]->setText(natsText(d.kl));
    m_facts[KlBackFact]->setText(natsText(d.klBack));
    QString largest = formatSignificant(static_cast<double>(d.largestDifference), 3);
    if (d.largestAt.isValid())
        largest += QStringLiteral(" · ") + tr("at %1").arg(tokenText(d.largestAt, tokenizer));
    m_facts[DifferenceFact]->setText(largest);
    m_facts[ArgmaxFact]->setText(d.argmaxEqual() ? tr("same: %1").arg(tokenText(d.referenceArgmax, tokenizer))
                                                 : tr("differs: %1 exact, %2 fast")
                                                       .arg(tokenText(d.referenceArgmax, tokenizer),
                                                            tokenText(d.otherArgmax, tokenizer)));
    m_facts[OverlapFact]->setText(
        tr("%1 of %2")
            .arg(position.overlap)
            .arg(std::min<std::size_t>(PositionComparison::topTokens, position.candidates.size())));
}

bool StepComparisonView::eventFilter(QObject *watched, QEvent *event)
{
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        layOutColumns();
    return QWidget::eventFilter(watched, event);
}

void StepComparisonView::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    layOutParts();
}

void StepComparisonView::layOutParts()
{
    const Theme &theme = Theme::instance();
    const int rest = width() - theme.scaled(tableWidth + gap);
    const bool beside = rest >= theme.scaled(leastSideWidth);
    m_parts->setDirection(beside ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    const bool showsPlot = beside || height() >= theme.scaled(heightForAll);
    m_plot->setVisible(showsPlot);
    m_parts->setStretch(1, showsPlot ? 1 : 0);
    if (beside) {
        m_side->setFixedWidth(std::min(rest, width() * 2 / 5));
    } else {
        m_side->setMinimumWidth(0);
        m_side->setMaximumWidth(QWIDGETSIZE_MAX);
    }
}

void StepComparisonView::layOutColumns()
{
    const Theme &theme = Theme::instance();
    int used = 0;
    for (const auto &[column, width] : numberWidths) {
        m_table->setColumnWidth(column, theme.scaled(width));
        used += theme.scaled(width);
    }
    // The token takes what is left.
    m_table->setColumnWidth(ComparedCandidateModel::TokenColumn,
                            std::max(theme.scaled(tokenWidth), m_table->viewport()->width() - used));
}

} // namespace tokenloupe
