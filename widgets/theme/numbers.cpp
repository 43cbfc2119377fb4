// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr QChar thinSpace(0x202F);    // narrow, does not break
constexpr QChar noBreakSpace(0x00A0); // between a number and its unit

// "-" in front, digits in groups of three from the right; four digits stay together.
QString grouped(const QString &number)
{
    const qsizetype point = number.indexOf(QLatin1Char('.'));
    const qsizetype end = point < 0 ? number.size() : point;
    const qsizetype begin = number.startsWith(QLatin1Char('-')) ? 1 : 0;
    QString result = number;
    if (end - begin < 5)
        return result;
    for (qsizetype i = end - 3; i > begin; i -= 3)
        result.insert(i, thinSpace);
    return result;
}

// `digits` significant ones, without exponent; at least the whole part is shown.
QString significant(double value, int digits)
{
    if (value == 0.0)
        return QStringLiteral("0");
    const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
    int decimals = std::max(0, digits - 1 - exponent);
    QString text = QString::number(value, 'f', decimals);
    // 9.996 with three digits becomes "10.00": one digit too many
    if (decimals > 0) {
        const double rounded = text.toDouble();
        if (rounded != 0.0 && static_cast<int>(std::floor(std::log10(std::abs(rounded)))) > exponent)
            text = QString::number(value, 'f', --decimals);
    }
    return text;
}

QString signText(const QString &text)
{
    QString result = text;
    if (result.startsWith(QLatin1Char('-')))
        result[0] = QChar(0x2212);
    return result;
}

} // namespace

QString formatCount(std::uint64_t value)
{
    return grouped(QString::number(value));
}

QString formatBytes(std::uint64_t bytes)
{
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    double value = static_cast<double>(bytes);
    // 999.5 would be shown as "1000": the next unit says it in three digits
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1024.0;
        ++unit;
    }
    const QString number = unit == 0 ? QString::number(bytes) : significant(value, 3);
    return number + noBreakSpace + QString::fromLatin1(units[unit]);
}

QString formatMebibytes(std::uint64_t bytes)
{
    const double value = static_cast<double>(bytes) / (1024.0 * 1024.0);
    if (bytes > 0 && value < 0.05)
        return QStringLiteral("<0.1");
    return grouped(QString::number(value, 'f', value < 999.95 ? 1 : 0));
}

QString formatMilliseconds(double ms)
{
    if (!std::isfinite(ms))
        return QStringLiteral("–");
    if (std::abs(ms) >= 9999.5)
        return signText(significant(ms / 1000.0, 3)) + noBreakSpace + QStringLiteral("s");
    if (ms != 0.0 && std::abs(ms) < 0.01)
        return signText(significant(ms * 1000.0, 2)) + noBreakSpace + QStringLiteral("µs");
    return signText(significant(ms, 3)) + noBreakSpace + QStringLiteral("ms");
}

QString formatPercent(double share)
{
    if (!std::isfinite(share))
        return QStringLiteral("–");
    const double percent = share * 100.0;
    if (percent > 0.0 && percent < 0.05)
        return percent < 0.001 ? QStringLiteral("<0.001") : significant(percent, 1);
    return signText(QString::number(percent, 'f', 1));
}

QString formatSignificant(double value, int digits)
{
    if (std::isnan(value))
        return QStringLiteral("–");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    const double magnitude = std::abs(value);
    if (magnitude != 0.0 && (magnitude < 1e-4 || magnitude >= 1e9)) {
        // superscript exponent: "1.2×10⁻⁹"
        static const QString superscripts = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
        const QString text = QString::number(value, 'e', std::max(0, digits - 1));
        const qsizetype e = text.indexOf(QLatin1Char('e'));
        QString result = text.left(e) + QStringLiteral("×10");
        const int exponent = text.mid(e + 1).toInt();
        if (exponent < 0)
            result += QChar(0x207B);
        for (const QChar digit : QString::number(std::abs(exponent)))
            result += superscripts.at(digit.digitValue());
        return signText(result);
    }
    return signText(grouped(significant(value, digits)));
}

QString formatTimes(double ratio)
{
    return QStringLiteral("× ") + formatSignificant(ratio, 3);
}

QString formatRate(double perSecond, const QString &unit)
{
    if (!std::isfinite(perSecond))
        return QStringLiteral("–") + noBreakSpace + unit;
    return formatSignificant(perSecond, 3) + noBreakSpace + unit;
}

QString formatStep(StepIndex step)
{
    return step.isValid() ? formatCount(std::uint64_t(step.value()) + 1) : QStringLiteral("–");
}

QString counted(std::uint64_t count, const QString &one, const QString &many)
{
    return QString(formatCount(count) + QChar(0x00A0) + (count == 1 ? one : many));
}

} // namespace tokenloupe
