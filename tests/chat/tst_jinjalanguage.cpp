// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/chattemplate.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QTest>
#include <fstream>

using namespace tokenloupe;
using Json = nlohmann::ordered_json;

namespace {

const Json &languageCases()
{
    static const Json cases = [] {
        std::ifstream file(test::sourcePath("tests/chat/jinjalanguage.json"));
        return Json::parse(file);
    }();
    return cases;
}

RenderOptions fixedOptions()
{
    RenderOptions options;
    options.now = "2025-01-02 03:04:05";
    return options;
}

} // namespace

/// The template language, case by case: jinjalanguage.json beside this file.
class TestJinjaLanguage : public QObject
{
    Q_OBJECT

private slots:
    void renders_data();
    void renders();
    void refusesToParse_data();
    void refusesToParse();
    void fails_data();
    void fails();
    void rendersAlikeAgain();
};

void TestJinjaLanguage::renders_data()
{
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < languageCases().size(); ++i) {
        const Json &entry = languageCases()[i];
        QTest::addRow("%s: %s", entry["group"].get<std::string>().c_str(),
                      entry["name"].get<std::string>().c_str())
            << static_cast<int>(i);
    }
}

void TestJinjaLanguage::renders()
{
    QFETCH(int, index);
    const Json &entry = languageCases()[static_cast<std::size_t>(index)];
    const auto parsed = ChatTemplate::parse(entry["template"].get<std::string>());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    const auto rendered = (*parsed)->renderVariables(entry["variables"], fixedOptions());
    QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
    QCOMPARE(rendered->text, entry["expected"].get<std::string>());
}

void TestJinjaLanguage::refusesToParse_data()
{
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("message");
    const auto row = [](const char *name, const char *source, const char *message) {
        QTest::newRow(name) << QString::fromUtf8(source) << QString::fromUtf8(message);
    };
    row("open output", "a\nb {{ x", "line 2: the tag is not closed, expected '}}'");
    row("open tag", "{% if x", "line 1: the tag is not closed, expected '%}'");
    row("open comment", "\n\n{# x", "line 3: the comment is not closed, expected '#}'");
    row("open raw", "{% raw %}x", "line 1: the raw block is not closed");
    row("open string", "{{ 'abc }}", "line 1: the string is not closed, expected '");
    row("empty output", "{{ }}", "line 1: expected an expression, found '}}'");
    row("operator without operand", "x\n{{ 1 + }}", "line 2: expected an expression, found '}}'");
    row("two operands", "{{ a b }}", "line 1: expected '}}', found 'b'");
    row("if without condition", "{% if %}{% endif %}", "line 1: expected an expression, found '%}'");
    row("if not closed", "{% if x %}\n\nabc",
        "line 3: expected '{% elif %}' or '{% else %}' or '{% endif %}', found the end");
    row("wrong end", "{% for x in y %}{% endif %}",
        "line 1: expected the name of a tag that is known and open, found 'endif'");
    row("unknown tag", "{% frobnicate %}", "found 'frobnicate'");
    row("for without in", "{% for x of y %}{% endfor %}", "line 1: expected 'in', found 'of'");
    row("for without target", "{% for 1 in y %}{% endfor %}",
        "expected the name of the loop's variable, found '1'");
    row("set without value", "{% set x = %}", "line 1: expected an expression, found '%}'");
    row("set of a constant", "{% set true = 1 %}", "'true' cannot be set");
    row("set of an item", "{% set x[0] = 1 %}", "expected '=' or '%}', found '['");
    row("open list", "{{ [1, 2 }}", "line 1: unexpected '}', expected ']'");
    row("list without comma", "{{ [1 2] }}", "line 1: expected ',' or ']', found '2'");
    row("dict without colon", "{{ {'a' 1} }}", "line 1: expected ':', found '1'");
    row("stray bracket", "{{ ) }}", "line 1: unexpected ')', no bracket is open");
    row("stray character", "{{ a ? b }}", "line 1: unexpected character '?'");
    row("dot without name", "{{ a. }}", "line 1: expected a name or a number behind '.', found '}}'");
    row("filter without name", "{{ a| }}", "line 1: expected the name of a filter, found '}}'");
    row("test without name", "{{ a is }}", "line 1: expected the name of a test, found '}}'");
    row("two tests", "{{ a is string is string }}", "expected no second 'is' behind a test");
    row("positional after named", "{{ f(a=1, 2) }}", "line 1: expected an argument with a name");
    row("macro default order", "{% macro m(a=1, b) %}{% endmacro %}", "line 1: expected '='");
    row("call without call", "{% call x %}{% endcall %}", "line 1: expected the call of a macro");
    row("break outside", "{% break %}", "'break' stands outside of a loop");
    row("continue in a macro in a loop",
        "{% for x in y %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
        "'continue' stands outside of a loop");
    row("include", "{% include 'x' %}", "a chat template stands alone");
    row("extends", "{% extends 'x' %}", "a chat template stands alone");
    row("large number", "{{ 9223372036854775808 }}", "beyond the bound of 64-bit integers");
    row("short escape", "{{ '\\x4' }}",
        "line 1: the escape in a string is cut off, expected 2 hexadecimal digits");
    row("surrogate escape", "{{ '\\ud800' }}", "line 1: the escape in a string is no character");
    row("endfor with text", "{% for x in y %}{% endfor x %}", "line 1: expected '%}', found 'x'");
    row("else twice", "{% if x %}{% else %}{% else %}{% endif %}", "found 'else'");
}

