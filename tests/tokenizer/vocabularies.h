// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::test {

/// Byte-level BPE with all 256 bytes, a few merges, and special tokens; pre-tokenizer as given.
/// Ids: 0..255 bytes, then the results of merges in order, then `<|end|>` (control, EOS), `<|im_start|>`
/// (control),
/// `<|im_start|>x` (control), `<tool>` (user-defined).
VocabularyData tinyByteBpe(const std::string &pre = "gpt-2");

/// SentencePiece BPE: `<unk>`, `<s>`, `</s>`, 256 byte tokens, U+2581 and some letters, and pieces whose
/// scores fall with their ids; at the end `[INST]` (control) and `<tool>` (user-defined).
VocabularyData tinySentencePiece();

TokenId idOf(const VocabularyData &data, std::string_view text);
std::vector<std::uint32_t> idsOf(const std::vector<EncodedToken> &tokens);
std::vector<TokenId> tokenIds(const std::vector<EncodedToken> &tokens);

/// Empty when the ranges rise and cover `text` without gaps; else what is wrong.
std::string coverageFault(const std::vector<EncodedToken> &tokens, std::string_view text);

/// Empty when applying `merges` to the characters (bytes: single bytes) of each of the words gives the
/// pieces.
enum class Units { Bytes, Characters };
std::string replayFault(const std::vector<MergeStep> &merges, const std::vector<std::string> &words,
                        const std::vector<std::vector<std::string>> &pieces, Units units);

/// `count` bytes that depend on the seed only; of `letters` when not empty.
std::string randomBytes(std::uint64_t seed, std::size_t count, std::string_view letters = {});

} // namespace tokenloupe::test
