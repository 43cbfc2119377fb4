// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace tokenloupe {

std::string countText(std::uint64_t number);              ///< "131 072": thin groups of three from 10 000 on
std::string sizeText(std::uint64_t bytes);                ///< "93.8 MiB", "4.50 GiB"
std::string fixedText(double number, int decimals);       ///< "12.50"
std::string plural(std::uint64_t count, const char *one); ///< "1 layer", "28 layers"

} // namespace tokenloupe
