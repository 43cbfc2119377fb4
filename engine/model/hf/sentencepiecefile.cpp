// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/sentencepiecefile.h"

#include "engine/base/utf8.h"
#include "engine/model/hf/protoreader.h"

#include <array>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

constexpr std::size_t mostTokens = std::size_t(1) << 24;

// Field numbers and values of sentencepiece_model.proto.
namespace model {
constexpr std::uint32_t pieces = 1, trainerSpec = 2, normalizerSpec = 3;
}
namespace piece {
constexpr std::uint32_t text = 1, score = 2, type = 3;
}
namespace trainer {
constexpr std::uint32_t modelType = 3, spaceAsSuffix = 24, unknownId = 40, beginId = 41, endId = 42,
                        paddingId = 43;
constexpr std::uint64_t bpe = 2;
constexpr std::array<const char *, 5> modelTypes{"?", "unigram", "bpe", "word", "char"};
} // namespace trainer
namespace normalizer {
constexpr std::uint32_t name = 1, rules = 2, addDummyPrefix = 3, removeExtraWhitespaces = 4;
}

class SentencePieceFileReader
{
public:
    SentencePieceFileReader(const std::string &name, std::vector<std::string> *warnings)
        : m_name(name)
        , m_warnings(warnings)
    {}

    Result<VocabularyData> read(std::string_view bytes);

private:
    Status readPiece(std::string_view bytes);
    Status readTrainer(std::string_view bytes);
    Status readNormalizer(std::string_view bytes);
    void setId(std::optional<TokenId> &id, std::int64_t value, const char *name);

    tl::unexpected<Error> bad(const std::string &message) const
    {
        return makeError(ErrorCode::BadFile, "read " + m_name, message);
    }
    tl::unexpected<Error> unsupported(const std::string &message) const
    {
        return makeError(ErrorCode::Unsupported, "read " + m_name, message);
    }
    void warn(const std::string &message)
    {
        if (m_warnings)
            m_warnings->push_back(m_name + ": " + message);
    }

    const std::string &m_name;
    std::vector<std::string> *m_warnings;
    VocabularyData m_data;
    std::size_t m_badKinds = 0, m_badBytes = 0, m_badScores = 0;
    std::uint64_t m_modelType = 1;                                      // what the format assumes
    std::int64_t m_unknown = 0, m_begin = 1, m_end = 2, m_padding = -1; // the same
};

Status SentencePieceFileReader::readPiece(std::string_view bytes)
{
    constexpr std::array kinds = {TokenKind::Normal,      TokenKind::Unknown, TokenKind::Control,
                                  TokenKind::UserDefined, TokenKind::Unused,  TokenKind::Byte};
    if (m_data.texts.size() == mostTokens)
        return bad("has more than " + std::to_string(mostTokens) + " pieces");
    std::string_view text;
    float score = 0;
    std::uint64_t type = 1;
    ProtoReader reader(bytes);
    while (reader.next()) {
        if (reader.field() == piece::text)
            text = reader.bytes();
        else if (reader.field() == piece::score)
            score = reader.number();
        else if (reader.field() == piece::type)
            type = reader.integer();
    }
    if (reader.isBroken())
        return bad("piece " + std::to_string(m_data.texts.size()) + " is broken");
    TokenKind kind = TokenKind::Normal;
    if (type >= 1 && type <= kinds.size())
        kind = kinds[type - 1];
    else
        ++m_badKinds;
    const bool isByte =
        text.size() == 6 && text.starts_with("<0x") && text.ends_with(">") && bytesOfHex(text.substr(3, 2));
    if (kind == TokenKind::Byte && !isByte) {
        kind = TokenKind::Normal;
        ++m_badBytes;
    }
    if (std::isnan(score)) {
        score = -std::numeric_limits<float>::infinity();
        ++m_badScores;
    }
    m_data.texts.emplace_back(text);
    m_data.scores.push_back(score);
    m_data.kinds.push_back(kind);
    return {};
}

