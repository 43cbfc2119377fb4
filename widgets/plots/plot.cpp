// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/plot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double zoomStep = 0.8;
constexpr int restMs = 250; // without new data for so long: draw it antialiased

QCPRange toQcp(const PlotRange &range)
{
    return QCPRange(range.from, range.to);
}

} // namespace

Plot::Plot(const QString &accessibleName, const QString &xUnit, const QString &yUnit, QWidget *parent)
    : QWidget(parent)
{
    setAccessibleName(accessibleName);
    setFocusPolicy(Qt::StrongFocus);
    m_chart = new QCustomPlot(this);
    m_chart->setFocusPolicy(Qt::NoFocus);
    m_chart->setNoAntialiasingOnDrag(true);
    m_chart->setAttribute(Qt::WA_TransparentForMouseEvents, false);
    m_chart->setContextMenuPolicy(Qt::NoContextMenu);
    m_chart->installEventFilter(this);
    m_chart->setMouseTracking(true);
    m_chart->axisRect()->setAutoMargins(QCP::msNone);
    m_chart->plotLayout()->setAutoMargins(QCP::msNone);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_chart);
    m_annotations = new PlotAnnotations(m_chart);
    m_annotations->xUnit = xUnit;
    m_annotations->yUnit = yUnit;
    m_annotations->setLayer(QStringLiteral("overlay"));
    for (QCPAxis *axis : {m_chart->xAxis, m_chart->yAxis}) {
        axis->setSubTicks(false);
        axis->setTickLength(0, 0);
        axis->setTickPen(Qt::NoPen);
        axis->setTickLabelPadding(5);
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    m_chart->yAxis->setBasePen(Qt::NoPen);
    m_rest.setSingleShot(true);
    m_rest.setInterval(restMs);
    connect(&m_rest, &QTimer::timeout, this, [this] {
        setAntialiasing(Qt::Checked);
        replotLater();
    });
    connect(&Theme::instance(), &Theme::changed, this, &Plot::applyTheme);
}

Plot::~Plot() = default;

void Plot::finishConstruction()
{
    applyTheme();
    applyMargins();
    setAntialiasing(Qt::Checked);
    showAll();
}

QSize Plot::sizeHint() const
{
    return QSize(Theme::instance().scaled(320), Theme::instance().scaled(130));
}

QSize Plot::minimumSizeHint() const
{
    return QSize(Theme::instance().scaled(160), Theme::instance().scaled(70));
}

void Plot::applyTheme()
{
    const Theme &theme = Theme::instance();
    const ThemeColors &c = theme.colors();
    m_chart->setBackground(c.panel);
    QFont font = theme.font(TextRole::Small);
    font.setPixelSize(std::max(8, theme.scaled(10)));
    for (QCPAxis *axis : {m_chart->xAxis, m_chart->yAxis}) {
        axis->setTickLabelFont(font);
        axis->setTickLabelColor(c.muted);
        axis->grid()->setPen(QPen(c.grid, 1.0));
    }
    m_chart->xAxis->setBasePen(QPen(c.line, 1.0));
    m_annotations->unitColor = c.muted;
    m_annotations->ground = c.panel;
    applyColors();
    replotLater();
}

void Plot::applyMargins()
{
    const QFontMetricsF metrics(m_chart->xAxis->tickLabelFont());
    const int height = static_cast<int>(std::ceil(metrics.height()));
    const int left = static_cast<int>(std::ceil(metrics.horizontalAdvance(QStringLiteral("0.000")))) + 8;
    const int right = static_cast<int>(std::ceil(metrics.horizontalAdvance(m_annotations->xUnit))) +
                      static_cast<int>(std::ceil(metrics.horizontalAdvance(QStringLiteral("0000")) / 2)) + 8;
    m_chart->axisRect()->setMargins(QMargins(left, height + 7, right, height + 6));
}

