// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/expressionparser.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/valuetests.h"

namespace tokenloupe::jinja {

// What may follow an operand: attributes, subscripts, calls, filters and tests.

ExpressionPtr ExpressionParser::parsePostfix(ExpressionPtr operand)
{
    while (true) {
        if (current().isOperator("."))
            operand = parseAttribute(std::move(operand));
        else if (current().isOperator("["))
            operand = parseSubscript(std::move(operand));
        else if (current().isOperator("("))
            operand = parseCall(std::move(operand));
        else
            return operand;
    }
}

ExpressionPtr ExpressionParser::parseFiltersAndTests(ExpressionPtr operand)
{
    while (true) {
        if (current().isOperator("|"))
            operand = parseFilters(std::move(operand));
        else if (current().isName("is"))
            operand = parseTest(std::move(operand));
        else if (current().isOperator("("))
            operand = parseCall(std::move(operand));
        else
            return operand;
    }
}

ExpressionPtr ExpressionParser::parseAttribute(ExpressionPtr operand)
{
    const std::uint32_t line = take().line;
    if (current().type == TokenType::Integer) { // a.0 is a[0]
        const std::optional<std::int64_t> index = integerOfLiteral(current().text);
        if (!index)
            failExpected("a smaller number");
        take();
        ExpressionPtr item = make(ExpressionKind::Item, line);
        item->operands.push_back(std::move(operand));
        item->operands.push_back(constant(*index, line));
        return finish(std::move(item));
    }
    ExpressionPtr attribute = make(ExpressionKind::Attribute, line);
    attribute->text = makeText(expectName("a name or a number behind '.'"));
    attribute->operands.push_back(std::move(operand));
    return finish(std::move(attribute));
}

ExpressionPtr ExpressionParser::parseSubscript(ExpressionPtr operand)
{
    const std::uint32_t line = take().line;
    if (current().isOperator("]")) { // a[] looks for an empty tuple
        take();
        ExpressionPtr item = make(ExpressionKind::Item, line);
        item->operands.push_back(std::move(operand));
        item->operands.push_back(finish(make(ExpressionKind::Tuple, line)));
        return finish(std::move(item));
    }
    ExpressionPtr result = parseSubscribed(std::move(operand));
    if (result->kind == ExpressionKind::Item && current().isOperator(",")) {
        ExpressionPtr tuple = make(ExpressionKind::Tuple, line);
        tuple->operands.push_back(std::move(result->operands[1]));
        while (skipOperator(",") && !current().isOperator("]"))
            tuple->operands.push_back(parseExpression());
        result->operands[1] = finish(std::move(tuple));
        result = finish(std::move(result));
    }
    if (!skipOperator("]"))
        failExpected("']'");
    return result;
}

ExpressionPtr ExpressionParser::parseSubscribed(ExpressionPtr operand)
{
    const std::uint32_t line = current().line;
    ExpressionPtr first;
    if (!current().isOperator(":"))
        first = parseExpression();
    if (!current().isOperator(":")) {
        ExpressionPtr item = make(ExpressionKind::Item, line);
        item->operands.push_back(std::move(operand));
        item->operands.push_back(std::move(first));
        return finish(std::move(item));
    }
    ExpressionPtr slice = make(ExpressionKind::Slice, line);
    slice->operands.push_back(std::move(operand));
    slice->operands.push_back(std::move(first));
    for (int part = 0; part < 2; ++part) {
        const bool present = skipOperator(":") && !current().isOperator(":") && !current().isOperator("]");
        slice->operands.push_back(present ? parseExpression() : nullptr);
    }
    return finish(std::move(slice));
}

ExpressionPtr ExpressionParser::parseCall(ExpressionPtr operand)
{
    ExpressionPtr call = make(ExpressionKind::Call, current().line);
    call->operands.push_back(std::move(operand));
    call->arguments = parseArguments();
    return finish(std::move(call));
}

std::unique_ptr<ArgumentList> ExpressionParser::parseArguments()
{
    auto list = std::make_unique<ArgumentList>();
    expectOperator("(");
    while (!current().isOperator(")")) {
        const bool named = current().type == TokenType::Name && ahead().isOperator("=");
        if (skipOperator("*")) {
            if (list->spread || list->namedSpread)
                failExpected("one '*' argument, before '**'");
            list->spread = parseExpression();
        } else if (skipOperator("**")) {
            if (list->namedSpread)
                failExpected("one '**' argument");
            list->namedSpread = parseExpression();
        } else if (named) {
            if (list->namedSpread)
                failExpected("no argument behind '**'");
            TextPtr name = makeText(take().text);
            take();
            list->named.emplace_back(std::move(name), parseExpression());
        } else {
            if (list->spread || list->namedSpread || !list->named.empty())
                failExpected("an argument with a name, since others with names stand before it");
            list->positional.push_back(parseExpression());
        }
        if (!skipOperator(","))
            break;
    }
    if (!skipOperator(")"))
        failExpected("',' or ')'");
    return list;
}

std::string ExpressionParser::parseDottedName(std::string_view what)
{
    std::string name = expectName(what);
    while (skipOperator("."))
        name += "." + expectName(what);
    return name;
}

ExpressionPtr ExpressionParser::parseFilters(ExpressionPtr operand)
{
    while (skipOperator("|"))
        operand = parseOneFilter(std::move(operand));
    return operand;
}

ExpressionPtr ExpressionParser::parseOneFilter(ExpressionPtr operand)
{
    ExpressionPtr filter = make(ExpressionKind::Filter, current().line);
    const std::string name = parseDottedName("the name of a filter");
    filter->text = makeText(name);
    filter->filter = findFilter(name);
    filter->operands.push_back(std::move(operand));
    if (current().isOperator("("))
        filter->arguments = parseArguments();
    return finish(std::move(filter));
}

ExpressionPtr ExpressionParser::parseTest(ExpressionPtr operand)
{
    const std::uint32_t line = take().line;
    const bool negated = skipName("not");
    ExpressionPtr test = make(ExpressionKind::Test, line);
    const std::string name = parseDottedName("the name of a test");
    test->text = makeText(name);
    test->test = findTest(name);
    test->operands.push_back(std::move(operand));
    const Token &next = current();
    const bool beginsOperand = next.type == TokenType::Name || next.type == TokenType::String ||
                               next.type == TokenType::Integer || next.type == TokenType::Float ||
                               next.isOperator("[") || next.isOperator("{");
    const bool isKeyword = next.isName("else") || next.isName("or") || next.isName("and");
    if (next.isOperator("(")) {
        test->arguments = parseArguments();
    } else if (beginsOperand && !isKeyword) {
        if (next.isName("is"))
            failExpected("no second 'is' behind a test");
        const Meter::Level level(m_meter);
        test->arguments = std::make_unique<ArgumentList>();
        test->arguments->positional.push_back(parsePostfix(parsePrimary()));
    }
    test = finish(std::move(test));
    if (!negated)
        return test;
    ExpressionPtr negation = make(ExpressionKind::Not, line);
    negation->operands.push_back(std::move(test));
    return finish(std::move(negation));
}

} // namespace tokenloupe::jinja
