// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/verdictview.h"

#include "widgets/controls/stackedbar.h"
#include "widgets/models/fittablemodel.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

QLabel *makeLabel(QWidget *parent)
{
    auto *label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

QString deviceWords(const EstimateRequest &request)
{
    const auto tr = [](const char *text) {
        return QCoreApplication::translate("tokenloupe::VerdictView", text);
    };
    if (request.target == EstimateTarget::ThisProgram)
        return tr("this machine");
    if (request.devices.size() == 1)
        return QString::fromStdString(request.devices.front().name);
    const std::string &first = request.devices.front().name;
    const bool same = std::all_of(request.devices.begin(), request.devices.end(),
                                  [&first](const Gpu &gpu) { return gpu.name == first; });
    return same ? QString(formatCount(request.devices.size()) + QStringLiteral(" × ") +
                          QString::fromStdString(first))
                : tr("%1 cards").arg(formatCount(request.devices.size()));
}

VerdictView::VerdictView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    setAccessibleName(tr("Verdict"));
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, theme.scaled(4));
    layout->setSpacing(theme.scaled(4));
    auto *top = new QHBoxLayout;
    top->setSpacing(theme.scaled(8));
    m_icon = new QLabel(this);
    top->addWidget(m_icon, 0, Qt::AlignTop);
    m_sentence = makeLabel(this);
    QFont big = theme.font(TextRole::Chat);
    big.setPixelSize(theme.scaled(18));
    big.setWeight(QFont::DemiBold);
    m_sentence->setFont(big);
    top->addWidget(m_sentence, 1);
    layout->addLayout(top);
    m_question = makeLabel(this);
    m_question->setForegroundRole(QPalette::PlaceholderText);
    layout->addWidget(m_question);
    m_bar = new StackedBar(StackedBar::Legend::Shown, this);
    m_bar->setAccessibleName(tr("Parts of the memory needed"));
    layout->addWidget(m_bar);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    connect(&Theme::instance(), &Theme::changed, this, &VerdictView::refreshLook);
    setHint({});
}

QString VerdictView::sentence() const
{
    return m_sentence->text();
}

int VerdictView::heightForWidth(int width) const
{
    return layout()->totalHeightForWidth(width);
}

void VerdictView::setHint(const QString &text)
{
    m_bar->hide();
    m_question->hide();
    setSentence(Kind::None, text);
}

void VerdictView::setResult(const EstimatorResultPtr &result)
{
    const Estimate &estimate = *result->estimate;
    const EstimateRequest &request = result->request;
    const QString needed = formatBytes(estimate.totalBytes);
    const QString there = formatBytes(estimate.capacityBytes);
    const QString device = deviceWords(request);
    std::vector<BarSegment> segments;
    int color = 0;
    for (const EstimatePart &part : estimate.parts)
        segments.push_back({QString::fromStdString(part.title), static_cast<double>(part.bytes),
                            formatBytes(part.bytes), QString::fromStdString(part.how), color++});
    m_bar->setSegments(std::move(segments));
    m_bar->setFullScale(static_cast<double>(std::max(estimate.capacityBytes, estimate.totalBytes)));
    m_bar->setMarker(
        estimate.capacityBytes < estimate.totalBytes ? static_cast<double>(estimate.capacityBytes) : -1.0,
        tr("what there is: %1").arg(there));
    m_bar->show();
    const QString batch = counted(request.batch, tr("sequence"), tr("sequences"));
    m_question->setText(QStringList{QString::fromStdString(request.shape->name),
                                    weightTypeTitle(request.weightType, request.shape.get()),
                                    tr("%1 tokens").arg(formatCount(request.contextTokens)), batch}
                            .join(QStringLiteral(" · ")));
    m_question->setToolTip(QString::fromStdString(estimate.verdict));
    m_question->show();
    if (estimate.fits)
        setSentence(Kind::Fits, tr("Fits %1: %2 of %3").arg(device, needed, there));
    else if (estimate.totalBytes > estimate.capacityBytes)
        setSentence(Kind::TooLarge, tr("Does not fit %1: needs %2, there is %3").arg(device, needed, there));
    else
        setSentence(
            Kind::TooLarge,
            tr("Does not fit %1: %2 of %3 in all, but one card gets too much").arg(device, needed, there));
}

void VerdictView::setSentence(Kind kind, const QString &text)
{
    m_kind = kind;
    m_sentence->setText(text);
    setAccessibleDescription(text);
    refreshLook();
    updateGeometry();
}

void VerdictView::refreshLook()
{
    const Theme &theme = Theme::instance();
    const ThemeColors &c = theme.colors();
    const QColor color = m_kind == Kind::Fits ? c.ok : m_kind == Kind::TooLarge ? c.error : c.muted;
    QPalette palette = m_sentence->palette();
    palette.setColor(QPalette::WindowText, m_kind == Kind::None ? c.muted : color);
    m_sentence->setPalette(palette);
    const int size = theme.scaled(22);
    const QString name = m_kind == Kind::Fits       ? QStringLiteral("check")
                         : m_kind == Kind::TooLarge ? QStringLiteral("error")
                                                    : QStringLiteral("info");
    QPixmap pixmap = theme.icon(name).pixmap(QSize(size, size), devicePixelRatioF());
    QPainter painter(&pixmap);
    painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
    painter.fillRect(QRect(0, 0, size, size), color);
    painter.end();
    m_icon->setPixmap(pixmap);
}

} // namespace tokenloupe
