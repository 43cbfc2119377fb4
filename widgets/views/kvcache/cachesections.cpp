// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/cachesections.h"

#include "widgets/controls/segmenttabs.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/growthview.h"
#include "widgets/views/kvcache/layersview.h"
#include "widgets/views/kvcache/poolview.h"
#include "widgets/views/kvcache/wasteview.h"
#include "widgets/views/kvcache/withoutcacheview.h"

#include <QBoxLayout>
#include <QScrollArea>
#include <QStackedWidget>

namespace tokenloupe {

namespace {

constexpr int wideFrom = 700; // pixels at the default font size
constexpr int tallFrom = 560;

// Takes what there is; scrolls when that is less than the page needs.
QScrollArea *scrolled(QWidget *page)
{
    auto *area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(page);
    area->viewport()->setAutoFillBackground(false);
    page->setAutoFillBackground(false);
    area->setMinimumSize(0, 0);
    return area;
}

} // namespace

CacheSections::CacheSections(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    m_growth = new GrowthView;
    m_pool = new PoolView;
    m_waste = new WasteView;
    m_withoutCache = new WithoutCacheView;
    m_layers = new LayersView;

    auto *mainPage = new QWidget;
    auto *mainColumn = new QVBoxLayout(mainPage);
    mainColumn->setContentsMargins(0, 0, 0, 0);
    mainColumn->setSpacing(theme.scaled(2));
    mainColumn->addWidget(m_growth, 1);
    mainColumn->addWidget(m_pool, 2);
    m_main = scrolled(mainPage);

    auto *side = new QWidget;
    auto *sideColumn = new QVBoxLayout(side);
    sideColumn->setContentsMargins(0, 0, 0, 0);
    sideColumn->setSpacing(theme.scaled(4));
    m_tabs = new SegmentTabs(tr("Parts of the cache panel"));
    m_stack = new QStackedWidget;
    sideColumn->addWidget(m_tabs);
    sideColumn->addWidget(m_stack, 1);
    const auto addPage = [this](const QString &title, QWidget *page) {
        m_stack->addWidget(scrolled(page));
        m_tabs->addTab(title);
    };
    addPage(tr("Waste"), m_waste);
    addPage(tr("Without"), m_withoutCache);
    addPage(tr("Layers"), m_layers);
    m_tabs->setTabToolTip(1, tr("What the same reply costs without the cache"));
    connect(m_tabs, &QTabBar::currentChanged, m_stack, &QStackedWidget::setCurrentIndex);

    m_outer = new QBoxLayout(QBoxLayout::TopToBottom, this);
    m_outer->setContentsMargins(0, 0, 0, 0);
    m_outer->setSpacing(theme.scaled(8));
    m_outer->addWidget(m_main, 5);
    m_outer->addWidget(side, 4);
}

QSize CacheSections::sizeHint() const
{
    return QSize(Theme::instance().scaled(320), Theme::instance().scaled(340));
}

QSize CacheSections::minimumSizeHint() const
{
    return QSize(Theme::instance().scaled(200), Theme::instance().scaled(120));
}

void CacheSections::arrange(CacheForm form)
{
    if (form == m_form)
        return;
    const bool wasSmall = m_form == CacheForm::Small;
    m_form = form;
    if (form == CacheForm::Small) {
        const QSignalBlocker blocker(m_tabs);
        m_outer->removeWidget(m_main);
        m_stack->insertWidget(0, m_main);
        m_tabs->insertTab(0, tr("Blocks"));
        m_tabs->setCurrentIndex(0);
        m_stack->setCurrentIndex(0);
    } else if (wasSmall) {
        const QSignalBlocker blocker(m_tabs);
        m_stack->removeWidget(m_main);
        m_tabs->removeTab(0);
        m_outer->insertWidget(0, m_main, 5);
        m_main->show();
        m_stack->setCurrentIndex(m_tabs->currentIndex());
    }
    m_outer->setDirection(form == CacheForm::Wide ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    m_outer->setSpacing(Theme::instance().scaled(form == CacheForm::Wide ? 20 : 8));
    // where there is room, the map's squares become large first, then the curve grows
    auto *column = static_cast<QBoxLayout *>(m_main->widget()->layout());
    column->setStretchFactor(m_growth, form == CacheForm::Small ? 4 : 1);
    column->setStretchFactor(m_pool, form == CacheForm::Small ? 1 : 2);
    m_pool->setForm(form == CacheForm::Small ? PoolForm::Compact : PoolForm::Roomy);
}

void CacheSections::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    const Theme &theme = Theme::instance();
    arrange(width() >= theme.scaled(wideFrom)    ? CacheForm::Wide
            : height() >= theme.scaled(tallFrom) ? CacheForm::Tall
                                                 : CacheForm::Small);
}

} // namespace tokenloupe