void Plot::setAntialiasing(Qt::CheckState state)
{
    // grid, axes and bars sit on whole pixels: smoothing would only blur them
    m_chart->setAntialiasedElements(state == Qt::Checked ? QCP::aePlottables | QCP::aeFills | QCP::aeScatters
                                                         : QCP::AntialiasedElements());
    m_chart->setNotAntialiasedElements(state == Qt::Checked ? QCP::aeAxes | QCP::aeGrid | QCP::aeSubGrid
                                                            : QCP::aeAll);
}

void Plot::dataChanged()
{
    setAntialiasing(Qt::Unchecked);
    m_rest.start();
    if (!m_zoomed)
        showAll();
    else
        setVisibleX(visibleX());
}

void Plot::showAll()
{
    const PlotRange x = fullX();
    m_chart->xAxis->setRange(toQcp(x));
    m_chart->yAxis->setRange(toQcp(fullY(x)));
    replotLater();
}

void Plot::resetView()
{
    m_zoomed = false;
    showAll();
    Q_EMIT viewChanged();
}

void Plot::replotLater()
{
    m_chart->replot(QCustomPlot::rpQueuedReplot);
}

void Plot::replotNow()
{
    m_chart->replot(QCustomPlot::rpImmediateRefresh);
}

PlotRange Plot::visibleX() const
{
    return {m_chart->xAxis->range().lower, m_chart->xAxis->range().upper};
}

PlotRange Plot::visibleY() const
{
    return {m_chart->yAxis->range().lower, m_chart->yAxis->range().upper};
}

QRect Plot::plotArea() const
{
    return m_chart->axisRect()->rect();
}

QPointF Plot::pixelAt(double x, double y) const
{
    return QPointF(m_chart->xAxis->coordToPixel(x), m_chart->yAxis->coordToPixel(y));
}

QPointF Plot::valueAt(const QPointF &pixel) const
{
    return QPointF(m_chart->xAxis->pixelToCoord(pixel.x()), m_chart->yAxis->pixelToCoord(pixel.y()));
}

QString Plot::readoutAt(const QPoint &pos) const
{
    if (!plotArea().contains(pos))
        return {};
    const QPointF value = valueAt(pos);
    return readout(value.x(), value.y());
}

// Keeps the range inside of what there is; on a logarithmic axis widths are ratios.
void Plot::setVisibleX(PlotRange range)
{
    const bool logarithmic = m_chart->xAxis->scaleType() == QCPAxis::stLogarithmic;
    const PlotRange widest = widestX();
    const auto to = [logarithmic](double v) { return logarithmic ? std::log(v) : v; };
    const auto back = [logarithmic](double v) { return logarithmic ? std::exp(v) : v; };
    const double low = to(widest.from);
    const double high = to(widest.to);
    double width = std::min(to(range.to) - to(range.from), high - low);
    width = std::max(width, (high - low) * 1e-5);
    const double from = std::clamp(to(range.from), low, high - width);
    const PlotRange visible{back(from), back(from + width)};
    m_chart->xAxis->setRange(toQcp(visible));
    m_chart->yAxis->setRange(toQcp(fullY(visible)));
    replotLater();
}

void Plot::zoom(double factor, double around)
{
    const PlotRange now = visibleX();
    PlotRange next;
    if (m_chart->xAxis->scaleType() == QCPAxis::stLogarithmic) {
        next = {around * std::pow(now.from / around, factor), around * std::pow(now.to / around, factor)};
    } else {
        next = {around + (now.from - around) * factor, around + (now.to - around) * factor};
    }
    m_zoomed = true;
    setVisibleX(next);
    Q_EMIT viewChanged();
}

void Plot::pan(double share)
{
    const double pixels = plotArea().width() * share;
    const double left = plotArea().left();
    m_zoomed = true;
    setVisibleX({m_chart->xAxis->pixelToCoord(left + pixels),
                 m_chart->xAxis->pixelToCoord(left + plotArea().width() + pixels)});
    Q_EMIT viewChanged();
}

