// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/lexer.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/unicode.h"

#include <algorithm>
#include <array>

namespace tokenloupe::jinja {

namespace {

/// CR LF and CR become LF, and one line end at the end goes away.
std::string normalized(std::string_view source)
{
    std::string out;
    out.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            out += source[i];
            continue;
        }
        out += '\n';
        if (i + 1 < source.size() && source[i + 1] == '\n')
            ++i;
    }
    if (!out.empty() && out.back() == '\n')
        out.pop_back();
    return out;
}

class Lexer
{
public:
    explicit Lexer(std::string source)
        : m_source(std::move(source))
    {}

    std::vector<Token> run();

private:
    enum class TagKind { Variable, Block, Comment };

    char peek(std::size_t ahead = 0) const
    {
        return m_at + ahead < m_source.size() ? m_source[m_at + ahead] : '\0';
    }
    bool startsWith(std::string_view text) const
    {
        return std::string_view(m_source).substr(m_at, text.size()) == text;
    }
    std::size_t skipSpaceFrom(std::size_t at) const
    {
        return at + leadingSpace(std::string_view(m_source).substr(at));
    }
    void advanceTo(std::size_t at)
    {
        m_line +=
            static_cast<std::uint32_t>(std::count(m_source.begin() + static_cast<std::ptrdiff_t>(m_at),
                                                  m_source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        m_at = at;
    }
    std::size_t findTag() const;
    void addData(std::size_t end, TagKind kind, char sign);
    void readComment();
    bool readRaw();
    void readTag(TagKind kind);
    bool readTagEnd(TagKind kind);
    void readToken();
    void readString();
    void readNumber();
    void readOperator();
    /// After "%}" or "#}": the sign before it decides what whitespace behind it goes.
    void endTag(std::size_t length, char sign, std::size_t trimmedLines);
    void add(TokenType type, std::string text) { m_tokens.push_back({type, m_line, std::move(text)}); }

    std::string m_source;
    std::vector<Token> m_tokens;
    std::string m_brackets; // closers that are awaited inside a tag
    std::size_t m_at = 0;
    std::uint32_t m_line = 1;
    bool m_lineStarts = true; // what came before ended a line
};

std::size_t Lexer::findTag() const
{
    std::size_t at = m_at;
    while ((at = m_source.find('{', at)) != std::string::npos) {
        const char next = at + 1 < m_source.size() ? m_source[at + 1] : '\0';
        if (next == '{' || next == '%' || next == '#')
            return at;
        ++at;
    }
    return m_source.size();
}

void Lexer::addData(std::size_t end, TagKind kind, char sign)
{
    std::string_view data = std::string_view(m_source).substr(m_at, end - m_at);
    if (sign == '-') {
        data = data.substr(0, data.size() - trailingSpace(data));
    } else if (sign != '+' && kind != TagKind::Variable) {
        const std::size_t lineBegin = data.rfind('\n') + 1; // npos + 1 is 0
        const std::string_view tail = data.substr(lineBegin);
        if ((lineBegin > 0 || m_lineStarts) && leadingSpace(tail) == tail.size())
            data = data.substr(0, lineBegin);
    }
    if (!data.empty())
        add(TokenType::Data, std::string(data));
    advanceTo(end);
}

std::vector<Token> Lexer::run()
{
    while (m_at < m_source.size()) {
        const std::size_t tag = findTag();
        if (tag == m_source.size()) {
            add(TokenType::Data, m_source.substr(m_at));
            advanceTo(tag);
            break;
        }
        const char mark = m_source[tag + 1];
        const TagKind kind = mark == '{'   ? TagKind::Variable
                             : mark == '%' ? TagKind::Block
                                           : TagKind::Comment;
        const char sign = tag + 2 < m_source.size() ? m_source[tag + 2] : '\0';
        const bool signedTag = sign == '-' || sign == '+';
        addData(tag, kind, signedTag ? sign : '\0');
        if (kind == TagKind::Comment) {
            readComment();
        } else if (kind == TagKind::Variable || !readRaw()) {
            add(kind == TagKind::Variable ? TokenType::VariableBegin : TokenType::BlockBegin,
                kind == TagKind::Variable ? "{{" : "{%");
            advanceTo(m_at + (signedTag ? 3 : 2));
            readTag(kind);
        }
    }
    add(TokenType::End, {});
    return std::move(m_tokens);
}

void Lexer::endTag(std::size_t length, char sign, std::size_t trimmedLines)
{
    std::size_t end = m_at + length;
    if (sign == '-')
        end = skipSpaceFrom(end);
    else if (sign != '+' && trimmedLines > 0 && end < m_source.size() && m_source[end] == '\n')
        ++end;
    m_lineStarts = m_source[end - 1] == '\n';
    advanceTo(end);
}

void Lexer::readComment()
{
    const std::size_t begin = m_at + (peek(2) == '-' || peek(2) == '+' ? 3 : 2);
    const std::size_t end = m_source.find("#}", begin);
    if (end == std::string::npos)
        failAt(m_line, "the comment is not closed, expected '#}'");
    const char sign = end > begin ? m_source[end - 1] : '\0';
    advanceTo(end);
    endTag(2, sign, 1);
}

bool Lexer::readRaw()
{
    const auto keywordEnd = [this](std::size_t from, std::string_view keyword) -> std::size_t {
        const std::size_t word = skipSpaceFrom(from);
        if (std::string_view(m_source).substr(word, keyword.size()) != keyword)
            return 0;
        return skipSpaceFrom(word + keyword.size());
    };
    const auto afterSign = [this](std::size_t at) {
        return at < m_source.size() && (m_source[at] == '-' || m_source[at] == '+') ? at + 1 : at;
    };
    const auto closes = [this](std::size_t at) { return std::string_view(m_source).substr(at, 2) == "%}"; };

    std::size_t at = keywordEnd(afterSign(m_at + 2), "raw");
    if (at == 0)
        return false;
    const bool strips = at < m_source.size() && m_source[at] == '-';
    if (!closes(strips ? at + 1 : at))
        return false;
    at = strips ? skipSpaceFrom(at + 3) : at + 2;
    const std::uint32_t beginLine = m_line;
    advanceTo(at);
    m_lineStarts = m_source[at - 1] == '\n';
    for (std::size_t tag = m_source.find("{%", at); tag != std::string::npos;
         tag = m_source.find("{%", tag + 1)) {
        std::size_t end = keywordEnd(afterSign(tag + 2), "endraw");
        if (end == 0)
            continue;
        const char endSign = end < m_source.size() ? m_source[end] : '\0';
        const bool hasSign = endSign == '-' || endSign == '+';
        if (!closes(hasSign ? end + 1 : end))
            continue;
        const char sign = m_source[tag + 2];
        addData(tag, TagKind::Block, sign == '-' || sign == '+' ? sign : '\0');
        advanceTo(end);
        endTag(hasSign ? 3 : 2, hasSign ? endSign : '\0', 1);
        return true;
    }
    failAt(beginLine, "the raw block is not closed, expected '{% endraw %}'");
}

void Lexer::readTag(TagKind kind)
{
    const std::uint32_t beginLine = m_line;
    m_brackets.clear();
    while (true) {
        advanceTo(skipSpaceFrom(m_at));
        if (m_at >= m_source.size())
            failAt(beginLine, kind == TagKind::Variable ? "the tag is not closed, expected '}}'"
                                                        : "the tag is not closed, expected '%}'");
        if (m_brackets.empty() && readTagEnd(kind))
            return;
        readToken();
    }
}

bool Lexer::readTagEnd(TagKind kind)
{
    const bool variable = kind == TagKind::Variable;
    const std::string_view closer = variable ? "}}" : "%}";
    const char sign = peek();
    const bool hasSign = sign == '-' || (sign == '+' && !variable);
    if (std::string_view(m_source).substr(m_at + (hasSign ? 1 : 0), 2) != closer)
        return false;
    add(variable ? TokenType::VariableEnd : TokenType::BlockEnd, std::string(closer));
    endTag(hasSign ? 3 : 2, hasSign ? sign : '\0', variable ? 0 : 1);
    return true;
}

void Lexer::readToken()
{
    const char c = peek();
    if (c == '\'' || c == '"') {
        readString();
    } else if (c >= '0' && c <= '9') {
        readNumber();
    } else if (const std::size_t length = identifierLength(std::string_view(m_source).substr(m_at));
               length > 0) {
        add(TokenType::Name, m_source.substr(m_at, length));
        m_at += length;
    } else {
        readOperator();
    }
}

void Lexer::readString()
{
    const char quote = peek();
    std::size_t end = m_at + 1;
    while (end < m_source.size() && m_source[end] != quote)
        end += m_source[end] == '\\' ? 2 : 1;
    if (end >= m_source.size())
        failAt(m_line, std::string("the string is not closed, expected ") + quote);
    add(TokenType::String,
        unescapedString(std::string_view(m_source).substr(m_at + 1, end - m_at - 1), m_line));
    advanceTo(end + 1);
}

void Lexer::readNumber()
{
    const bool afterDot = !m_tokens.empty() && m_tokens.back().isOperator(".") && m_source[m_at - 1] == '.';
    const NumberLength number = numberLength(std::string_view(m_source).substr(m_at),
                                             afterDot ? NumberPlace::AfterDot : NumberPlace::Anywhere);
    std::string digits = m_source.substr(m_at, number.length);
    std::erase(digits, '_');
    add(number.isFloat ? TokenType::Float : TokenType::Integer, std::move(digits));
    m_at += number.length;
}

void Lexer::readOperator()
{
    static constexpr std::array<std::string_view, 26> operators{
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [this](std::string_view symbol) { return startsWith(symbol); });
    if (found == operators.end())
        failAt(m_line,
               "unexpected character '" + firstCharacter(std::string_view(m_source).substr(m_at)) + "'");
    const std::string_view symbol = *found;
    if (symbol == "(" || symbol == "[" || symbol == "{") {
        m_brackets += symbol == "(" ? ')' : symbol == "[" ? ']' : '}';
    } else if (symbol == ")" || symbol == "]" || symbol == "}") {
        if (m_brackets.empty())
            failAt(m_line, "unexpected '" + std::string(symbol) + "', no bracket is open");
        if (m_brackets.back() != symbol[0])
            failAt(m_line, "unexpected '" + std::string(symbol) + "', expected '" + m_brackets.back() + "'");
        m_brackets.pop_back();
    }
    add(TokenType::Operator, std::string(symbol));
    m_at += symbol.size();
}

} // namespace

std::string describe(const Token &token)
{
    switch (token.type) {
    case TokenType::Data:
        return "text outside of a tag";
    case TokenType::End:
        return "the end of the template";
    case TokenType::String:
        return "a string";
    default:
        return "'" + token.text + "'";
    }
}

std::vector<Token> tokenize(std::string_view source)
{
    return Lexer(normalized(source)).run();
}

void failAt(std::uint32_t line, const std::string &message)
{
    fail("line " + std::to_string(line) + ": " + message);
}

} // namespace tokenloupe::jinja
