// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <QString>
#include <span>

namespace tokenloupe {

/// "token 504 · normal · 4 bytes: 20 54 68 65": what a tooltip says of a token.
QString tokenDescription(const Tokenizer &tokenizer, TokenId id);
/// The text of the tokens first … last, control tokens written out; bytes that are not UTF-8 as U+FFFD.
QString tokensText(const Tokenizer &tokenizer, std::span<const TokenId> ids, int first, int last);

} // namespace tokenloupe
