// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/theme.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <array>
#include <cmath>

namespace tokenloupe {

namespace {

struct Field
{
    const char *name;
    QColor ThemeColors::*color;
};

constexpr std::array fields{
    Field{"window", &ThemeColors::window},
    Field{"panel", &ThemeColors::panel},
    Field{"line", &ThemeColors::line},
    Field{"grid", &ThemeColors::grid},
    Field{"text", &ThemeColors::text},
    Field{"muted", &ThemeColors::muted},
    Field{"mutedOnTint", &ThemeColors::mutedOnTint},
    Field{"faint", &ThemeColors::faint},
    Field{"accent", &ThemeColors::accent},
    Field{"softAccent", &ThemeColors::softAccent},
    Field{"onAccent", &ThemeColors::onAccent},
    Field{"chip", &ThemeColors::chip},
    Field{"surprise", &ThemeColors::surprise},
    Field{"probability", &ThemeColors::probability},
    Field{"warning", &ThemeColors::warning},
    Field{"error", &ThemeColors::error},
    Field{"ok", &ThemeColors::ok},
};

tl::unexpected<Error> badField(const QString &theme, const QString &field)
{
    return makeError(ErrorCode::BadFile, "read themes.json",
                     "theme \"" + theme.toStdString() + "\": field \"" + field.toStdString() +
                         "\" is not a colour such as \"#1B1F24\"");
}

Status readList(const QJsonObject &object, const QString &theme, const QString &name, QColor (&out)[6])
{
    const QJsonArray list = object.value(name).toArray();
    if (list.size() != 6)
        return badField(theme, name);
    for (int i = 0; i < 6; ++i) {
        out[i] = QColor(list.at(i).toString());
        if (!out[i].isValid())
            return badField(theme, name + QLatin1Char('/') + QString::number(i));
    }
    return {};
}

double luminance(const QColor &color)
{
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

} // namespace

Result<ThemeColors> readThemeColors(const QByteArray &json, const QString &theme)
{
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(json, &problem);
    const QJsonObject object = document.object().value(theme).toObject();
    if (object.isEmpty())
        return makeError(ErrorCode::BadFile, "read themes.json",
                         "no theme \"" + theme.toStdString() + "\": " + problem.errorString().toStdString());
    ThemeColors colors;
    for (const Field &field : fields) {
        const QString name = QString::fromLatin1(field.name);
        const QColor color(object.value(name).toString());
        if (!color.isValid())
            return badField(theme, name);
        colors.*field.color = color;
    }
    if (const Status status = readList(object, theme, QStringLiteral("stages"), colors.stages); !status)
        return tl::unexpected(status.error());
    if (const Status status = readList(object, theme, QStringLiteral("stageTexts"), colors.stageTexts);
        !status)
        return tl::unexpected(status.error());
    return colors;
}

QColor blended(const QColor &base, const QColor &tint, double strength)
{
    const float t = static_cast<float>(std::clamp(strength, 0.0, 1.0));
    const auto mix = [t](float a, float b) { return std::clamp(a + (b - a) * t, 0.0F, 1.0F); };
    return QColor::fromRgbF(mix(base.redF(), tint.redF()), mix(base.greenF(), tint.greenF()),
                            mix(base.blueF(), tint.blueF()));
}

double contrastRatio(const QColor &a, const QColor &b)
{
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

} // namespace tokenloupe