bool Plot::eventFilter(QObject *watched, QEvent *event)
{
    if (watched != m_chart)
        return QWidget::eventFilter(watched, event);
    switch (event->type()) {
    case QEvent::Wheel: {
        const auto *wheel = static_cast<QWheelEvent *>(event);
        const int delta = wheel->angleDelta().y();
        if (delta == 0)
            return false;
        zoom(std::pow(zoomStep, delta / 120.0), valueAt(wheel->position()).x());
        event->accept();
        return true;
    }
    case QEvent::MouseButtonPress: {
        const auto *mouse = static_cast<QMouseEvent *>(event);
        setFocus(Qt::MouseFocusReason);
        if (mouse->button() == Qt::LeftButton) {
            m_down = true;
            m_dragging = false;
            m_pressed = mouse->position().toPoint();
            m_pressedRange = visibleX();
        }
        return true;
    }
    case QEvent::MouseMove: {
        const auto *mouse = static_cast<QMouseEvent *>(event);
        const QPoint pos = mouse->position().toPoint();
        if (m_down &&
            (m_dragging || (pos - m_pressed).manhattanLength() >= QApplication::startDragDistance())) {
            m_dragging = true;
            m_chart->xAxis->setRange(toQcp(m_pressedRange)); // pixels count from where the drag began
            pan(static_cast<double>(m_pressed.x() - pos.x()) / std::max(1, plotArea().width()));
        } else {
            hover(pos);
        }
        return true;
    }
    case QEvent::MouseButtonRelease: {
        const auto *mouse = static_cast<QMouseEvent *>(event);
        if (m_down && !m_dragging && mouse->button() == Qt::LeftButton &&
            plotArea().contains(mouse->position().toPoint())) {
            const QPointF value = valueAt(mouse->position());
            Q_EMIT clicked(value.x(), value.y());
        }
        m_down = m_dragging = false;
        return true;
    }
    case QEvent::MouseButtonDblClick:
        m_down = false;
        resetView();
        return true;
    case QEvent::Leave:
        hover(QPoint(-1, -1));
        return false;
    default:
        return QWidget::eventFilter(watched, event);
    }
}

void Plot::hover(const QPoint &pos)
{
    const QString text = readoutAt(pos);
    m_annotations->cursorX = text.isEmpty() ? qQNaN() : valueAt(pos).x();
    m_annotations->layer()->replot(); // a buffered layer: the data is not drawn again
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(m_chart->mapToGlobal(pos + QPoint(8, 4)), text, m_chart);
}

void Plot::keyPressEvent(QKeyEvent *event)
{
    const double middle = valueAt(plotArea().center()).x();
    const bool alt = event->modifiers() & Qt::AltModifier;
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        zoom(zoomStep, middle);
        return;
    case Qt::Key_Minus:
        zoom(1.0 / zoomStep, middle);
        return;
    case Qt::Key_0:
        resetView();
        return;
    case Qt::Key_Left:
    case Qt::Key_Right:
        if (alt) { // alone they move the selected step, everywhere
            pan(event->key() == Qt::Key_Left ? -0.2 : 0.2);
            return;
        }
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void Plot::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    const auto ticks = [](int pixels, int each) { return std::clamp(pixels / each, 2, 12); };
    m_chart->xAxis->ticker()->setTickCount(ticks(width(), Theme::instance().scaled(64)));
    m_chart->yAxis->ticker()->setTickCount(ticks(height(), Theme::instance().scaled(32)));
    if (!m_zoomed)
        showAll();
}

void Plot::showEvent(QShowEvent *event)
{
    QWidget::showEvent(event);
    replotLater();
}

void Plot::focusInEvent(QFocusEvent *event)
{
    QWidget::focusInEvent(event);
    if (event->reason() != Qt::MouseFocusReason)
        m_chart->xAxis->setBasePen(QPen(Theme::instance().colors().accent, 2.0));
    replotLater();
}

void Plot::focusOutEvent(QFocusEvent *event)
{
    QWidget::focusOutEvent(event);
    m_chart->xAxis->setBasePen(QPen(Theme::instance().colors().line, 1.0));
    replotLater();
}

} // namespace tokenloupe
