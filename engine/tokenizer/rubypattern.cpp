// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/rubypattern.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/rubyclass.h"

#include <optional>
#include <vector>

namespace tokenloupe {

namespace {

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

class RubyPattern
{
public:
    explicit RubyPattern(std::string_view text)
        : m_in(text)
    {}

    Result<std::string> translate();

private:
    void beginAtom() { m_atom = m_out.size(); }
    Status escape();
    Status openGroup();
    Status closeGroup();
    void quantify();
    void repeat();
    void copyCharacter();
    tl::unexpected<Error> bad(const std::string &what) const
    {
        return makeError(ErrorCode::Unsupported, "compile a pattern",
                         what + " at " + std::to_string(m_at) + " of " + quotedForMessage(m_in));
    }

    std::string_view m_in;
    std::size_t m_at = 0;
    std::string m_out;
    std::size_t m_atom = 0;            // where the last atom begins in m_out
    std::vector<std::size_t> m_groups; // where the open groups do
};

Result<std::string> RubyPattern::translate()
{
    while (m_at < m_in.size()) {
        const char c = m_in[m_at];
        Status status;
        if (c == '\\') {
            beginAtom();
            status = escape();
        } else if (c == '[') {
            beginAtom();
            auto found = readRubyClass(m_in, m_at);
            if (!found)
                return found;
            m_out += *found;
        } else if (c == '(') {
            status = openGroup();
        } else if (c == ')') {
            status = closeGroup();
        } else if (c == '*' || c == '+' || c == '?') {
            quantify();
        } else if (c == '{') {
            repeat();
        } else {
            beginAtom();
            copyCharacter();
        }
        if (!status)
            return tl::unexpected(status.error());
    }
    if (!m_groups.empty())
        return bad("a group is not closed");
    return std::move(m_out);
}

void RubyPattern::copyCharacter()
{
    const std::size_t length = decodeUtf8(m_in, m_at).length;
    m_out += m_in.substr(m_at, length);
    m_at += length;
}

Status RubyPattern::escape()
{
    if (m_at + 1 >= m_in.size())
        return bad("a backslash without a character");
    const char c = m_in[m_at + 1];
    if (c == 'b' || c == 'B') {
        const std::string word = "[" + std::string(wordMembers()) + "]";
        const std::string notEdge = "(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + ")";
        const std::string edge = "(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + ")";
        m_out += "(?:" + (c == 'b' ? edge : notEdge) + ")";
        m_at += 2;
        return {};
    }
    auto known = readRubyEscape(m_in, m_at);
    if (!known)
        return tl::unexpected(known.error());
    if (known->members.empty())
        m_out += known->text;
    else
        m_out += (known->negated ? "[^" : "[") + known->members + "]";
    return {};
}

Status RubyPattern::openGroup()
{
    m_groups.push_back(m_out.size());
    if (m_groups.size() > 200)
        return bad("groups nest too deeply");
    m_out += '(';
    ++m_at;
    if (m_at >= m_in.size() || m_in[m_at] != '?')
        return {};
    m_out += '?';
    ++m_at;
    if (m_at < m_in.size() && m_in[m_at] == '#') // a comment
    {
        while (m_at < m_in.size() && m_in[m_at] != ')')
            copyCharacter();
        return {};
    }
    // Options: Ruby's m is what s is elsewhere; its lines always end at newlines.
    while (m_at < m_in.size() && std::string_view("imx-").find(m_in[m_at]) != std::string_view::npos) {
        m_out += m_in[m_at] == 'm' ? 's' : m_in[m_at];
        ++m_at;
    }
    if (m_at < m_in.size() && m_in[m_at] == '<' && m_at + 1 < m_in.size() && m_in[m_at + 1] != '=' &&
        m_in[m_at + 1] != '!') { // a name
        while (m_at < m_in.size() && m_in[m_at] != '>')
            copyCharacter();
    }
    while (m_at < m_in.size() && std::string_view(":=!<>").find(m_in[m_at]) != std::string_view::npos)
        copyCharacter();
    return {};
}

Status RubyPattern::closeGroup()
{
    if (m_groups.empty())
        return bad("a group is closed that is not open");
    m_atom = m_groups.back();
    m_groups.pop_back();
    m_out += ')';
    ++m_at;
    return {};
}

void RubyPattern::quantify()
{
    m_out += m_in[m_at++];
    if (m_at < m_in.size() && (m_in[m_at] == '?' || m_in[m_at] == '+'))
        m_out += m_in[m_at++];
}

/// "{n,m}"; a "{" that begins no such thing stands for itself. A "+" behind it repeats it all.
void RubyPattern::repeat()
{
    std::size_t end = m_at + 1;
    std::string low, high;
    while (end < m_in.size() && isDigit(m_in[end]))
        low += m_in[end++];
    const bool comma = end < m_in.size() && m_in[end] == ',';
    end += comma ? 1 : 0;
    while (comma && end < m_in.size() && isDigit(m_in[end]))
        high += m_in[end++];
    if (end >= m_in.size() || m_in[end] != '}' || (low.empty() && high.empty())) {
        beginAtom();
        m_out += "\\{";
        ++m_at;
        return;
    }
    m_out += "{" + (low.empty() ? "0" : low) + (comma ? "," + high : "") + "}";
    m_at = end + 1;
    if (m_at >= m_in.size())
        return;
    const char next = m_in[m_at];
    if (next == '?' && comma) {
        m_out += next;
        ++m_at;
    } else if (next == '+' || next == '?') {
        m_out.insert(m_atom, "(?:");
        m_out += std::string(")") + next;
        ++m_at;
    }
}

} // namespace

Result<std::string> pcrePatternOf(std::string_view pattern)
{
    constexpr std::size_t longest = 16384;
    if (pattern.size() > longest)
        return makeError(ErrorCode::Unsupported, "compile a pattern",
                         "it has " + std::to_string(pattern.size()) + " bytes; expected at most " +
                             std::to_string(longest));
    return RubyPattern(pattern).translate();
}

} // namespace tokenloupe
