// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tokenloupe {

/// The byte that a token of kind Byte stands for: its text is "<0x0A>". Nothing for any other text, also of
/// the wrong length or with letters that are no hexadecimal digits.
std::optional<unsigned char> byteOfTokenText(std::string_view text);
/// Inverse: "<0x0A>".
std::string tokenTextOfByte(unsigned char byte);

} // namespace tokenloupe
