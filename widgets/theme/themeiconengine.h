// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QIconEngine>
#include <QString>

namespace tokenloupe {

/// Draws a drawing of resources/icons in the colour that the present theme has for the icon's mode, so that
/// icons need not be made again when the theme changes. An unknown name draws nothing.
class ThemeIconEngine : public QIconEngine
{
public:
    explicit ThemeIconEngine(const QString &name);

    void paint(QPainter *painter, const QRect &rect, QIcon::Mode mode, QIcon::State state) override;
    QPixmap pixmap(const QSize &size, QIcon::Mode mode, QIcon::State state) override;
    QPixmap scaledPixmap(const QSize &size, QIcon::Mode mode, QIcon::State state, qreal scale) override;
    QIconEngine *clone() const override;
    bool isNull() override { return m_svg.isEmpty(); }
    QString key() const override { return QStringLiteral("tokenloupe-theme"); }
    QString iconName() override { return m_name; }

private:
    QString m_name;
    QByteArray m_svg; ///< drawn in #000000
};

} // namespace tokenloupe
