// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/rubyclass.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/unicodeproperty.h"

#include <vector>

namespace tokenloupe {

namespace {

constexpr int deepest = 16;

tl::unexpected<Error> bad(std::string_view pattern, std::size_t at, const std::string &what)
{
    return makeError(ErrorCode::Unsupported, "compile a pattern",
                     what + " at " + std::to_string(at) + " of " + quotedForMessage(pattern));
}

bool startsWith(std::string_view pattern, std::size_t at, std::string_view text)
{
    return pattern.substr(std::min(at, pattern.size())).starts_with(text);
}

/// Characters that an operand of a class takes: some by members of a PCRE2 class, some by expressions that
/// match one character.
struct Operand
{
    std::string members;
    std::vector<std::string> others;

    std::string text() const
    {
        if (others.empty())
            return members.empty() ? "(?!)" : "[" + members + "]";
        std::string result = "(?:";
        if (!members.empty())
            result += "[" + members + "]|";
        for (std::size_t i = 0; i < others.size(); ++i)
            result += (i > 0 ? "|" : "") + others[i];
        return result + ")";
    }
};

std::string classText(const std::vector<Operand> &operands, bool negated)
{
    if (operands.size() == 1 && operands.front().others.empty() && !operands.front().members.empty())
        return (negated ? "[^" : "[") + operands.front().members + "]";
    std::string all = "(?:";
    for (std::size_t i = 0; i + 1 < operands.size(); ++i)
        all += "(?=" + operands[i].text() + ")";
    all += operands.back().text() + ")";
    return negated ? "(?:(?!" + all + ")(?s:.))" : all;
}

Result<std::string> readClass(std::string_view pattern, std::size_t &at, int depth)
{
    const std::size_t begin = at;
    if (depth > deepest)
        return bad(pattern, at, "classes nest too deeply");
    ++at;
    const bool negated = startsWith(pattern, at, "^");
    at += negated ? 1 : 0;
    std::vector<Operand> operands(1);
    for (bool first = true;; first = false) {
        if (at >= pattern.size())
            return bad(pattern, begin, "a class is not closed");
        Operand &operand = operands.back();
        if (pattern[at] == ']' && !first) {
            ++at;
            return classText(operands, negated);
        }
        if (startsWith(pattern, at, "&&")) {
            operands.emplace_back();
            at += 2;
        } else if (startsWith(pattern, at, "[:") && pattern.find(":]", at) != std::string_view::npos) {
            const std::size_t end = pattern.find(":]", at);
            std::string_view name = pattern.substr(at + 2, end - at - 2);
            const bool notIn = name.starts_with("^");
            name.remove_prefix(notIn ? 1 : 0);
            // Here, other than in \p{Punct}, symbols are among them.
            const auto members =
                name == "punct" ? std::optional<std::string>("\\p{P}\\p{S}") : unicodePropertyMembers(name);
            if (!members)
                return bad(pattern, at, "a class of an unknown name");
            if (notIn)
                operand.others.push_back("[^" + *members + "]");
            else
                operand.members += *members;
            at = end + 2;
        } else if (pattern[at] == '[') {
            auto nested = readClass(pattern, at, depth + 1);
            if (!nested)
                return nested;
            operand.others.push_back(std::move(*nested));
        } else if (startsWith(pattern, at, "\\b")) {
            operand.members += "\\x08";
            at += 2;
        } else if (startsWith(pattern, at, "\\w")) {
            // Inside of a class the numbers of Latin-1 are not among them.
            operand.members += *unicodePropertyMembers("word");
            at += 2;
        } else if (startsWith(pattern, at, "\\W")) {
            operand.others.push_back("[^" + *unicodePropertyMembers("word") + "]");
            at += 2;
        } else if (pattern[at] == '\\') {
            auto escape = readRubyEscape(pattern, at);
            if (!escape)
                return tl::unexpected(escape.error());
            if (escape->negated)
                operand.others.push_back("[^" + escape->members + "]");
            else
                operand.members += escape->members.empty() ? escape->text : escape->members;
        } else {
            const std::size_t length = decodeUtf8(pattern, at).length;
            if (pattern[at] == '^' || pattern[at] == ']')
                operand.members += '\\';
            operand.members += pattern.substr(at, length);
            at += length;
        }
    }
}

/// "\p{Name}", "\p{^Name}", "\P{Name}".
Result<RubyEscape> readProperty(std::string_view pattern, std::size_t &at)
{
    const std::size_t end = pattern.find('}', at);
    if (!startsWith(pattern, at + 2, "{") || end == std::string_view::npos)
        return bad(pattern, at, "a property without a name");
    std::string_view name = pattern.substr(at + 3, end - at - 3);
    RubyEscape result;
    result.negated = pattern[at + 1] == 'P';
    if (name.starts_with("^")) {
        result.negated = !result.negated;
        name.remove_prefix(1);
    }
    const auto members = unicodePropertyMembers(name);
    if (!members)
        return bad(pattern, at, "a property of an unknown name");
    result.members = *members;
    at = end + 1;
    return result;
}

} // namespace

std::string_view wordMembers()
{
    // note: of the other numbers only those of Latin-1 belong to it, as Oniguruma's tables have it.
    return "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";
}

Result<RubyEscape> readRubyEscape(std::string_view pattern, std::size_t &at)
{
    if (at + 1 >= pattern.size())
        return bad(pattern, at, "a backslash without a character");
    const char c = pattern[at + 1];
    RubyEscape result;
    switch (c) {
    case 'p':
    case 'P':
        return readProperty(pattern, at);
    case 's':
    case 'S':
        result.members = *unicodePropertyMembers("space");
        result.negated = c == 'S';
        break;
    case 'w':
    case 'W':
        result.members = wordMembers();
        result.negated = c == 'W';
        break;
    case 'd':
    case 'D':
        result.members = "\\p{Nd}";
        result.negated = c == 'D';
        break;
    case 'h':
    case 'H':
        result.members = "0-9A-Fa-f";
        result.negated = c == 'H';
        break;
    case 'v':
        result.text = "\\x0b";
        break;
    case 'u':
        if (pattern.size() < at + 6 || !bytesOfHex(pattern.substr(at + 2, 4)))
            return bad(pattern, at, "four hexadecimal digits are expected behind \\u");
        result.text = "\\x{" + std::string(pattern.substr(at + 2, 4)) + "}";
        at += 4;
        break;
    case 'x': // \x41 or \x{4E2D}; PCRE2 spells both the same
        if (startsWith(pattern, at + 2, "{")) {
            const std::size_t end = pattern.find('}', at);
            if (end == std::string_view::npos)
                return bad(pattern, at, "a code point is not closed");
            result.text = std::string(pattern.substr(at, end + 1 - at));
            at = end - 1;
        } else {
            result.text = "\\x";
        }
        break;
    default: {
        // Letters and digits mean the same for both, or PCRE2 will say that they mean nothing.
        const std::size_t length = decodeUtf8(pattern, at + 1).length;
        result.text = (length == 1 ? "\\" : "") + std::string(pattern.substr(at + 1, length));
        at += length - 1;
        break;
    }
    }
    at += 2;
    return result;
}

Result<std::string> readRubyClass(std::string_view pattern, std::size_t &at)
{
    return readClass(pattern, at, 0);
}

} // namespace tokenloupe
