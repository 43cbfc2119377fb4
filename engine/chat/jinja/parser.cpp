// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/parser.h"

#include "engine/chat/jinja/failure.h"

#include <algorithm>

namespace tokenloupe::jinja {

void Parser::parse(std::string_view source, Meter &meter, Program &program)
{
    Parser parser(tokenize(source), meter, program);
    program.body = parser.parseBlock({});
}

StatementPtr Parser::make(StatementKind kind) const
{
    auto statement = std::make_unique<Statement>();
    statement->kind = kind;
    statement->line = current().line;
    return statement;
}

Block Parser::parseBlock(std::initializer_list<std::string_view> ends)
{
    const Meter::Level level(meter());
    Block block;
    while (true) {
        switch (current().type) {
        case TokenType::Data: {
            StatementPtr text = make(StatementKind::Text);
            text->text = makeText(take().text);
            block.push_back(std::move(text));
            break;
        }
        case TokenType::VariableBegin:
            take();
            parseOutput(block);
            break;
        case TokenType::BlockBegin: {
            take();
            const bool atEnd =
                current().type == TokenType::Name &&
                std::find(ends.begin(), ends.end(), std::string_view(current().text)) != ends.end();
            if (atEnd)
                return block;
            if (StatementPtr statement = parseTag())
                block.push_back(std::move(statement));
            break;
        }
        default: {
            if (ends.size() == 0)
                return block;
            std::string expected;
            for (const std::string_view end : ends)
                expected += (expected.empty() ? "'{% " : " or '{% ") + std::string(end) + " %}'";
            failExpected(expected);
        }
        }
    }
}

Block Parser::parseBody(std::string_view end)
{
    expectBlockEnd();
    Block body = parseBlock({end});
    take();
    if (end == "endblock" && current().type == TokenType::Name)
        take(); // may repeat its name
    expectBlockEnd();
    return body;
}

void Parser::parseOutput(Block &block)
{
    StatementPtr output = make(StatementKind::Output);
    output->expression = parseTuple();
    if (current().type != TokenType::VariableEnd)
        failExpected("'}}'");
    take();
    block.push_back(std::move(output));
}

StatementPtr Parser::parseTag()
{
    if (current().type != TokenType::Name)
        failExpected("the name of a tag");
    const std::string &name = current().text;
    if (name == "if")
        return parseIf();
    if (name == "for")
        return parseFor();
    if (name == "set")
        return parseSet();
    if (name == "with")
        return parseWith();
    if (name == "macro")
        return parseMacro();
    if (name == "call")
        return parseCallBlock();
    if (name == "filter")
        return parseFilterBlock();
    if (name == "generation")
        return parseScoped("endgeneration");
    if (name == "block")
        return parseNamedBlock();
    if (name == "break")
        return parseLoopControl(StatementKind::Break);
    if (name == "continue")
        return parseLoopControl(StatementKind::Continue);
    if (name == "print") {
        StatementPtr output = make(StatementKind::Output);
        take();
        output->expression = parseTuple();
        expectBlockEnd();
        return output;
    }
    if (name == "include" || name == "import" || name == "from" || name == "extends")
        failAt(current().line, "'" + name + "' asks for another template, and a chat template stands alone");
    failExpected("the name of a tag that is known and open");
}

StatementPtr Parser::parseIf()
{
    StatementPtr statement = make(StatementKind::If);
    while (true) {
        take(); // if, elif
        Statement::Branch branch;
        branch.condition = parseTuple(Condition::Excluded);
        expectBlockEnd();
        branch.body = parseBlock({"elif", "else", "endif"});
        statement->branches.push_back(std::move(branch));
        if (!current().isName("elif"))
            break;
    }
    if (skipName("else")) {
        statement->otherwise = parseBody("endif");
    } else {
        take();
        expectBlockEnd();
    }
    return statement;
}

StatementPtr Parser::parseFor()
{
    StatementPtr statement = make(StatementKind::For);
    take();
    statement->targets.push_back(parseTarget("the name of the loop's variable"));
    if (!skipName("in"))
        failExpected("'in'");
    statement->expression = parseTuple(Condition::Excluded);
    if (skipName("if"))
        statement->condition = parseExpression();
    statement->recursive = skipName("recursive");
    expectBlockEnd();
    ++m_openLoops;
    statement->body = parseBlock({"endfor", "else"});
    --m_openLoops;
    if (skipName("else")) {
        statement->otherwise = parseBody("endfor");
    } else {
        take();
        expectBlockEnd();
    }
    return statement;
}

StatementPtr Parser::parseSet()
{
    StatementPtr statement = make(StatementKind::Set);
    take();
    statement->targets.push_back(parseTarget("the name of a variable"));
    if (skipOperator("=")) {
        statement->expression = parseTuple();
        expectBlockEnd();
        return statement;
    }
    statement->kind = StatementKind::SetBlock;
    statement->expression = parseFilters(nullptr);
    if (current().type != TokenType::BlockEnd)
        failExpected("'=' or '%}'");
    statement->body = parseBody("endset");
    return statement;
}

StatementPtr Parser::parseWith()
{
    StatementPtr statement = make(StatementKind::With);
    take();
    while (current().type != TokenType::BlockEnd) {
        statement->targets.push_back(parseTarget("the name of a variable"));
        expectOperator("=");
        statement->values.push_back(parseExpression());
        if (!skipOperator(","))
            break;
    }
    statement->body = parseBody("endwith");
    return statement;
}

Target Parser::parseOneTarget(std::string_view what)
{
    const Meter::Level level(meter());
    Target target;
    if (skipOperator("(")) {
        target = parseTarget(what);
        expectOperator(")");
        return target;
    }
    const std::string name = expectName(what);
    if (name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
        name == "None")
        failAt(current().line, "'" + name + "' cannot be set, expected " + std::string(what));
    target.symbol = symbolOf(name);
    if (skipOperator(".")) {
        target.kind = Target::Kind::Member;
        target.member = makeText(expectName("the name of a member"));
    }
    return target;
}

Target Parser::parseTarget(std::string_view what)
{
    Target first = parseOneTarget(what);
    if (!current().isOperator(","))
        return first;
    Target tuple;
    tuple.kind = Target::Kind::Tuple;
    tuple.parts.push_back(std::move(first));
    while (skipOperator(",") && (current().type == TokenType::Name || current().isOperator("(")) &&
           !current().isName("in"))
        tuple.parts.push_back(parseOneTarget(what));
    return tuple;
}

void Parser::parseSignature(MacroDefinition &definition)
{
    expectOperator("(");
    while (!current().isOperator(")")) {
        MacroDefinition::Parameter parameter;
        const std::string name = expectName("the name of a parameter");
        parameter.name = makeText(name);
        parameter.symbol = symbolOf(name);
        if (skipOperator("="))
            parameter.fallback = parseExpression();
        else if (!definition.parameters.empty() && definition.parameters.back().fallback)
            failExpected("'=', since a parameter with a default stands before this one");
        definition.namesCaller = definition.namesCaller || name == "caller";
        definition.parameters.push_back(std::move(parameter));
        if (!skipOperator(","))
            break;
    }
    if (!skipOperator(")"))
        failExpected("',' or ')'");
}

void Parser::parseMacroBody(MacroDefinition &definition, std::string_view end)
{
    const std::size_t openLoops = std::exchange(m_openLoops, 0);
    m_openMacros.push_back(&definition);
    definition.body = parseBody(end);
    m_openMacros.pop_back();
    m_openLoops = openLoops;
}

StatementPtr Parser::parseMacro()
{
    StatementPtr statement = make(StatementKind::Macro);
    take();
    const std::string name = expectName("the name of the macro");
    statement->symbol = symbolOf(name);
    statement->definition = std::make_unique<MacroDefinition>();
    statement->definition->name = makeText(name);
    parseSignature(*statement->definition);
    parseMacroBody(*statement->definition, "endmacro");
    return statement;
}

StatementPtr Parser::parseCallBlock()
{
    StatementPtr statement = make(StatementKind::CallBlock);
    take();
    statement->definition = std::make_unique<MacroDefinition>();
    if (current().isOperator("("))
        parseSignature(*statement->definition);
    statement->expression = parseExpression();
    if (statement->expression->kind != ExpressionKind::Call)
        failExpected("the call of a macro");
    parseMacroBody(*statement->definition, "endcall");
    return statement;
}

StatementPtr Parser::parseFilterBlock()
{
    StatementPtr statement = make(StatementKind::FilterBlock);
    take();
    statement->expression = parseFilters(parseOneFilter(nullptr));
    statement->body = parseBody("endfilter");
    return statement;
}

StatementPtr Parser::parseScoped(std::string_view end)
{
    StatementPtr statement = make(StatementKind::Scoped);
    take();
    const std::size_t openLoops = std::exchange(m_openLoops, 0);
    statement->body = parseBody(end);
    m_openLoops = openLoops;
    return statement;
}

StatementPtr Parser::parseNamedBlock()
{
    take();
    expectName("the name of the block");
    while (current().isName("scoped") || current().isName("required"))
        take();
    StatementPtr statement = make(StatementKind::Scoped);
    const std::size_t openLoops = std::exchange(m_openLoops, 0);
    statement->body = parseBody("endblock");
    m_openLoops = openLoops;
    return statement;
}

StatementPtr Parser::parseLoopControl(StatementKind kind)
{
    StatementPtr statement = make(kind);
    if (m_openLoops == 0)
        failAt(current().line,
               "'" + current().text + "' stands outside of a loop, expected it inside of a 'for'");
    take();
    expectBlockEnd();
    return statement;
}

} // namespace tokenloupe::jinja
