// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <string>
#include <string_view>

namespace tokenloupe::jinja {

/// A moment as a wall clock shows it.
struct Calendar
{
    int year = 1970, month = 1, day = 1; ///< month and day from 1
    int hour = 0, minute = 0, second = 0;

    int weekday() const;   ///< 0 is Sunday
    int dayOfYear() const; ///< from 1
};

Calendar localCalendar();
/// "2025-01-02 03:04:05"; a date alone and a T between the two are fine.
Result<Calendar> parseCalendar(std::string_view text);
/// Python's strftime in English, whatever the locale.
std::string formatCalendar(const Calendar &calendar, std::string_view format);

} // namespace tokenloupe::jinja
