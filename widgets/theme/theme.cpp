// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/theme.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/themeiconengine.h"

#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QPalette>
#include <QPixmapCache>
#include <QStyleFactory>
#include <QWidget>
#include <algorithm>
#include <array>
#include <memory>

#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
#include <QStyleHints>
#endif

// The resources sit in a static library: nothing would pull them in by itself. Outside of any namespace, as
// Qt wants.
static void loadThemeResources()
{
    Q_INIT_RESOURCE(theme);
}

namespace tokenloupe {

namespace {

constexpr double defaultPixels = 13.0;

bool looksDark(const QPalette &palette)
{
    return palette.color(QPalette::WindowText).lightnessF() > palette.color(QPalette::Window).lightnessF();
}

QPalette paletteOf(const ThemeColors &c)
{
    QPalette p;
    p.setColor(QPalette::Window, c.window);
    p.setColor(QPalette::WindowText, c.text);
    p.setColor(QPalette::Base, c.panel);
    p.setColor(QPalette::AlternateBase, blended(c.panel, c.grid, 0.5));
    p.setColor(QPalette::Text, c.text);
    p.setColor(QPalette::PlaceholderText, c.muted);
    p.setColor(QPalette::Button, c.panel);
    p.setColor(QPalette::ButtonText, c.text);
    p.setColor(QPalette::BrightText, c.onAccent);
    p.setColor(QPalette::Highlight, c.accent);
    p.setColor(QPalette::HighlightedText, c.onAccent);
    p.setColor(QPalette::Link, c.accent);
    p.setColor(QPalette::LinkVisited, c.accent);
    p.setColor(QPalette::ToolTipBase, c.panel);
    p.setColor(QPalette::ToolTipText, c.text);
    p.setColor(QPalette::Light, c.panel);
    p.setColor(QPalette::Midlight, c.grid);
    p.setColor(QPalette::Mid, c.line);
    p.setColor(QPalette::Dark, c.faint);
    p.setColor(QPalette::Shadow, c.line);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, c.faint);
    p.setColor(QPalette::Disabled, QPalette::Highlight, c.line);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, c.muted);
    return p;
}

} // namespace

Theme &Theme::instance()
{
    static Theme theme;
    return theme;
}

Theme::Theme()
{
    loadThemeResources();
    makeFonts();
    apply();
}

void Theme::setMode(ThemeMode mode)
{
    if (m_mode == mode)
        return;
    m_mode = mode;
    apply();
}

bool Theme::desktopIsDark() const
{
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    if (const Qt::ColorScheme scheme = QGuiApplication::styleHints()->colorScheme();
        scheme != Qt::ColorScheme::Unknown)
        return scheme == Qt::ColorScheme::Dark;
#endif
    // Fusion's own palette follows the desktop where the platform tells; else what the application started
    // with.
    const std::unique_ptr<QStyle> fusion(QStyleFactory::create(QStringLiteral("Fusion")));
    return (fusion && looksDark(fusion->standardPalette())) || m_paletteWasDark;
}

void Theme::install()
{
    if (m_installed)
        return;
    m_installed = true;
    m_paletteWasDark = looksDark(QApplication::palette());

    // 12 to 13.5 px are what desktops have by default (9 or 10 points); beyond, the user has chosen a size.
    const double pixels = QFontInfo(QApplication::font()).pixelSize();
    m_scale = pixels >= 12.0 && pixels <= 13.5 ? 1.0 : pixels / defaultPixels;
    const QStringList families = QFontDatabase::families();
    if (families.contains(QStringLiteral("Inter")))
        m_family = QStringLiteral("Inter");
    if (families.contains(QStringLiteral("JetBrains Mono")))
        m_monoFamily = QStringLiteral("JetBrains Mono");

    makeFonts();

    QApplication::setStyle(new AppStyle);
    QApplication::setFont(font(TextRole::Body));
    qApp->installEventFilter(this);
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    connect(QGuiApplication::styleHints(), &QStyleHints::colorSchemeChanged, this, [this] {
        if (m_mode == ThemeMode::System && desktopIsDark() != m_dark)
            apply();
    });
#endif
    apply();
}

bool Theme::eventFilter(QObject *watched, QEvent *event)
{
    if (event->type() == QEvent::ThemeChange && m_mode == ThemeMode::System && !m_applying &&
        desktopIsDark() != m_dark)
        apply();
    return QObject::eventFilter(watched, event);
}

void Theme::apply()
{
    m_applying = true;
    m_dark = m_mode == ThemeMode::Dark || (m_mode == ThemeMode::System && m_installed && desktopIsDark());
    QFile file(QStringLiteral(":/tokenloupe/themes.json"));
    if (file.open(QIODevice::ReadOnly)) {
        const Result<ThemeColors> colors =
            readThemeColors(file.readAll(), m_dark ? QStringLiteral("dark") : QStringLiteral("light"));
        if (colors)
            m_colors = *colors;
        else // our own file: a test reads both themes, so this is a build gone wrong
            qCritical("%s", colors.error().text().c_str());
    }
    if (m_installed) {
        QPixmapCache::clear();
        QApplication::setPalette(paletteOf(m_colors));
        for (QWidget *widget : QApplication::allWidgets())
            widget->update();
    }
    m_applying = false;
    Q_EMIT changed();
}

QFont Theme::font(TextRole role) const
{
    return m_fonts[static_cast<int>(role)];
}

void Theme::makeFonts()
{
    struct Size
    {
        TextRole role;
        double pixels;
    };
    static constexpr std::array sizes{Size{TextRole::Body, 13.0},  Size{TextRole::Heading, 12.0},
                                      Size{TextRole::Small, 11.0}, Size{TextRole::Chat, 15.0},
                                      Size{TextRole::Mono, 12.0},  Size{TextRole::MonoSmall, 9.0}};
    for (const auto &[role, pixels] : sizes) {
        QFont font;
        if (role == TextRole::Mono || role == TextRole::MonoSmall) {
            font = m_monoFamily.isEmpty() ? QFontDatabase::systemFont(QFontDatabase::FixedFont)
                                          : QFont(m_monoFamily);
            font.setStyleHint(QFont::Monospace);
        } else if (!m_family.isEmpty()) {
            font = QFont(m_family);
        }
        if (role == TextRole::Heading)
            font.setWeight(QFont::DemiBold);
        font.setPixelSize(std::max(6, qRound(pixels * m_scale)));
#if QT_VERSION >= QT_VERSION_CHECK(6, 7, 0)
        font.setFeature("tnum", 1);
#endif
        m_fonts[static_cast<int>(role)] = font;
    }
}

int Theme::scaled(int px) const
{
    return qRound(px * m_scale);
}

QIcon Theme::icon(const QString &name) const
{
    return QIcon(new ThemeIconEngine(name));
}

} // namespace tokenloupe
