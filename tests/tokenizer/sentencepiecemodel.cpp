// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/tokenizer/sentencepiecemodel.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytetokentext.h"
#include "tests/tokenizer/protowriter.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_set>

namespace tokenloupe {

namespace {

// Field numbers and values of sentencepiece_model.proto.
namespace model {
constexpr std::uint32_t pieces = 1, trainerSpec = 2, normalizerSpec = 3;
}
namespace piece {
constexpr std::uint32_t text = 1, score = 2, type = 3;
constexpr std::uint64_t normal = 1, unknown = 2, unused = 5, byte = 6;
} // namespace piece
namespace trainer {
constexpr std::uint32_t modelType = 3, byteFallback = 35, unknownId = 40, beginId = 41, endId = 42,
                        paddingId = 43;
constexpr std::uint64_t bpe = 2;
} // namespace trainer
namespace normalizer {
constexpr std::uint32_t name = 1, addDummyPrefix = 3, removeExtraWhitespaces = 4, escapeWhitespaces = 5;
}

void appendPiece(ProtoWriter &writer, std::string_view text, float score, std::uint64_t type)
{
    ProtoWriter fields;
    fields.bytes(piece::text, text);
    fields.number(piece::score, score);
    fields.integer(piece::type, type);
    writer.message(model::pieces, fields);
}

/// Unique, and not UTF-8: the library only ever sees texts that are.
std::string impossibleName(std::size_t id)
{
    return "\xFF" + std::to_string(id);
}

/// note: the library orders merges by score with a comparison that NaN would make inconsistent.
float orderedScore(const VocabularyData &data, std::size_t id)
{
    const float score = data.scores.empty() ? 0.0F : data.scores[id];
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}

} // namespace

std::string sentencePieceModel(const VocabularyData &data)
{
    ProtoWriter writer;
    std::unordered_set<std::string_view> seen;
    seen.reserve(data.texts.size());
    for (std::size_t i = 0; i < data.texts.size(); ++i) {
        const std::string &text = data.texts[i];
        const TokenKind kind = data.kinds[i];
        const bool canMatch = (kind == TokenKind::Normal || kind == TokenKind::Unused) && !text.empty() &&
                              isValidUtf8(text) && !byteOfTokenText(text) && seen.insert(text).second;
        if (!canMatch)
            appendPiece(writer, impossibleName(i), 0.0F, piece::normal);
        else
            appendPiece(writer, text, orderedScore(data, i),
                        kind == TokenKind::Unused ? piece::unused : piece::normal);
    }
    appendPiece(writer, impossibleName(data.texts.size()), 0.0F, piece::unknown);
    for (unsigned byte = 0; byte < 256; ++byte)
        appendPiece(writer, tokenTextOfByte(static_cast<unsigned char>(byte)), 0.0F, piece::byte);

    ProtoWriter trainerFields;
    trainerFields.integer(trainer::modelType, trainer::bpe);
    // note: without bytes the library joins runs of unknown characters, in quadratic time.
    trainerFields.integer(trainer::byteFallback, 1);
    trainerFields.integer(trainer::unknownId, data.texts.size());
    for (const std::uint32_t field : {trainer::beginId, trainer::endId, trainer::paddingId})
        trainerFields.integer(field, ~std::uint64_t(0)); // -1, none: BOS and EOS are ours too
    writer.message(model::trainerSpec, trainerFields);

    // A space in front only belongs to some of the parts that a text is encoded in, so we put it there.
    ProtoWriter normalizerFields;
    normalizerFields.bytes(normalizer::name, "identity");
    normalizerFields.integer(normalizer::addDummyPrefix, 0);
    normalizerFields.integer(normalizer::removeExtraWhitespaces, 0);
    normalizerFields.integer(normalizer::escapeWhitespaces, 1);
    writer.message(model::normalizerSpec, normalizerFields);
    return writer.take();
}

} // namespace tokenloupe