void TestJinjaLanguage::refusesToParse()
{
    QFETCH(QString, source);
    QFETCH(QString, message);
    const auto parsed = ChatTemplate::parse(source.toStdString());
    QVERIFY(!parsed);
    QCOMPARE(parsed.error().code, ErrorCode::TemplateError);
    const QString text = QString::fromStdString(parsed.error().message);
    QVERIFY2(text.contains(message), qPrintable(text));
}

void TestJinjaLanguage::fails_data()
{
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("message");
    const auto row = [](const char *name, const char *source, const char *message) {
        QTest::newRow(name) << QString::fromUtf8(source) << QString::fromUtf8(message);
    };
    row("attribute of undefined", "\n{{ x.y }}", "line 2: 'x' is undefined");
    row("item of undefined", "{{ x[0] }}", "line 1: 'x' is undefined");
    row("call of undefined", "{{ x() }}", "'x' is undefined");
    row("sum with undefined", "{{ 1 + x }}", "'x' is undefined");
    row("order of undefined", "{{ x < 1 }}", "'x' is undefined");
    row("attribute of a missing attribute", "{% set d = {} %}{{ d.a.b }}",
        "'dict object' has no attribute 'a'");
    row("item of a missing element", "{{ [][0].x }}", "list object has no element 0");
    row("call of a string", "{{ 'a'() }}", "'str' cannot be called");
    row("string and number", "{{ 'a' + 1 }}", "'+' does not work between 'str' and 'int'");
    row("none and number", "{{ none - 1 }}", "'-' does not work between 'NoneType' and 'int'");
    row("order of types", "{{ 1 < 'a' }}", "cannot order 'int' and 'str'");
    row("sort of types", "{{ [1, 'a']|sort }}", "cannot order");
    row("division by zero", "{{ 1 / 0 }}", "division by zero");
    row("whole division by zero", "{{ 1 // 0 }}", "division by zero");
    row("remainder by zero", "{{ 1.5 % 0 }}", "division by zero");
    row("power of zero", "{{ 0 ** -1 }}", "negative power");
    row("root of a negative", "{{ (-8.0) ** 0.5 }}", "not a real number");
    row("sum overflows", "{{ 9223372036854775807 + 1 }}", "beyond the bound of 64-bit integers");
    row("difference overflows", "{{ -9223372036854775807 - 2 }}", "beyond the bound of 64-bit integers");
    row("product overflows", "{{ 4294967296 * 4294967296 }}", "beyond the bound of 64-bit integers");
    row("power overflows", "{{ 10 ** 30 }}", "beyond the bound of 64-bit integers");
    row("negation overflows", "{{ -(-9223372036854775807 - 1) }}", "beyond the bound of 64-bit integers");
    row("quotient overflows", "{{ (-9223372036854775807 - 1) // -1 }}",
        "beyond the bound of 64-bit integers");
    row("parsed number overflows", "{{ '99999999999999999999'|int }}", "beyond the bound of 64-bit integers");
    row("float to int overflows", "{{ 1e300|int }}", "beyond the bound of 64-bit integers");
    row("in a number", "{{ 1 in 2 }}", "'int' cannot be iterated over");
    row("number in a string", "{{ 1 in 'a' }}", "'in' on a string needs a string");
    row("loop over none", "{% for x in none %}{% endfor %}", "'NoneType' cannot be iterated over");
    row("unpacking too few", "{% for a, b in [[1]] %}{% endfor %}", "expected 2 values to unpack, found 1");
    row("unpacking too many", "{% set a, b = [1, 2, 3] %}", "expected 2 values to unpack, found 3");
    row("unknown filter", "{{ 1|frob }}", "there is no filter named 'frob'");
    row("unknown test", "{{ 1 is frob }}", "there is no test named 'frob'");
    row("list as a key", "{{ {[]: 1} }}", "unhashable type: 'list'");
    row("append", "{% set l = [] %}\n{{ l.append(1) }}",
        "line 2: access to attribute 'append' of 'list' object is unsafe");
    row("update", "{{ {}.update({}) }}", "access to attribute 'update' of 'dict' object is unsafe");
    row("class", "{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe");
    row("class by item", "{{ ''['__class__']['x'] }}", "access to attribute '__class__'");
    row("class by format", "{{ '{0.__class__.x}'.format(1) }}", "access to attribute '__class__'");
    row("class by attr", "{{ (1|attr('__class__')).x }}", "access to attribute '__class__'");
    row("class by map", "{{ [1]|map(attribute='__class__.x')|list }}", "access to attribute '__class__'");
    row("globals of a macro", "{% macro m() %}{% endmacro %}{{ m.__globals__.x }}",
        "access to attribute '__globals__'");
    row("member of a dict", "{% set d = {} %}{% set d.x = 1 %}", "expected a namespace");
    row("member of nothing", "{% set d.x = 1 %}", "expected a namespace");
    row("too many arguments", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
        "macro 'm' takes at most 1 arguments, not 2");
    row("unknown argument", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}",
        "macro 'm' takes no argument named 'b'");
    row("call of a macro without caller", "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}",
        "no argument named 'caller'");
    row("missing argument", "{{ 'a'.replace('b') }}", "replace() needs the argument 'new'");
    row("doubled argument", "{{ 'a'.replace('b', old='c') }}", "replace() is given 'old' twice");
    row("argument of a wrong type", "{{ 'a'.center('x') }}", "expects a whole number as 'width', not 'str'");
    row("join of numbers", "{{ ','.join([1]) }}", "join() expects strings, found 'int'");
    row("empty separator", "{{ 'a'.split('') }}", "separator that is not empty");
    row("index", "{{ 'a'.index('b') }}", "does not find");
    row("slice of a dict", "{{ {}[1:2] }}", "'dict' cannot be sliced");
    row("slice by text", "{{ 'abc'['a':] }}", "a slice needs whole numbers");
    row("slice without step", "{{ 'abc'[::0] }}", "the step of a slice is 0");
    row("length of a number", "{{ 1|length }}", "'int' has no length");
    row("json of undefined", "{{ x|tojson }}", "tojson cannot write a value of the type 'Undefined'");
    row("json of a range", "{{ range(2)|tojson }}", "tojson cannot write a value of the type 'range'");
    row("json of a namespace", "{{ namespace()|tojson }}",
        "tojson cannot write a value of the type 'Namespace'");
    row("too few for a format", "{{ '%s %s' % 'a' }}", "not enough arguments");
    row("too many for a format", "{{ '%s' % (1, 2) }}", "not all arguments");
    row("bad format", "{{ '%y' % 1 }}", "no known format");
    row("bad brace format", "{{ '{' .format(1) }}", "expected '}'");
    row("missing brace argument", "{{ '{1}'.format(1) }}", "not passed");
    row("mixed brace arguments", "{{ '{}{0}'.format(1) }}", "cannot mix");
    row("bad format type", "{{ '{:d}'.format('a') }}", "does not go with");
    row("loop that is not recursive", "{% for x in [1] %}{{ loop([]) }}{% endfor %}", "not 'recursive'");
    row("range without step", "{{ range(1, 2, 0) }}", "a step other than 0");
    row("last of a generator", "{{ [1]|map('string')|last }}", "does not work on a generator");
    row("length of a generator", "{{ [1]|map('string')|length }}", "'generator' has no length");
}

