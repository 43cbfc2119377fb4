// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <QString>
#include <cstdint>

namespace tokenloupe {

// How numbers are written everywhere: at most four significant digits, thin spaces between thousands, units
// after a no-break space where asked for.

QString formatCount(std::uint64_t value);     ///< "49,152" with the looks' separator
QString formatBytes(std::uint64_t bytes);     ///< "2.00 MiB", "22.5 KiB"
QString formatMebibytes(std::uint64_t bytes); ///< "92.1" (unit in the heading)
QString formatMilliseconds(double ms);        ///< "10.4 ms"
QString formatPercent(double share);          ///< 0.376 -> "37.6" (no sign)
QString formatSignificant(double value, int digits = 4);
QString formatTimes(double ratio);                         ///< "× 1.25"
QString formatRate(double perSecond, const QString &unit); ///< "96.4 tok/s"
/// Steps are counted from 1 for people.
QString formatStep(StepIndex step);
/// "1 thread", "2 threads".
QString counted(std::uint64_t count, const QString &one, const QString &many);

} // namespace tokenloupe
