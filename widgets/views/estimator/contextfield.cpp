// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/contextfield.h"

#include "widgets/models/estimatorinputs.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <bit>

namespace tokenloupe {

namespace {

constexpr int leastPower = 8; // 256 tokens
constexpr int usualPower = 17;
constexpr int mostPower = 30;

} // namespace

ContextField::ContextField(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme.scaled(2));
    m_spin = new QSpinBox(this);
    m_spin->setRange(1, mostContextTokens);
    m_spin->setMinimumWidth(theme.scaled(80));
    m_spin->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    m_spin->setAccessibleName(tr("Context in tokens"));
    m_slider = new QSlider(Qt::Horizontal, this);
    m_slider->setRange(leastPower, usualPower);
    m_slider->setPageStep(1);
    m_slider->setMinimumWidth(theme.scaled(48));
    m_slider->setAccessibleName(tr("Context, powers of two"));
    m_slider->setToolTip(tr("Powers of two, to four times what the model was trained for"));
    m_note = new QLabel(this);
    m_note->setFont(theme.font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    m_note->setTextFormat(Qt::PlainText);
    auto *row = new QHBoxLayout;
    row->setSpacing(theme.scaled(8));
    row->addWidget(m_spin, 3);
    row->addWidget(m_slider, 2);
    layout->addLayout(row);
    layout->addWidget(m_note);
    setFocusProxy(m_spin);
    connect(m_spin, &QSpinBox::valueChanged, this, [this] {
        showOnSlider();
        Q_EMIT edited();
    });
    connect(m_slider, &QSlider::valueChanged, this, [this](int power) { m_spin->setValue(1 << power); });
    setTrained(0);
}

std::uint64_t ContextField::tokens() const
{
    return static_cast<std::uint64_t>(m_spin->value());
}

void ContextField::setTokens(std::uint64_t tokens)
{
    if (tokens == this->tokens())
        return; // someone may be typing in it
    const QSignalBlocker blocker(m_spin);
    m_spin->setValue(static_cast<int>(std::min<std::uint64_t>(tokens, mostContextTokens)));
    showOnSlider();
}

void ContextField::setTrained(std::uint64_t tokens)
{
    const int power = tokens == 0 ? usualPower : static_cast<int>(std::bit_width(tokens - 1)) + 2;
    {
        const QSignalBlocker blocker(m_slider);
        m_slider->setMaximum(std::clamp(power, leastPower + 2, mostPower));
    }
    m_note->setText(tokens == 0 ? tr("tokens") : tr("tokens; trained for %1").arg(formatCount(tokens)));
    showOnSlider();
}

void ContextField::showOnSlider()
{
    const QSignalBlocker blocker(m_slider);
    // the largest power of two that is not above
    m_slider->setValue(static_cast<int>(std::bit_width(tokens())) - 1);
}

} // namespace tokenloupe
