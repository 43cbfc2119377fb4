// SPDX-License-Identifier: GPL-3.0-or-later
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/tokenizer/pretokenizer.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <pcre2.h>
#include <string>

namespace tokenloupe {

namespace {

/// A part of the text. Broken ones (not UTF-8) are never shown to a pattern.
struct Part
{
    std::uint32_t end = 0;
    bool broken = false;
};

/// note: PCRE2's own `\s` also takes U+180E, which has not been white space since Unicode 6.3. Vocabularies
/// were trained with White_Space as it is today, so both classes are written out.
std::string withWhiteSpace(std::string_view pattern)
{
    constexpr std::string_view members =
        "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}"
        "\\x{202F}\\x{205F}\\x{3000}";
    std::string result;
    bool inClass = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c != '\\' || i + 1 == pattern.size()) {
            inClass = inClass ? c != ']' : c == '[';
            result += c;
            continue;
        }
        const char escaped = pattern[++i];
        if (escaped == 's' && inClass)
            result += members;
        else if (escaped == 's' || escaped == 'S')
            result.append(escaped == 's' ? "[" : "[^").append(members).append("]");
        else
            result.append({c, escaped});
    }
    return result;
}

std::string messageOf(int error)
{
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(error, buffer.data(), buffer.size());
    return std::string(buffer.begin(), std::find(buffer.begin(), buffer.end(), PCRE2_UCHAR(0)));
}

/// Bytes from `begin` on that are ASCII.
std::size_t asciiRun(std::string_view text, std::size_t begin)
{
    std::size_t i = begin;
    for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, text.data() + i, sizeof bytes);
        if (bytes & 0x8080808080808080ULL)
            break;
    }
    while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80)
        ++i;
    return i - begin;
}

std::vector<Part> partsByValidity(std::string_view text)
{
    std::vector<Part> parts;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t length = asciiRun(text, i);
        bool broken = false;
        if (length == 0) {
            const Utf8Unit unit = decodeUtf8(text, i);
            length = unit.length;
            broken = !unit.valid;
        }
        i += length;
        const auto end = static_cast<std::uint32_t>(i);
        if (!parts.empty() && parts.back().broken == broken)
            parts.back().end = end;
        else
            parts.push_back({end, broken});
    }
    return parts;
}

struct FreeMatchData
{
    void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};
struct FreeContext
{
    void operator()(pcre2_match_context *context) const { pcre2_match_context_free(context); }
};

/// What one call of wordEnds() needs to match; codes are shared by threads, this is not.
struct Matcher
{
    std::unique_ptr<pcre2_match_data, FreeMatchData> data{pcre2_match_data_create(1, nullptr)};
    std::unique_ptr<pcre2_match_context, FreeContext> context{pcre2_match_context_create(nullptr)};

    bool isValid() const { return data && context; }

    int run(const pcre2_code *code, std::string_view text, std::size_t offset) const
    {
        const auto *subject = reinterpret_cast<PCRE2_SPTR>(text.data()); // NOLINT: PCRE2 reads bytes
        int result =
            pcre2_match(code, subject, text.size(), offset, PCRE2_NO_UTF_CHECK, data.get(), context.get());
        if (result == PCRE2_ERROR_JIT_STACKLIMIT)
            result = pcre2_match(code, subject, text.size(), offset, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                                 data.get(), context.get());
        return result;
    }
};

/// Cuts one valid part at the matches of a pattern; returns PCRE2's error or 0.
int cutPart(const Matcher &matcher, const pcre2_code *code, std::string_view part, std::uint32_t begin,
            std::vector<Part> &out)
{
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(matcher.data.get());
    std::size_t done = 0;   // cut up to here
    std::size_t search = 0; // next match is looked for from here
    while (search < part.size()) {
        const int result = matcher.run(code, part, search);
        if (result == PCRE2_ERROR_NOMATCH)
            break;
        if (result < 0)
            return result;
        const std::size_t first = bounds[0];
        const std::size_t last = bounds[1];
        if (first >= last) { // no pattern of ours matches nothing; go on by one character all the same
            search = last + decodeUtf8(part, std::min(last, part.size() - 1)).length;
            continue;
        }
        if (first > done)
            out.push_back({begin + static_cast<std::uint32_t>(first)});
        out.push_back({begin + static_cast<std::uint32_t>(last)});
        done = search = last;
    }
    if (done < part.size())
        out.push_back({begin + static_cast<std::uint32_t>(part.size())});
    return 0;
}

} // namespace

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8 *code) const
{
    pcre2_code_free(code);
}

Result<PreTokenizer> PreTokenizer::create(const SplitRule &rule)
{
    PreTokenizer result;
    for (const std::string_view pattern : rule.patterns) {
        const std::string text = withWhiteSpace(pattern);
        int error = 0;
        PCRE2_SIZE offset = 0;
        pcre2_code *code =
            pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), // NOLINT: as above
                          PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
        if (!code)
            return makeError(ErrorCode::Unsupported, "compile a pre-tokenizer pattern",
                             messageOf(error) + " at " + std::to_string(offset) + " of " + text);
        result.m_codes.emplace_back(code);
        // Without a JIT for this processor matching is slower and gives the same.
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    }
    return result;
}

Result<std::vector<std::uint32_t>> PreTokenizer::wordEnds(std::string_view text) const
{
    const Matcher matcher;
    if (!matcher.isValid())
        return makeError(ErrorCode::OutOfMemory, "tokenise", "no memory for the pre-tokenizer");
    // Patterns are ours and backtrack over white space at most, so only the text's length bounds the work.
    pcre2_set_match_limit(matcher.context.get(), std::numeric_limits<std::uint32_t>::max());

    std::vector<Part> parts = partsByValidity(text);
    std::vector<Part> next;
    for (const Code &code : m_codes) {
        next.clear();
        next.reserve(parts.size() + text.size() / 8);
        std::uint32_t begin = 0;
        for (const Part &part : parts) {
            if (part.broken) {
                next.push_back(part);
            } else if (const int error =
                           cutPart(matcher, code.get(), text.substr(begin, part.end - begin), begin, next)) {
                return makeError(ErrorCode::InvalidArgument, "split the text into words", messageOf(error));
            }
            begin = part.end;
        }
        parts.swap(next);
    }
    std::vector<std::uint32_t> ends;
    ends.reserve(parts.size());
    for (const Part &part : parts)
        ends.push_back(part.end);
    return ends;
}

} // namespace tokenloupe
