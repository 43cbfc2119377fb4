// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::jinja {

enum class TokenType : std::uint8_t {
    Data,
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End,
};

struct Token
{
    TokenType type = TokenType::End;
    std::uint32_t line = 1;
    /// Data and String: the text itself, escapes resolved; Name and Operator: as written; numbers: the digits
    /// without underscores.
    std::string text;

    bool isOperator(std::string_view symbol) const { return type == TokenType::Operator && text == symbol; }
    bool isName(std::string_view name) const { return type == TokenType::Name && text == name; }
};

/// What a token is called in messages.
std::string describe(const Token &token);

/// Cuts a template into tokens, with comments gone and whitespace control (trim_blocks, lstrip_blocks, signs
/// at the tags, one line end at the end of the source) applied. Throws a Failure with the line.
std::vector<Token> tokenize(std::string_view source);

[[noreturn]] void failAt(std::uint32_t line, const std::string &message);

} // namespace tokenloupe::jinja
