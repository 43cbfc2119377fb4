// SPDX-License-Identifier: GPL-3.0-or-later
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/tokenizer/textfinder.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/rubypattern.h"

#include <algorithm>
#include <array>
#include <pcre2.h>

namespace tokenloupe {

namespace {

/// Steps of one match. Patterns come from a file that may be hostile; honest ones stay far below on any text,
/// as long as white space does not run for millions of characters.
constexpr std::uint32_t matchLimit = 2'000'000;

std::string messageOf(int error)
{
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(error, buffer.data(), buffer.size());
    return std::string(buffer.begin(), std::find(buffer.begin(), buffer.end(), PCRE2_UCHAR(0)));
}

PCRE2_SPTR bytesOf(std::string_view text)
{
    return reinterpret_cast<PCRE2_SPTR>(text.data()); // NOLINT: PCRE2 reads bytes
}

struct FreeCompileContext
{
    void operator()(pcre2_compile_context *context) const { pcre2_compile_context_free(context); }
};

} // namespace

void TextFinder::FreeCode::operator()(pcre2_real_code_8 *code) const
{
    pcre2_code_free(code);
}

void TextFinder::Scratch::Free::operator()(pcre2_real_match_data_8 *data) const
{
    pcre2_match_data_free(data);
}

void TextFinder::Scratch::Free::operator()(pcre2_real_match_context_8 *context) const
{
    pcre2_match_context_free(context);
}

TextFinder::Scratch::Scratch()
    : m_data(pcre2_match_data_create(1, nullptr))
    , m_context(pcre2_match_context_create(nullptr))
{
    if (m_context)
        pcre2_set_match_limit(m_context.get(), matchLimit);
}

Result<TextFinder> TextFinder::create(const TextPattern &pattern)
{
    TextFinder finder;
    if (pattern.text.empty())
        return makeError(ErrorCode::BadFile, "compile a pattern", "it is empty");
    if (pattern.kind == TextPattern::Kind::Literal) {
        finder.m_literal = pattern.text;
        return finder;
    }
    const auto text = pcrePatternOf(pattern.text);
    if (!text)
        return tl::unexpected(text.error());
    const std::unique_ptr<pcre2_compile_context, FreeCompileContext> context(
        pcre2_compile_context_create(nullptr));
    if (!context)
        return makeError(ErrorCode::OutOfMemory, "compile a pattern", "no memory for it");
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    PCRE2_SIZE offset = 0;
    finder.m_code.reset(pcre2_compile(bytesOf(*text), text->size(),
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                      &error, &offset, context.get()));
    if (!finder.m_code)
        return makeError(ErrorCode::Unsupported, "compile the pattern " + quotedForMessage(pattern.text),
                         messageOf(error) + " at " + std::to_string(offset) + " of " +
                             quotedForMessage(*text));
    // Without a JIT for this processor matching is slower and gives the same.
    pcre2_jit_compile(finder.m_code.get(), PCRE2_JIT_COMPLETE);
    return finder;
}

Result<std::optional<TextFinder::Match>> TextFinder::find(std::string_view text, std::size_t from,
                                                          const Scratch &scratch, Empty empty) const
{
    using Found = std::optional<Match>;
    if (!m_code) {
        const std::size_t found = text.find(m_literal, from);
        return found == std::string_view::npos ? Found() : Found(Match{found, found + m_literal.size()});
    }
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(scratch.m_data.get());
    while (from < text.size()) {
        int result = pcre2_match(m_code.get(), bytesOf(text), text.size(), from, PCRE2_NO_UTF_CHECK,
                                 scratch.m_data.get(), scratch.m_context.get());
        if (result == PCRE2_ERROR_JIT_STACKLIMIT)
            result =
                pcre2_match(m_code.get(), bytesOf(text), text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                            scratch.m_data.get(), scratch.m_context.get());
        if (result == PCRE2_ERROR_NOMATCH)
            return Found();
        if (result < 0)
            return makeError(ErrorCode::InvalidArgument, "split the text into words", messageOf(result));
        if (bounds[0] < bounds[1] || (empty == Empty::Find && bounds[0] == bounds[1]))
            return Found(Match{bounds[0], bounds[1]});
        const std::size_t last =
            std::min<std::size_t>(std::max<std::size_t>(bounds[1], from), text.size() - 1);
        from = last + decodeUtf8(text, last).length;
    }
    return Found();
}

} // namespace tokenloupe