void TestJinjaLanguage::fails()
{
    QFETCH(QString, source);
    QFETCH(QString, message);
    const auto parsed = ChatTemplate::parse(source.toStdString());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    const auto rendered = (*parsed)->renderVariables(Json::object(), fixedOptions());
    QVERIFY(!rendered);
    QCOMPARE(rendered.error().code, ErrorCode::TemplateError);
    const QString text = QString::fromStdString(rendered.error().message);
    QVERIFY2(text.startsWith(QStringLiteral("line ")), qPrintable(text));
    QVERIFY2(text.contains(message), qPrintable(text));
}

void TestJinjaLanguage::rendersAlikeAgain()
{
    // A template keeps nothing of a rendering: not its variables, not what loops and cyclers counted.
    const auto parsed =
        ChatTemplate::parse("{% set c = cycler('a', 'b') %}{{ c.next() }}{% set ns = namespace(n=0) %}"
                            "{% for x in y %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}");
    QVERIFY(parsed);
    for (int round = 0; round < 3; ++round) {
        const auto rendered = (*parsed)->renderVariables(Json{{"y", {1, 2}}}, fixedOptions());
        QVERIFY(rendered);
        QCOMPARE(rendered->text, std::string("a3"));
    }
}

TOKENLOUPE_TEST_MAIN(TestJinjaLanguage)
#include "tst_jinjalanguage.moc"
