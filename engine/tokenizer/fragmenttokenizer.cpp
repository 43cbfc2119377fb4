// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/fragmenttokenizer.h"

#include <limits>
#include <numeric>

namespace tokenloupe {

FragmentTokenizer::FragmentTokenizer(std::shared_ptr<const VocabularyData> data)
    : Tokenizer(std::move(data))
{}

std::size_t FragmentTokenizer::textBytes() const
{
    return std::accumulate(m_data.texts.begin(), m_data.texts.end(), std::size_t(0),
                           [](std::size_t sum, const std::string &text) { return sum + text.size(); });
}

void FragmentTokenizer::setBytes(TextList bytes)
{
    m_bytes = std::move(bytes);
    for (std::uint32_t i = 0; i < size(); ++i) {
        const TokenId id(i);
        if (kind(id) == TokenKind::UserDefined)
            m_specials.add(m_bytes[i], id, SpecialMatcher::When::Always);
        else if (kind(id) == TokenKind::Control || kind(id) == TokenKind::Unknown)
            m_specials.add(m_bytes[i], id, SpecialMatcher::When::WhenParsed);
    }
    m_specials.build();
}

Result<std::vector<EncodedToken>> FragmentTokenizer::encode(std::string_view text,
                                                            const EncodeOptions &options) const
{
    if (text.size() >= std::numeric_limits<std::uint32_t>::max())
        return makeError(ErrorCode::InvalidArgument, "tokenise", "the text has more than 4 GiB");
    const auto end = static_cast<std::uint32_t>(text.size());
    std::vector<EncodedToken> tokens;
    std::uint32_t word = 0;
    if (options.merges)
        options.merges->clear();
    if (options.add == AddSpecial::AsModelWants && m_data.addBos && m_data.bos)
        tokens.push_back({*m_data.bos, {0, 0}});

    std::uint32_t begin = 0;
    const auto encodeUpTo = [&](std::uint32_t stop) -> Status {
        if (begin == stop)
            return {};
        return encodeFragment({text.substr(begin, stop - begin), begin}, tokens, options.merges, word);
    };
    for (const SpecialMatch &match : m_specials.find(text, options.special, options.literal)) {
        if (Status status = encodeUpTo(match.range.begin); !status)
            return tl::unexpected(status.error());
        tokens.push_back({match.id, match.range});
        begin = match.range.end;
    }
    if (Status status = encodeUpTo(end); !status)
        return tl::unexpected(status.error());

    if (options.add == AddSpecial::AsModelWants && m_data.addEos && m_data.eos)
        tokens.push_back({*m_data.eos, {end, end}});
    return tokens;
}

} // namespace tokenloupe
