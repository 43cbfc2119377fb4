// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/calendar.h"

#include <array>
#include <charconv>
#include <ctime>

namespace tokenloupe::jinja {

namespace {

constexpr std::array<std::string_view, 7> weekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months{"January",   "February", "March",    "April",
                                                  "May",       "June",     "July",     "August",
                                                  "September", "October",  "November", "December"};

bool isLeap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int daysInMonth(int year, int month)
{
    static constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && isLeap(year) ? 29 : days[static_cast<std::size_t>(month - 1)];
}

/// Weeks of ISO 8601: week 1 is the one with the year's first Thursday.
struct IsoWeek
{
    int year, week;
};

IsoWeek isoWeek(const Calendar &calendar)
{
    const int weekday = (calendar.weekday() + 6) % 7; // 0 is Monday
    const int week = (calendar.dayOfYear() - 1 - weekday + 10) / 7;
    const auto weeksIn = [](int year) {
        const int firstDay = Calendar{year, 1, 1}.weekday();
        return firstDay == 4 || (firstDay == 3 && isLeap(year)) ? 53 : 52;
    };
    if (week < 1)
        return {calendar.year - 1, weeksIn(calendar.year - 1)};
    if (week > weeksIn(calendar.year))
        return {calendar.year + 1, 1};
    return {calendar.year, week};
}

/// `flag`: '-' for no filling, '_' for spaces, '0' for zeros, or 0 for what the field has by itself.
std::string padded(int value, std::size_t width, char fill, char flag)
{
    std::string digits = std::to_string(value);
    if (flag == '-')
        return digits;
    if (flag == '_' || flag == '0')
        fill = flag == '_' ? ' ' : '0';
    return digits.size() < width ? std::string(width - digits.size(), fill) + digits : digits;
}

std::string field(const Calendar &c, char letter, char flag)
{
    const int hour12 = c.hour % 12 == 0 ? 12 : c.hour % 12;
    const auto weekday = weekdays[static_cast<std::size_t>(c.weekday())];
    const auto month = months[static_cast<std::size_t>(c.month - 1)];
    switch (letter) {
    case 'a':
        return std::string(weekday.substr(0, 3));
    case 'A':
        return std::string(weekday);
    case 'b':
    case 'h':
        return std::string(month.substr(0, 3));
    case 'B':
        return std::string(month);
    case 'c':
        return formatCalendar(c, "%a %b %e %H:%M:%S %Y");
    case 'C':
        return padded(c.year / 100, 2, '0', flag);
    case 'd':
        return padded(c.day, 2, '0', flag);
    case 'D':
    case 'x':
        return formatCalendar(c, "%m/%d/%y");
    case 'e':
        return padded(c.day, 2, ' ', flag);
    case 'f':
        return "000000";
    case 'F':
        return formatCalendar(c, "%Y-%m-%d");
    case 'G':
        return std::to_string(isoWeek(c).year);
    case 'H':
        return padded(c.hour, 2, '0', flag);
    case 'I':
        return padded(hour12, 2, '0', flag);
    case 'j':
        return padded(c.dayOfYear(), 3, '0', flag);
    case 'k':
        return padded(c.hour, 2, ' ', flag);
    case 'l':
        return padded(hour12, 2, ' ', flag);
    case 'm':
        return padded(c.month, 2, '0', flag);
    case 'M':
        return padded(c.minute, 2, '0', flag);
    case 'n':
        return "\n";
    case 'p':
        return c.hour < 12 ? "AM" : "PM";
    case 'r':
        return formatCalendar(c, "%I:%M:%S %p");
    case 'R':
        return formatCalendar(c, "%H:%M");
    case 'S':
        return padded(c.second, 2, '0', flag);
    case 't':
        return "\t";
    case 'T':
    case 'X':
        return formatCalendar(c, "%H:%M:%S");
    case 'u':
        return std::to_string(c.weekday() == 0 ? 7 : c.weekday());
    case 'U':
        return padded((c.dayOfYear() + 6 - c.weekday()) / 7, 2, '0', flag);
    case 'V':
        return padded(isoWeek(c).week, 2, '0', flag);
    case 'w':
        return std::to_string(c.weekday());
    case 'W':
        return padded((c.dayOfYear() + 6 - (c.weekday() + 6) % 7) / 7, 2, '0', flag);
    case 'y':
        return padded(c.year % 100, 2, '0', flag);
    case 'Y':
        return std::to_string(c.year);
    case 'z':
    case 'Z':
        return {}; // a time without a zone, as datetime.now() has none
    case '%':
        return "%";
    default:
        return std::string("%") + letter;
    }
}

} // namespace

int Calendar::dayOfYear() const
{
    int days = day;
    for (int m = 1; m < month; ++m)
        days += daysInMonth(year, m);
    return days;
}

int Calendar::weekday() const
{
    // Days before this year since year 1, which began on a Monday.
    const int before = year - 1;
    return (before + before / 4 - before / 100 + before / 400 + dayOfYear()) % 7;
}

Calendar localCalendar()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    return {parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec};
}

Result<Calendar> parseCalendar(std::string_view text)
{
    const auto wrong = [text] {
        return makeError(ErrorCode::InvalidArgument, "read the time",
                         "expected \"2025-01-02 03:04:05\", found \"" + std::string(text.substr(0, 60)) +
                             "\"");
    };
    Calendar calendar;
    const std::array<int *, 6> parts{&calendar.year, &calendar.month,  &calendar.day,
                                     &calendar.hour, &calendar.minute, &calendar.second};
    static constexpr std::string_view separators = "-- ::";
    std::size_t at = 0;
    std::size_t read = 0;
    for (; read < parts.size() && at < text.size(); ++read) {
        const std::size_t digits = read == 0 ? 4 : 2;
        const std::string_view part = text.substr(at, digits);
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *parts[read]);
        if (part.size() != digits || error != std::errc() || end != part.data() + digits || part[0] == '-')
            return wrong();
        at += digits;
        if (at == text.size())
            continue;
        const bool separated =
            read < separators.size() && (text[at] == separators[read] || (read == 2 && text[at] == 'T'));
        if (!separated)
            return wrong();
        ++at;
    }
    const bool inRange = calendar.year >= 1 && calendar.month >= 1 && calendar.month <= 12 &&
                         calendar.day >= 1 && calendar.hour < 24 && calendar.minute < 60 &&
                         calendar.second < 61;
    if (at != text.size() || read < 3 || !inRange ||
        calendar.day > daysInMonth(calendar.year, calendar.month))
        return wrong();
    return calendar;
}

std::string formatCalendar(const Calendar &calendar, std::string_view format)
{
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 == format.size()) {
            out += format[i];
            continue;
        }
        ++i;
        const bool flagged =
            (format[i] == '-' || format[i] == '_' || format[i] == '0') && i + 1 < format.size();
        const char flag = flagged ? format[i++] : '\0';
        out += field(calendar, format[i], flag);
    }
    return out;
}

} // namespace tokenloupe::jinja
