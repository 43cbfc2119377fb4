// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/sampling/samplersettings.h"

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QObject>

namespace tokenloupe {

enum class ThemeMode { System, Light, Dark };
enum class TextRole { Body, Heading, Small, Chat, Mono, MonoSmall };

/// The colours of one theme, read from resources/themes.json: the only place where colours are written down.
struct ThemeColors
{
    QColor window, panel, line, grid;
    QColor text, muted, faint;
    QColor accent, softAccent, onAccent; ///< onAccent: text on the accent
    QColor chip;                         ///< ground of a normal token chip
    QColor surprise;                     ///< tint at its strongest (8 bits)
    QColor probability;                  ///< tint for probability colouring
    QColor warning, error, ok;
    QColor mutedOnTint;   ///< muted text on the window, on chips and on the soft accent
    QColor stages[6];     ///< by StageFamily: raw, penalties, k-like, mass-like, temperature, draw
    QColor stageTexts[6]; ///< the same hues, dark or light enough to be read as text

    QColor stage(StageFamily family) const { return stages[static_cast<int>(family)]; }
    QColor stageText(StageFamily family) const { return stageTexts[static_cast<int>(family)]; }
};

/// The application's look: palette, fonts, style. One object for the process, on the GUI thread. A switch is
/// announced by changed(); widgets repaint, nothing restarts.
class Theme : public QObject
{
    Q_OBJECT

public:
    static Theme &instance();

    void setMode(ThemeMode mode);
    ThemeMode mode() const { return m_mode; }
    bool isDark() const { return m_dark; }
    const ThemeColors &colors() const { return m_colors; }

    /// Sizes relative to the system font (13 px is its default size).
    QFont font(TextRole role) const;
    /// A length that is `px` at the default font size, scaled with the system font.
    int scaled(int px) const;
    /// An icon of resources/icons, recoloured: "run", "pause", "step", "stop", "new", "open", "send", …
    QIcon icon(const QString &name) const;

    /// Installs style, palette and application font (call once, after QApplication).
    void install();

Q_SIGNALS:
    void changed();

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    Theme();
    void apply();
    void makeFonts();
    bool desktopIsDark() const;

    ThemeMode m_mode = ThemeMode::System;
    bool m_dark = false;
    bool m_installed = false;
    bool m_paletteWasDark = false; ///< of the desktop's own palette, before ours replaced it
    bool m_applying = false;
    double m_scale = 1.0; ///< system font's size over 13 px
    QString m_family, m_monoFamily;
    QFont m_fonts[6]; ///< by TextRole: handing out a copy is cheap, making one is not
    ThemeColors m_colors;
};

/// The colours of both themes from the text of a themes file. An error names the theme and the field.
Result<ThemeColors> readThemeColors(const QByteArray &json, const QString &theme);

/// `base` with `tint` over it at `strength` in [0, 1], as an opaque colour.
QColor blended(const QColor &base, const QColor &tint, double strength);
/// WCAG contrast ratio, 1 … 21.
double contrastRatio(const QColor &a, const QColor &b);

} // namespace tokenloupe
