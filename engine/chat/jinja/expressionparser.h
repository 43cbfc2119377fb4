// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/ast.h"
#include "engine/chat/jinja/lexer.h"
#include "engine/chat/jinja/meter.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe::jinja {

/// The token stream and the grammar of expressions. Throws a Failure with the line and what was expected.
class ExpressionParser
{
public:
    ExpressionParser(std::vector<Token> tokens, Meter &meter, Program &program);

protected:
    enum class Condition { Allowed, Excluded }; ///< whether "a if b else c" may follow

    const Token &current() const { return m_tokens[m_at]; }
    const Token &ahead() const { return m_tokens[std::min(m_at + 1, m_tokens.size() - 1)]; }
    const Token &take();
    bool skipOperator(std::string_view symbol);
    bool skipName(std::string_view name);
    void expectOperator(std::string_view symbol);
    std::string expectName(std::string_view what);
    void expectBlockEnd();
    [[noreturn]] void failExpected(const std::string &what) const;

    ExpressionPtr parseExpression(Condition condition = Condition::Allowed);
    /// "a, b" without brackets is a tuple.
    ExpressionPtr parseTuple(Condition condition = Condition::Allowed);
    /// "| name(…) | name(…)" behind `operand`; null for the start of a filter block.
    ExpressionPtr parseFilters(ExpressionPtr operand);
    ExpressionPtr parseOneFilter(ExpressionPtr operand);

    Symbol symbolOf(const std::string &name);
    Meter &meter() { return m_meter; }
    Program &program() { return m_program; }

    /// Macros and call blocks that are open here, outermost first.
    std::vector<MacroDefinition *> m_openMacros;

private:
    ExpressionPtr parseOr();
    ExpressionPtr parseAnd();
    ExpressionPtr parseNot();
    ExpressionPtr parseCompare();
    ExpressionPtr parseSum();
    ExpressionPtr parseConcat();
    ExpressionPtr parseProduct();
    ExpressionPtr parsePower();
    enum class WithFilters { No, Yes };
    ExpressionPtr parseUnary(WithFilters filters);
    ExpressionPtr parsePrimary();
    ExpressionPtr parseParentheses();
    ExpressionPtr parseList();
    ExpressionPtr parseDict();
    ExpressionPtr parsePostfix(ExpressionPtr operand);
    ExpressionPtr parseFiltersAndTests(ExpressionPtr operand);
    ExpressionPtr parseAttribute(ExpressionPtr operand);
    ExpressionPtr parseSubscript(ExpressionPtr operand);
    ExpressionPtr parseSubscribed(ExpressionPtr operand);
    ExpressionPtr parseCall(ExpressionPtr operand);
    ExpressionPtr parseTest(ExpressionPtr operand);
    std::unique_ptr<ArgumentList> parseArguments();
    std::string parseDottedName(std::string_view what);
    bool atTupleEnd() const;

    template <class Parse>
    ExpressionPtr parseChain(Parse parseOperand,
                             std::initializer_list<std::pair<std::string_view, Operator>> operators);
    ExpressionPtr make(ExpressionKind kind, std::uint32_t line) const;
    ExpressionPtr constant(Value value, std::uint32_t line);
    /// Sets the height from the operands and checks it against the bound.
    ExpressionPtr finish(ExpressionPtr expression);

    std::vector<Token> m_tokens;
    std::size_t m_at = 0;
    Meter &m_meter;
    Program &m_program;
    std::unordered_map<std::string, Symbol> m_symbols;
};

} // namespace tokenloupe::jinja
