// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/ggufwriter.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe::test {

/// Weight types that the tiny model can be stored in; values are GGUF type ids.
enum class TinyType : std::uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    BF16 = 30
};

enum class TinyOutput { Tied, Separate };
enum class TinyBias { None, Attention };

/// The first tokens of every tiny model. Then the 256 byte tokens from `tinyFirstByte`, then pieces.
inline constexpr std::uint32_t tinyUnknown = 0;   ///< "<unk>"
inline constexpr std::uint32_t tinyBos = 1;       ///< "<s>"
inline constexpr std::uint32_t tinyEos = 2;       ///< "</s>"
inline constexpr std::uint32_t tinyTurnStart = 3; ///< "<|im_start|>", a control token
inline constexpr std::uint32_t tinyTurnEnd = 4;   ///< "<|im_end|>", a control token and the end of a turn
inline constexpr std::uint32_t tinyFirstByte = 5;
inline constexpr std::uint32_t tinyFirstPiece = tinyFirstByte + 256;

/// A template of the usual kind, written with the tiny model's two control tokens.
extern const char *const tinyChatTemplate;

struct TinyModelOptions
{
    std::uint64_t seed = 1;
    std::uint32_t layers = 2;
    std::uint32_t embedding = 64; ///< a multiple of 32 when the type is a quantised one, else any
    std::uint32_t heads = 4;
    std::uint32_t kvHeads = 2;
    std::uint32_t headSize = 0; ///< 0: embedding / heads, and the file does not state it
    std::uint32_t feedForward = 96;
    std::uint32_t vocabulary = 384; ///< at least tinyLeastVocabulary()
    std::uint32_t context = 256;
    TinyType type = TinyType::F32;
    TinyOutput output = TinyOutput::Tied;
    TinyBias bias = TinyBias::None;
    std::optional<std::string> chatTemplate;
    float ropeBase = 10000.0F;
    float ropeScaleFactor = 1.0F;            ///< other than 1: linear scaling
    std::vector<float> ropeFrequencyFactors; ///< headSize / 2 values, or empty
    float outputGain = 4.0F;                 ///< larger: more peaked distributions
    std::string name = "tiny";
};

/// A seeded-random model of the Llama architecture with a working SentencePiece-style vocabulary: every text
/// can be encoded, letters and some English syllables merge. Norm weights and biases are random too, so that
/// a forgotten one shows. Rows that are no whole blocks of the chosen type are stored as F16.
GgufWriter tinyModel(const TinyModelOptions &options = {});
std::vector<std::byte> tinyModelBytes(const TinyModelOptions &options = {});
/// Writes `<folder>/<name>.gguf`.
std::filesystem::path writeTinyModel(const std::filesystem::path &folder,
                                     const TinyModelOptions &options = {});

std::uint32_t tinyLeastVocabulary();
/// The keys of such a vocabulary, for models of other kinds.
void addTinyVocabulary(GgufWriter &writer, std::uint32_t size);
/// Texts of all tokens, as the file holds them.
std::vector<std::string> tinyVocabulary(std::uint32_t size);

} // namespace tokenloupe::test