Status SentencePieceFileReader::readTrainer(std::string_view bytes)
{
    ProtoReader reader(bytes);
    while (reader.next()) {
        const auto signedId = static_cast<std::int32_t>(static_cast<std::uint32_t>(reader.integer()));
        switch (reader.field()) {
        case trainer::modelType:
            m_modelType = reader.integer();
            break;
        case trainer::unknownId:
            m_unknown = signedId;
            break;
        case trainer::beginId:
            m_begin = signedId;
            break;
        case trainer::endId:
            m_end = signedId;
            break;
        case trainer::paddingId:
            m_padding = signedId;
            break;
        case trainer::spaceAsSuffix:
            if (reader.flag())
                return unsupported("field \"treat_whitespace_as_suffix\" is not supported");
            break;
        default:
            break;
        }
    }
    if (reader.isBroken())
        return bad("field \"trainer_spec\" is broken");
    return {};
}

Status SentencePieceFileReader::readNormalizer(std::string_view bytes)
{
    m_data.addSpacePrefix = true;
    m_data.removeExtraWhitespaces = true;
    std::string_view rules, rulesName;
    ProtoReader reader(bytes);
    while (reader.next()) {
        if (reader.field() == normalizer::name)
            rulesName = reader.bytes();
        else if (reader.field() == normalizer::rules)
            rules = reader.bytes();
        else if (reader.field() == normalizer::addDummyPrefix)
            m_data.addSpacePrefix = reader.flag();
        else if (reader.field() == normalizer::removeExtraWhitespaces)
            m_data.removeExtraWhitespaces = reader.flag();
    }
    if (reader.isBroken())
        return bad("field \"normalizer_spec\" is broken");
    if (!rules.empty())
        return unsupported("the text rules " + quotedForMessage(rulesName) +
                           " of the normaliser are not supported; expected \"identity\"");
    return {};
}

void SentencePieceFileReader::setId(std::optional<TokenId> &id, std::int64_t value, const char *name)
{
    if (value < 0)
        return;
    if (static_cast<std::uint64_t>(value) >= m_data.texts.size()) {
        warn(std::string("field \"") + name + "\": expected a piece below " +
             std::to_string(m_data.texts.size()) + ", found " + std::to_string(value) +
             "; the token counts as absent");
        return;
    }
    id = TokenId(static_cast<std::uint32_t>(value));
}

Result<VocabularyData> SentencePieceFileReader::read(std::string_view bytes)
{
    m_data.removeExtraWhitespaces = true;
    ProtoReader reader(bytes);
    while (reader.next()) {
        Status status;
        if (reader.field() == model::pieces)
            status = readPiece(reader.bytes());
        else if (reader.field() == model::trainerSpec)
            status = readTrainer(reader.bytes());
        else if (reader.field() == model::normalizerSpec)
            status = readNormalizer(reader.bytes());
        if (!status)
            return tl::unexpected(status.error());
    }
    if (reader.isBroken() || m_data.texts.empty())
        return bad("is no SentencePiece model");
    if (m_modelType != trainer::bpe)
        return unsupported(
            "a SentencePiece model of kind \"" +
            std::string(trainer::modelTypes[m_modelType < trainer::modelTypes.size() ? m_modelType : 0]) +
            "\" is not supported; expected \"bpe\"");
    m_data.model = "llama";
    m_data.pre = "default";
    m_data.addBos = true;
    setId(m_data.unknown, m_unknown, "unk_id");
    setId(m_data.bos, m_begin, "bos_id");
    setId(m_data.eos, m_end, "eos_id");
    setId(m_data.padding, m_padding, "pad_id");
    m_data.addBos = m_data.bos.has_value();
    const auto tell = [this](std::size_t count, const char *what) {
        if (count > 0)
            warn(std::to_string(count) + " pieces " + what);
    };
    tell(m_badKinds, "have a type outside 1 to 6 and count as plain text");
    tell(m_badBytes, "are bytes but not written as \"<0x..>\" and count as plain text");
    tell(m_badScores, "have a score that is no number and counts as the lowest");
    return std::move(m_data);
}

} // namespace

Result<VocabularyData> readSentencePieceFile(std::string_view bytes, const std::string &name,
                                             std::vector<std::string> *warnings)
{
    return SentencePieceFileReader(name, warnings).read(bytes);
}

} // namespace tokenloupe
