// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>
#include <cstdint>

class QLabel;
class QSlider;
class QSpinBox;

namespace tokenloupe {

/// A number of tokens: typed, or by powers of two with the slider, which goes to four times what the model
/// was trained for.
class ContextField : public QWidget
{
    Q_OBJECT

public:
    explicit ContextField(QWidget *parent = nullptr);

    std::uint64_t tokens() const;
    void setTokens(std::uint64_t tokens);  ///< announces nothing
    void setTrained(std::uint64_t tokens); ///< 0: not known
    QSpinBox *spinBox() const { return m_spin; }
    QSlider *slider() const { return m_slider; }

Q_SIGNALS:
    void edited(); ///< by the user

private:
    void showOnSlider();

    QSpinBox *m_spin = nullptr;
    QSlider *m_slider = nullptr;
    QLabel *m_note = nullptr;
};

} // namespace tokenloupe
