// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/expressionparser.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"

#include <algorithm>
#include <array>

namespace tokenloupe::jinja {

ExpressionParser::ExpressionParser(std::vector<Token> tokens, Meter &meter, Program &program)
    : m_tokens(std::move(tokens))
    , m_meter(meter)
    , m_program(program)
{
    m_program.known = {symbolOf("loop"), symbolOf("caller"), symbolOf("varargs"), symbolOf("kwargs")};
}

const Token &ExpressionParser::take()
{
    const Token &token = m_tokens[m_at];
    if (m_at + 1 < m_tokens.size())
        ++m_at;
    return token;
}

bool ExpressionParser::skipOperator(std::string_view symbol)
{
    if (!current().isOperator(symbol))
        return false;
    take();
    return true;
}

bool ExpressionParser::skipName(std::string_view name)
{
    if (!current().isName(name))
        return false;
    take();
    return true;
}

void ExpressionParser::expectOperator(std::string_view symbol)
{
    if (!skipOperator(symbol))
        failExpected("'" + std::string(symbol) + "'");
}

std::string ExpressionParser::expectName(std::string_view what)
{
    if (current().type != TokenType::Name)
        failExpected(std::string(what));
    return take().text;
}

void ExpressionParser::expectBlockEnd()
{
    if (current().type != TokenType::BlockEnd)
        failExpected("'%}'");
    take();
}

void ExpressionParser::failExpected(const std::string &what) const
{
    failAt(current().line, "expected " + what + ", found " + describe(current()));
}

Symbol ExpressionParser::symbolOf(const std::string &name)
{
    const auto [found, added] = m_symbols.try_emplace(name, static_cast<Symbol>(m_program.names.size()));
    if (added)
        m_program.names.push_back(name);
    return found->second;
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind, std::uint32_t line) const
{
    auto expression = std::make_unique<Expression>();
    expression->kind = kind;
    expression->line = line;
    return expression;
}

ExpressionPtr ExpressionParser::constant(Value value, std::uint32_t line)
{
    ExpressionPtr expression = make(ExpressionKind::Constant, line);
    expression->constant = std::move(value);
    return expression;
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr expression)
{
    std::uint32_t height = 0;
    const auto include = [&height](const ExpressionPtr &part) {
        if (part)
            height = std::max(height, part->height);
    };
    for (const ExpressionPtr &operand : expression->operands)
        include(operand);
    if (const auto &arguments = expression->arguments) {
        for (const ExpressionPtr &argument : arguments->positional)
            include(argument);
        for (const auto &[name, argument] : arguments->named)
            include(argument);
        include(arguments->spread);
        include(arguments->namedSpread);
    }
    expression->height = height + 1;
    m_meter.checkNesting(expression->height);
    return expression;
}

ExpressionPtr ExpressionParser::parseExpression(Condition condition)
{
    const Meter::Level level(m_meter);
    ExpressionPtr value = parseOr();
    while (condition == Condition::Allowed && current().isName("if")) {
        ExpressionPtr conditional = make(ExpressionKind::Conditional, take().line);
        conditional->operands.push_back(parseOr());
        conditional->operands.push_back(std::move(value));
        conditional->operands.push_back(skipName("else") ? parseExpression() : nullptr);
        value = finish(std::move(conditional));
    }
    return value;
}

bool ExpressionParser::atTupleEnd() const
{
    return current().type == TokenType::VariableEnd || current().type == TokenType::BlockEnd ||
           current().isOperator(")");
}

ExpressionPtr ExpressionParser::parseTuple(Condition condition)
{
    ExpressionPtr tuple = make(ExpressionKind::Tuple, current().line);
    if (atTupleEnd())
        failExpected("an expression");
    bool isTuple = false;
    while (true) {
        tuple->operands.push_back(parseExpression(condition));
        if (!skipOperator(","))
            break;
        isTuple = true;
        if (atTupleEnd())
            break;
    }
    return isTuple ? finish(std::move(tuple)) : std::move(tuple->operands.front());
}

ExpressionPtr ExpressionParser::parseOr()
{
    ExpressionPtr first = parseAnd();
    if (!current().isName("or"))
        return first;
    ExpressionPtr all = make(ExpressionKind::Or, current().line);
    all->operands.push_back(std::move(first));
    while (skipName("or"))
        all->operands.push_back(parseAnd());
    return finish(std::move(all));
}

ExpressionPtr ExpressionParser::parseAnd()
{
    ExpressionPtr first = parseNot();
    if (!current().isName("and"))
        return first;
    ExpressionPtr all = make(ExpressionKind::And, current().line);
    all->operands.push_back(std::move(first));
    while (skipName("and"))
        all->operands.push_back(parseNot());
    return finish(std::move(all));
}

ExpressionPtr ExpressionParser::parseNot()
{
    if (!current().isName("not"))
        return parseCompare();
    const Meter::Level level(m_meter);
    ExpressionPtr negation = make(ExpressionKind::Not, take().line);
    negation->operands.push_back(parseNot());
    return finish(std::move(negation));
}

ExpressionPtr ExpressionParser::parseCompare()
{
    static constexpr std::array<std::pair<std::string_view, Comparison>, 6> symbols{{
        {"==", Comparison::Equal},
        {"!=", Comparison::NotEqual},
        {"<", Comparison::Less},
        {"<=", Comparison::LessEqual},
        {">", Comparison::Greater},
        {">=", Comparison::GreaterEqual},
    }};
    ExpressionPtr first = parseSum();
    ExpressionPtr chain = make(ExpressionKind::Compare, current().line);
    chain->operands.push_back(std::move(first));
    while (true) {
        const auto found = std::find_if(symbols.begin(), symbols.end(), [this](const auto &entry) {
            return current().isOperator(entry.first);
        });
        if (found != symbols.end()) {
            take();
            chain->comparisons.push_back(found->second);
        } else if (skipName("in")) {
            chain->comparisons.push_back(Comparison::In);
        } else if (current().isName("not") && ahead().isName("in")) {
            take();
            take();
            chain->comparisons.push_back(Comparison::NotIn);
        } else {
            break;
        }
        chain->operands.push_back(parseSum());
    }
    return chain->comparisons.empty() ? std::move(chain->operands.front()) : finish(std::move(chain));
}

template <class Parse>
ExpressionPtr
ExpressionParser::parseChain(Parse parseOperand,
                             std::initializer_list<std::pair<std::string_view, Operator>> operators)
{
    ExpressionPtr chain = make(ExpressionKind::Binary, current().line);
    chain->operands.push_back(parseOperand());
    while (true) {
        const auto found = std::find_if(operators.begin(), operators.end(), [this](const auto &entry) {
            return current().isOperator(entry.first);
        });
        if (found == operators.end())
            break;
        take();
        chain->operations.push_back(found->second);
        chain->operands.push_back(parseOperand());
    }
    return chain->operations.empty() ? std::move(chain->operands.front()) : finish(std::move(chain));
}

ExpressionPtr ExpressionParser::parseSum()
{
    return parseChain([this] { return parseConcat(); }, {{"+", Operator::Add}, {"-", Operator::Subtract}});
}

ExpressionPtr ExpressionParser::parseConcat()
{
    ExpressionPtr first = parseProduct();
    if (!current().isOperator("~"))
        return first;
    ExpressionPtr all = make(ExpressionKind::Concat, current().line);
    all->operands.push_back(std::move(first));
    while (skipOperator("~"))
        all->operands.push_back(parseProduct());
    return finish(std::move(all));
}

ExpressionPtr ExpressionParser::parseProduct()
{
    return parseChain([this] { return parsePower(); }, {{"*", Operator::Multiply},
                                                        {"/", Operator::Divide},
                                                        {"//", Operator::FloorDivide},
                                                        {"%", Operator::Modulo}});
}

ExpressionPtr ExpressionParser::parsePower()
{
    // note: from left to right, unlike in Python.
    return parseChain([this] { return parseUnary(WithFilters::Yes); }, {{"**", Operator::Power}});
}

ExpressionPtr ExpressionParser::parseUnary(WithFilters filters)
{
    ExpressionPtr value;
    if (current().isOperator("-") || current().isOperator("+")) {
        const Meter::Level level(m_meter);
        const Token &sign = take();
        value = make(ExpressionKind::Unary, sign.line);
        value->operations.push_back(sign.text == "-" ? Operator::Negate : Operator::Plus);
        value->operands.push_back(parseUnary(WithFilters::No));
        value = finish(std::move(value));
    } else {
        value = parsePrimary();
    }
    value = parsePostfix(std::move(value));
    return filters == WithFilters::Yes ? parseFiltersAndTests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parsePrimary()
{
    const Token &token = current();
    switch (token.type) {
    case TokenType::Name: {
        take();
        if (token.text == "true" || token.text == "True")
            return constant(true, token.line);
        if (token.text == "false" || token.text == "False")
            return constant(false, token.line);
        if (token.text == "none" || token.text == "None")
            return constant(None{}, token.line);
        ExpressionPtr name = make(ExpressionKind::Name, token.line);
        name->symbol = symbolOf(token.text);
        for (MacroDefinition *macro : m_openMacros) {
            macro->usesCaller = macro->usesCaller || name->symbol == m_program.known.caller;
            macro->usesVarargs = macro->usesVarargs || name->symbol == m_program.known.varargs;
            macro->usesKwargs = macro->usesKwargs || name->symbol == m_program.known.kwargs;
        }
        return name;
    }
    case TokenType::String: {
        std::string text = take().text;
        while (current().type == TokenType::String) // "a" "b" is one string
            text += take().text;
        return constant(makeText(std::move(text)), token.line);
    }
    case TokenType::Integer: {
        const std::optional<std::int64_t> value = integerOfLiteral(token.text);
        if (!value)
            failAt(token.line,
                   "the number " + token.text.substr(0, 40) + " is beyond the bound of 64-bit integers");
        take();
        return constant(*value, token.line);
    }
    case TokenType::Float:
        take();
        return constant(floatOfText(token.text).value_or(0), token.line);
    default:
        break;
    }
    if (token.isOperator("("))
        return parseParentheses();
    if (token.isOperator("["))
        return parseList();
    if (token.isOperator("{"))
        return parseDict();
    failExpected("an expression");
}

ExpressionPtr ExpressionParser::parseParentheses()
{
    const std::uint32_t line = take().line;
    if (skipOperator(")"))
        return finish(make(ExpressionKind::Tuple, line));
    ExpressionPtr inner = parseTuple();
    expectOperator(")");
    return inner;
}

ExpressionPtr ExpressionParser::parseList()
{
    ExpressionPtr list = make(ExpressionKind::List, take().line);
    while (!current().isOperator("]")) {
        list->operands.push_back(parseExpression());
        if (!skipOperator(","))
            break;
    }
    if (!skipOperator("]"))
        failExpected("',' or ']'");
    return finish(std::move(list));
}

ExpressionPtr ExpressionParser::parseDict()
{
    ExpressionPtr dict = make(ExpressionKind::Dict, take().line);
    while (!current().isOperator("}")) {
        dict->operands.push_back(parseExpression());
        expectOperator(":");
        dict->operands.push_back(parseExpression());
        if (!skipOperator(","))
            break;
    }
    if (!skipOperator("}"))
        failExpected("',' or '}'");
    return finish(std::move(dict));
}

} // namespace tokenloupe::jinja
