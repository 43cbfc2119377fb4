// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/expressionparser.h"

namespace tokenloupe::jinja {

/// The grammar of tags: text and tags in, a Program out.
class Parser : private ExpressionParser
{
public:
    /// Throws a Failure with the line and what was expected.
    static void parse(std::string_view source, Meter &meter, Program &program);

private:
    using ExpressionParser::ExpressionParser;

    /// Up to a tag whose name is one of `ends`; leaves that name as the current token. No ends: to the end of
    /// the template.
    Block parseBlock(std::initializer_list<std::string_view> ends);
    /// The same for one end, whose tag is read as well.
    Block parseBody(std::string_view end);
    void parseOutput(Block &block);
    StatementPtr parseTag();
    StatementPtr parseIf();
    StatementPtr parseFor();
    StatementPtr parseSet();
    StatementPtr parseWith();
    StatementPtr parseMacro();
    StatementPtr parseCallBlock();
    StatementPtr parseFilterBlock();
    StatementPtr parseScoped(std::string_view end);
    StatementPtr parseNamedBlock();
    StatementPtr parseLoopControl(StatementKind kind);
    Target parseTarget(std::string_view what);
    Target parseOneTarget(std::string_view what);
    void parseSignature(MacroDefinition &definition);
    void parseMacroBody(MacroDefinition &definition, std::string_view end);
    StatementPtr make(StatementKind kind) const;

    std::size_t m_openLoops = 0; // of the macro that is open
};

} // namespace tokenloupe::jinja
