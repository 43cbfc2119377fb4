// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::cli {

enum class Align { Left, Right };

/// Rows of cells in aligned columns, for people. Cells are made visible (no control characters).
class Table
{
public:
    struct Column
    {
        std::string title; ///< empty titles everywhere: no heading line
        Align align = Align::Left;
    };

    explicit Table(std::vector<Column> columns);
    void row(std::vector<std::string> cells);
    std::string text() const;

private:
    std::vector<Column> m_columns;
    std::vector<std::vector<std::string>> m_rows;
};

std::string fixed(double value, int decimals); ///< "12.50"
std::string byteText(std::uint64_t bytes);     ///< "93.8 MiB"

} // namespace tokenloupe::cli
