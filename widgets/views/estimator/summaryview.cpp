// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/summaryview.h"

#include "widgets/models/estimatepartsmodel.h"
#include "widgets/models/gpulistmodel.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/howtable.h"

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

QLabel *plainLabel()
{
    auto *label = new QLabel;
    label->setTextFormat(Qt::PlainText);
    return label;
}

QString bullets(const std::vector<std::string> &lines)
{
    QStringList result;
    for (const std::string &line : lines)
        result << QString(QStringLiteral("⚠ ") + QString::fromStdString(line));
    return result.join(QLatin1Char('\n'));
}

} // namespace

SummaryView::SummaryView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme.scaled(8), 0, 0);
    layout->setSpacing(theme.scaled(8));
    m_warnings = plainLabel();
    m_warnings->setWordWrap(true);
    m_warnings->setAccessibleName(tr("Warnings"));
    layout->addWidget(m_warnings);
    auto *grid = new QGridLayout;
    grid->setHorizontalSpacing(theme.scaled(12));
    grid->setVerticalSpacing(theme.scaled(2));
    grid->setColumnStretch(1, 1);
    m_context = addFact(grid, tr("Largest context"));
    m_batch = addFact(grid, tr("Largest batch"));
    m_offload = addFact(grid, tr("On the cards"));
    m_perToken = addFact(grid, tr("Cache a token"));
    m_decode = addFact(grid, tr("Decode, at most"));
    m_prefill = addFact(grid, tr("Prefill, at most"));
    layout->addLayout(grid);
    m_parts = new EstimatePartsModel(this);
    m_partsTable = new HowTable(tr("Parts of the memory needed"), m_parts, EstimatePartsModel::HowRole, this);
    layout->addWidget(m_partsTable);
    m_sharesTitle = plainLabel();
    m_sharesTitle->setFont(theme.font(TextRole::Heading));
    m_sharesTitle->setText(tr("What each card gets"));
    layout->addWidget(m_sharesTitle);
    m_shares = new GpuListModel(this);
    m_sharesTable = new HowTable(tr("What each card gets"), m_shares, Qt::ToolTipRole, this);
    layout->addWidget(m_sharesTable);
    layout->addStretch(1);
    const auto applyColors = [this] {
        QPalette palette = m_warnings->palette();
        palette.setColor(QPalette::WindowText, Theme::instance().colors().warning);
        m_warnings->setPalette(palette);
    };
    connect(&Theme::instance(), &Theme::changed, this, applyColors);
    applyColors();
}

SummaryView::Fact SummaryView::addFact(QGridLayout *grid, const QString &name)
{
    const Theme &theme = Theme::instance();
    Fact fact;
    fact.name = plainLabel();
    fact.name->setText(name);
    fact.name->setForegroundRole(QPalette::PlaceholderText);
    fact.value = plainLabel();
    fact.value->setWordWrap(true);
    fact.value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    QFont strong = theme.font(TextRole::Body);
    strong.setWeight(QFont::DemiBold);
    fact.value->setFont(strong);
    fact.how = plainLabel();
    fact.how->setFont(theme.font(TextRole::Small));
    fact.how->setForegroundRole(QPalette::PlaceholderText);
    fact.how->setWordWrap(true);
    fact.how->setTextInteractionFlags(Qt::TextSelectableByMouse);
    const int row = grid->rowCount();
    grid->addWidget(fact.name, row, 0, Qt::AlignTop);
    grid->addWidget(fact.value, row, 1);
    grid->addWidget(fact.how, row + 1, 1);
    return fact;
}

void SummaryView::setFact(const Fact &fact, const QString &value, const QString &how)
{
    fact.value->setText(value);
    fact.value->setAccessibleName(QString(fact.name->text() + QStringLiteral(": ") + value));
    fact.how->setText(how);
    for (QLabel *label : {fact.name, fact.value})
        label->setVisible(!value.isEmpty());
    fact.how->setVisible(!value.isEmpty() && !how.isEmpty());
}

void SummaryView::setResult(const EstimatorResultPtr &result)
{
    const Estimate &estimate = *result->estimate;
    const EstimateRequest &request = result->request;
    m_warnings->setText(bullets(estimate.warnings));
    m_warnings->setVisible(!estimate.warnings.empty());
    setFact(m_context,
            estimate.maxContext > 0 ? counted(estimate.maxContext, tr("token"), tr("tokens"))
                                    : tr("not even one token"),
            {});
    setFact(m_batch,
            estimate.maxBatch > 0 ? tr("%1 with %2 tokens each")
                                        .arg(counted(estimate.maxBatch, tr("sequence"), tr("sequences")),
                                             formatCount(request.contextTokens))
                                  : tr("not even one sequence"),
            {});
    QString offload;
    if (request.target == EstimateTarget::Gpu) {
        const QString layers =
            tr("%1 of %2 layers")
                .arg(formatCount(estimate.offloadLayers), formatCount(request.shape->layers));
        if (estimate.offloadLayers >= request.shape->layers)
            offload = tr("all %1 layers").arg(formatCount(request.shape->layers));
        else
            offload = estimate.offloadFits ? tr("%1, the rest from host memory").arg(layers)
                                           : tr("%1; the rest does not fit host memory").arg(layers);
    }
    setFact(m_offload, offload, {});
    setFact(m_perToken, formatBytes(estimate.kvBytesPerToken), {});
    setFact(m_decode, formatRate(estimate.decode.tokensPerSecond, QStringLiteral("tok/s")),
            QString::fromStdString(estimate.decode.how));
    setFact(m_prefill, formatRate(estimate.prefill.tokensPerSecond, QStringLiteral("tok/s")),
            QString::fromStdString(estimate.prefill.how));
    m_parts->setResult(result);
    const bool several = estimate.devices.size() > 1;
    m_shares->setShares(several ? estimate.devices : std::vector<DeviceShare>());
    m_sharesTitle->setVisible(several);
    m_sharesTable->setVisible(several);
}

} // namespace tokenloupe
