// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/value.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tokenloupe::jinja {

struct Expression;
struct Statement;
struct FilterEntry;
struct TestEntry;
using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;
using Block = std::vector<StatementPtr>;

/// Number of a variable's name in Program::names.
using Symbol = std::uint32_t;

enum class ExpressionKind : std::uint8_t {
    Constant,
    Name,
    Attribute, ///< operands[0] . text
    Item,      ///< operands[0] [ operands[1] ]
    Slice,     ///< operands[0] [ operands[1] : operands[2] : operands[3] ], each of the three may be null
    Call,      ///< operands[0] ( arguments )
    Filter,    ///< operands[0] | text ( arguments ); operands[0] is null at the start of a filter block
    Test,      ///< operands[0] is text ( arguments )
    Unary,     ///< operations[0] operands[0]
    Binary,    ///< operands[0] operations[0] operands[1] operations[1] …, from left to right
    Compare,   ///< operands[0] comparisons[0] operands[1] comparisons[1] …
    And,
    Or,
    Not,
    Concat,
    Conditional, ///< operands: condition, value, otherwise (may be null)
    List,
    Tuple,
    Dict, ///< operands: key, value, key, value, …
};

enum class Operator : std::uint8_t {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Negate,
    Plus
};
enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, NotIn };

struct ArgumentList
{
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<TextPtr, ExpressionPtr>> named;
    ExpressionPtr spread;      ///< *args
    ExpressionPtr namedSpread; ///< **kwargs
};

struct Expression
{
    ExpressionKind kind = ExpressionKind::Constant;
    Symbol symbol = 0;
    std::uint32_t line = 0;
    std::uint32_t height = 1; ///< levels of expressions, itself included
    Value constant;
    TextPtr text; ///< attribute, filter or test
    std::vector<ExpressionPtr> operands;
    std::vector<Operator> operations;
    std::vector<Comparison> comparisons;
    std::unique_ptr<ArgumentList> arguments;
    const FilterEntry *filter = nullptr; ///< null when there is no filter of that name
    const TestEntry *test = nullptr;
};

/// Where a set or a for puts its value.
struct Target
{
    enum class Kind : std::uint8_t { Name, Member, Tuple };
    Kind kind = Kind::Name;
    Symbol symbol = 0;
    TextPtr member; ///< of the namespace `symbol`
    std::vector<Target> parts;
};

struct MacroDefinition
{
    struct Parameter
    {
        Symbol symbol = 0;
        TextPtr name;
        ExpressionPtr fallback; ///< null: none
    };
    TextPtr name; ///< null for the block of a call
    std::vector<Parameter> parameters;
    Block body;
    bool usesCaller = false;
    bool usesVarargs = false;
    bool usesKwargs = false;
    bool namesCaller = false; ///< `caller` is one of the parameters
};

enum class StatementKind : std::uint8_t {
    Text,        ///< constant
    Output,      ///< expression
    If,          ///< branches, otherwise
    For,         ///< targets[0] in expression if condition; body, otherwise
    Set,         ///< targets[0] = expression
    SetBlock,    ///< targets[0] = body, through the filter in expression
    With,        ///< targets = values, body
    Macro,       ///< definition
    CallBlock,   ///< expression is the call, definition its block
    FilterBlock, ///< expression around body
    Scoped,      ///< body with variables of its own
    Break,
    Continue,
};

struct Statement
{
    struct Branch
    {
        ExpressionPtr condition;
        Block body;
    };

    StatementKind kind = StatementKind::Text;
    bool recursive = false;
    std::uint32_t line = 0;
    Symbol symbol = 0;
    TextPtr text;
    ExpressionPtr expression;
    ExpressionPtr condition;
    std::vector<Target> targets;
    std::vector<ExpressionPtr> values;
    std::vector<Branch> branches;
    Block body;
    Block otherwise;
    std::unique_ptr<MacroDefinition> definition;
};

/// Names that the language itself gives values to.
struct KnownSymbols
{
    Symbol loop = 0, caller = 0, varargs = 0, kwargs = 0;
};

/// A parsed template. Never changed after parsing, so any thread may run it.
struct Program
{
    std::vector<std::string> names;
    KnownSymbols known;
    Block body;
};

} // namespace tokenloupe::jinja
