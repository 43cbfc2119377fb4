// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/table.h"

#include "app/cli/terminal.h"
#include "engine/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tokenloupe::cli {

namespace {

bool isWide(char32_t c)
{
    return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

bool isZeroWidth(char32_t c)
{
    return (c >= 0x0300 && c <= 0x036F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F);
}

/// Columns that a terminal uses for it.
std::size_t displayWidth(std::string_view text)
{
    std::size_t width = 0;
    for (std::size_t offset = 0; offset < text.size();) {
        const Utf8Unit unit = decodeUtf8(text, offset);
        offset += unit.length;
        if (unit.valid && isZeroWidth(unit.codePoint))
            continue;
        width += unit.valid && isWide(unit.codePoint) ? 2 : 1;
    }
    return width;
}

} // namespace

Table::Table(std::vector<Column> columns)
    : m_columns(std::move(columns))
{}

void Table::row(std::vector<std::string> cells)
{
    cells.resize(m_columns.size());
    for (std::string &cell : cells)
        cell = visibleText(cell);
    m_rows.push_back(std::move(cells));
}

std::string Table::text() const
{
    std::vector<std::size_t> widths(m_columns.size());
    std::vector<std::string> titles;
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        titles.push_back(m_columns[i].title);
        widths[i] = displayWidth(m_columns[i].title);
        for (const auto &row : m_rows)
            widths[i] = std::max(widths[i], displayWidth(row[i]));
    }
    std::string out;
    const auto append = [&](const std::vector<std::string> &cells) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (i > 0)
                line += "  ";
            const std::string padding(widths[i] - displayWidth(cells[i]), ' ');
            line += m_columns[i].align == Align::Right ? padding + cells[i] : cells[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    };
    if (std::any_of(titles.begin(), titles.end(), [](const std::string &title) { return !title.empty(); }))
        append(titles);
    for (const auto &row : m_rows)
        append(row);
    return out;
}

std::string fixed(double value, int decimals)
{
    std::array<char, 64> buffer{};
    const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
    if (size > 0 && static_cast<std::size_t>(size) < buffer.size())
        return std::string(buffer.data(), static_cast<std::size_t>(size));
    return std::to_string(value);
}

std::string byteText(std::uint64_t bytes)
{
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024)
        return std::to_string(bytes) + " B";
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < units.size()) {
        value /= 1024.0;
        ++unit;
    }
    return fixed(value, value < 10 ? 2 : 1) + " " + units[unit];
}

} // namespace tokenloupe::cli
