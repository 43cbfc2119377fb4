// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/themeiconengine.h"

#include "widgets/theme/theme.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QPixmapCache>
#include <QSvgRenderer>

namespace tokenloupe {

namespace {

QColor colorFor(QIcon::Mode mode, QIcon::State state)
{
    const ThemeColors &colors = Theme::instance().colors();
    if (mode == QIcon::Disabled)
        return colors.faint;
    if (mode == QIcon::Selected || state == QIcon::On)
        return colors.onAccent;
    return colors.text;
}

} // namespace

ThemeIconEngine::ThemeIconEngine(const QString &name)
    : m_name(name)
{
    QFile file(QStringLiteral(":/tokenloupe/icons/") + name + QStringLiteral(".svg"));
    if (file.open(QIODevice::ReadOnly))
        m_svg = file.readAll();
}

void ThemeIconEngine::paint(QPainter *painter, const QRect &rect, QIcon::Mode mode, QIcon::State state)
{
    if (m_svg.isEmpty())
        return;
    QByteArray svg = m_svg;
    svg.replace("#000000", colorFor(mode, state).name().toLatin1());
    QSvgRenderer renderer(svg);
    renderer.setAspectRatioMode(Qt::KeepAspectRatio);
    renderer.render(painter, rect);
}

QPixmap ThemeIconEngine::pixmap(const QSize &size, QIcon::Mode mode, QIcon::State state)
{
    return scaledPixmap(size, mode, state, 1.0);
}

QPixmap ThemeIconEngine::scaledPixmap(const QSize &size, QIcon::Mode mode, QIcon::State state, qreal scale)
{
    // `size` is in device pixels
    const QString cacheKey = QStringLiteral("tokenloupe-icon/%1/%2/%3x%4@%5")
                                 .arg(m_name, colorFor(mode, state).name())
                                 .arg(size.width())
                                 .arg(size.height())
                                 .arg(scale);
    QPixmap result;
    if (QPixmapCache::find(cacheKey, &result))
        return result;
    result = QPixmap(size);
    result.fill(Qt::transparent);
    {
        QPainter painter(&result);
        paint(&painter, QRect(QPoint(0, 0), size), mode, state);
    }
    result.setDevicePixelRatio(scale);
    QPixmapCache::insert(cacheKey, result);
    return result;
}

QIconEngine *ThemeIconEngine::clone() const
{
    return new ThemeIconEngine(*this);
}

} // namespace tokenloupe
