// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/messagebar.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QAccessible>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

QColor colorOf(MessageKind kind)
{
    const ThemeColors &c = Theme::instance().colors();
    return kind == MessageKind::Error ? c.error : kind == MessageKind::Warning ? c.warning : c.accent;
}

QString iconOf(MessageKind kind)
{
    return kind == MessageKind::Error     ? QStringLiteral("error")
           : kind == MessageKind::Warning ? QStringLiteral("warning")
                                          : QStringLiteral("info");
}

QLabel *makeLabel(QWidget *parent)
{
    auto *label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

MessageBar::MessageBar(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *outer = new QHBoxLayout(this);
    outer->setContentsMargins(theme.scaled(14), theme.scaled(8), theme.scaled(8), theme.scaled(8));
    outer->setSpacing(theme.scaled(8));
    m_icon = new QLabel(this);
    outer->addWidget(m_icon, 0, Qt::AlignTop);
    auto *texts = new QVBoxLayout;
    texts->setSpacing(theme.scaled(2));
    m_what = makeLabel(this);
    QFont strong = theme.font(TextRole::Body);
    strong.setWeight(QFont::DemiBold);
    m_what->setFont(strong);
    m_why = makeLabel(this);
    m_details = makeLabel(this);
    m_details->setFont(theme.font(TextRole::Mono));
    texts->addWidget(m_what);
    texts->addWidget(m_why);
    texts->addWidget(m_details);
    outer->addLayout(texts, 1);
    m_detailsButton = new QPushButton(tr("Details"), this);
    m_detailsButton->setCheckable(true);
    m_detailsButton->setFlat(true);
    // One below the other: beside each other they would leave little room for the texts.
    auto *actions = new QVBoxLayout;
    actions->setSpacing(theme.scaled(4));
    m_actionButton = new QPushButton(this);
    m_otherActionButton = new QPushButton(this);
    actions->addWidget(m_actionButton);
    actions->addWidget(m_otherActionButton);
    actions->addStretch(1);
    m_closeButton = new QToolButton(this);
    m_closeButton->setAutoRaise(true);
    m_closeButton->setIcon(theme.icon(QStringLiteral("close")));
    m_closeButton->setAccessibleName(tr("Close this message"));
    m_closeButton->setToolTip(tr("Close (Esc)"));
    outer->addWidget(m_detailsButton, 0, Qt::AlignTop);
    outer->addLayout(actions);
    outer->addWidget(m_closeButton, 0, Qt::AlignTop);
    connect(m_detailsButton, &QPushButton::toggled, this, [this](bool shown) {
        m_details->setVisible(shown);
        fitHeight();
    });
    connect(m_actionButton, &QPushButton::clicked, this, &MessageBar::actionTriggered);
    connect(m_otherActionButton, &QPushButton::clicked, this, &MessageBar::otherActionTriggered);
    connect(m_closeButton, &QToolButton::clicked, this, &MessageBar::closeBar);
    connect(&Theme::instance(), &Theme::changed, this, &MessageBar::refreshIcon);
    hide();
}

void MessageBar::showMessage(const Message &message)
{
    m_message = message;
    m_what->setText(message.what);
    QString second = message.why;
    if (!message.advice.isEmpty())
        second += (second.isEmpty()                    ? QString()
                   : second.endsWith(QLatin1Char('.')) ? QStringLiteral(" ")
                                                       : QStringLiteral(". ")) +
                  message.advice;
    m_why->setText(second);
    m_why->setVisible(!second.isEmpty());
    m_details->setText(message.details);
    m_details->setVisible(false);
    m_detailsButton->setChecked(false);
    m_detailsButton->setVisible(!message.details.isEmpty());
    m_actionButton->setText(message.action);
    m_actionButton->setVisible(!message.action.isEmpty());
    m_otherActionButton->setText(message.otherAction);
    m_otherActionButton->setVisible(!message.otherAction.isEmpty());
    setAccessibleName(message.what);
    setAccessibleDescription(second);
    refreshIcon();
    show();
    fitHeight();
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void MessageBar::fitHeight()
{
    layout()->activate();
    const int height = layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width())
                                                     : layout()->totalSizeHint().height();
    if (height > 0 && height != this->height())
        setFixedHeight(height);
}

void MessageBar::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    if (event->size().width() != event->oldSize().width())
        fitHeight();
}

void MessageBar::refreshIcon()
{
    const int size = Theme::instance().scaled(16);
    QPixmap pixmap =
        Theme::instance().icon(iconOf(m_message.kind)).pixmap(QSize(size, size), devicePixelRatioF());
    QPainter painter(&pixmap);
    painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
    painter.fillRect(QRect(0, 0, size, size), colorOf(m_message.kind));
    painter.end();
    m_icon->setPixmap(pixmap);
    update();
}

void MessageBar::closeBar()
{
    hide();
    Q_EMIT closed();
}

void MessageBar::keyPressEvent(QKeyEvent *event)
{
    if (event->key() == Qt::Key_Escape)
        closeBar();
    else
        QWidget::keyPressEvent(event);
}

void MessageBar::paintEvent(QPaintEvent *)
{
    const ThemeColors &c = Theme::instance().colors();
    const QColor color = colorOf(m_message.kind);
    QPainter painter(this);
    drawRounded(painter, rect(), AppStyle::panelRadius, blended(c.panel, color, 0.08),
                blended(c.line, color, 0.5));
    // the kind again, for those who do not see the tint
    drawRounded(painter, QRectF(4, 6, 3, height() - 12), 1.5, color, Qt::transparent);
}

} // namespace tokenloupe
