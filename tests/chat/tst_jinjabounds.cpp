// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/chattemplate.h"
#include "tests/support/testmain.h"

#include <QTest>
#include <thread>

using namespace tokenloupe;
using Json = nlohmann::ordered_json;

namespace {

std::string repeated(const std::string &part, std::size_t count)
{
    std::string out;
    out.reserve(part.size() * count);
    for (std::size_t i = 0; i < count; ++i)
        out += part;
    return out;
}

std::string nested(const std::string &before, const std::string &inside, const std::string &after,
                   std::size_t count = 20000)
{
    return repeated(before, count) + inside + repeated(after, count);
}

/// The message of the failure, at parsing or rendering; empty when there is none.
std::string failureOf(const std::string &source, TemplateLimits limits = {},
                      const Json &variables = Json::object())
{
    const auto parsed = ChatTemplate::parse(source, limits);
    if (!parsed)
        return parsed.error().code == ErrorCode::TemplateError ? parsed.error().message : "another code";
    const auto rendered = (*parsed)->renderVariables(variables, {});
    if (rendered)
        return {};
    return rendered.error().code == ErrorCode::TemplateError ? rendered.error().message : "another code";
}

} // namespace

/// Hostile templates end with an error that names the bound.
class TestJinjaBounds : public QObject
{
    Q_OBJECT

private slots:
    void deepNesting_data();
    void deepNesting();
    void hostile_data();
    void hostile();
    void circlesAreFreed_data();
    void circlesAreFreed();
    void deepInput();
    void limitsAreTheCallers();
    void ordinaryNestingFits();
    void longFlatTemplatesFit();
    void runsOnSmallStacks();
};

void TestJinjaBounds::deepNesting_data()
{
    QTest::addColumn<QByteArray>("source");
    const auto row = [](const char *name, const std::string &source) {
        QTest::newRow(name) << QByteArray::fromStdString(source);
    };
    row("parentheses", "{{ " + nested("(", "1", ")") + " }}");
    row("tuples", "{{ " + nested("(", "1", ",)") + " }}");
    row("lists", "{{ " + nested("[", "1", "]") + " }}");
    row("dicts", "{{ " + nested("{1:", "1", "}") + " }}");
    row("open parentheses", "{{ " + repeated("(", 20000));
    row("open lists", "{{ " + repeated("[", 20000));
    row("not", "{{ " + repeated("not ", 20000) + "1 }}");
    row("minus", "{{ " + repeated("- ", 20000) + "1 }}");
    row("subscripts inside", "{{ " + nested("a[", "0", "]") + " }}");
    row("subscripts in a row", "{{ a" + repeated("[0]", 20000) + " }}");
    row("attributes", "{{ a" + repeated(".b", 20000) + " }}");
    row("calls in a row", "{{ a" + repeated("()", 20000) + " }}");
    row("calls inside", "{{ " + nested("f(", "1", ")") + " }}");
    row("named arguments", "{{ " + nested("f(a=", "1", ")") + " }}");
    row("spread arguments", "{{ " + nested("f(*", "1", ")") + " }}");
    row("filters", "{{ 1" + repeated("|string", 20000) + " }}");
    row("filters inside", "{{ " + nested("1|default(", "1", ")") + " }}");
    row("tests", "{{ " + nested("1 is sameas(", "1", ")") + " }}");
    row("tests without brackets", "{{ 1 is sameas " + nested("(1 is sameas ", "1", ")") + " }}");
    row("inline ifs", "{{ " + repeated("1 if 0 else ", 20000) + "1 }}");
    row("inline ifs in a row", "{{ 1" + repeated(" if 1", 20000) + " }}");
    row("slices", "{{ " + nested("a[:", "1", "]") + " }}");
    row("ifs", nested("{% if 1 %}", "x", "{% endif %}"));
    row("open ifs", repeated("{% if 1 %}", 20000));
    row("elses", nested("{% if 0 %}{% else %}", "x", "{% endif %}"));
    row("fors", nested("{% for x in [1] %}", "x", "{% endfor %}"));
    row("sets", nested("{% set x %}", "x", "{% endset %}"));
    row("withs", nested("{% with x = 1 %}", "x", "{% endwith %}"));
    row("macros", nested("{% macro m() %}", "x", "{% endmacro %}"));
    row("call blocks", nested("{% call m() %}", "x", "{% endcall %}"));
    row("filter blocks", nested("{% filter upper %}", "x", "{% endfilter %}"));
    row("generation blocks", nested("{% generation %}", "x", "{% endgeneration %}"));
    row("targets", "{% set " + nested("(", "a", ")") + " = 1 %}");
    row("loop targets", "{% for " + nested("(a,", "a", ")") + " in [] %}{% endfor %}");
    row("set filters", "{% set x" + repeated("|upper", 20000) + " %}{% endset %}");
    row("format fields", "{{ '" + nested("{0:", "", "}", 5000) + "'.format(1) }}");
}

void TestJinjaBounds::deepNesting()
{
    QFETCH(QByteArray, source);
    const std::string message = failureOf(source.toStdString());
    QVERIFY2(message.find("nest") != std::string::npos || message.find("not closed") != std::string::npos,
             message.c_str());
}

void TestJinjaBounds::hostile_data()
{
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("message");
    const auto row = [](const char *name, const char *source, const char *message) {
        QTest::newRow(name) << QString::fromUtf8(source) << QString::fromUtf8(message);
    };
    const char *steps = "steps";
    const char *bytes = "(output size)";
    const char *depth = "(depth)";
    row("large range", "{% for i in range(10 ** 12) %}{% endfor %}", "exceeds the bound of 100000");
    row("range from end to end", "{{ range(-9223372036854775807, 9223372036854775807) }}",
        "exceeds the bound of 100000");
    row("loops in loops", "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}",
        steps);
    row("loops of output",
        "{% for a in range(99999) %}{% for b in range(99) %}abcdefghijklmnopqrstuvwxyz{% endfor %}{% endfor "
        "%}",
        "bound");
    row("long string", "{{ 'a' * 10 ** 9 }}", bytes);
    row("longer string", "{{ 'ab' * 9223372036854775807 }}", bytes);
    row("long list", "{{ [1] * 10 ** 9 }}", bytes);
    row("longer list", "{{ [1, 2] * 9223372036854775807 }}", bytes);
    row("string that doubles",
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        bytes);
    row("string that doubles by ~",
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        bytes);
    row("string that grows",
        "{% set ns = namespace(s='ab' * 1000000) %}{% for i in range(99999) %}{% set ns.s = ns.s[1:] + 'a' "
        "%}{% endfor %}",
        steps);
    row("list that doubles",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        "bound");
    row("list that nests",
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
        depth);
    row("dict that nests",
        "{% set ns = namespace(l={}) %}{% for i in range(99999) %}{% set ns.l = {1: ns.l} %}{% endfor %}",
        depth);
    row("methods that nest",
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l].index %}{% endfor %}",
        depth);
    row("generators that nest",
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l]|map('list') %}{% "
        "endfor %}",
        depth);
    row("lists of one list",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ "
        "ns.l }}",
        "bound");
    row("comparing lists of one list",
        "{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(60) %}{% set a.l = "
        "[a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l == b.l }}",
        steps);
    row("hashing tuples of one tuple",
        "{% set a = namespace(l=(1,)) %}{% for i in range(60) %}{% set a.l = (a.l, a.l) %}{% endfor %}{{ "
        "{}[a.l] }}",
        steps);
    row("json of lists of one list",
        "{% set a = namespace(l=[]) %}{% for i in range(60) %}{% set a.l = [a.l, a.l] %}{% endfor %}{{ "
        "a.l|tojson }}",
        "bound");
    row("recursion of a macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", depth);
    row("recursion of two macros",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", depth);
    row("recursion by a default", "{% macro m(x=m()) %}{% endmacro %}{{ m() }}", depth);
    row("recursion of a caller",
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}", depth);
    row("recursion of a loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", depth);
    row("calls that double",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
        "bound");
    row("namespace in itself", "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}", depth);
    row("namespace in its list", "{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns.l }}", depth);
    row("replace that grows", "{{ ('a' * 10000).replace('a', 'b' * 10000) }}", bytes);
    row("replace of nothing", "{{ ('a' * 1000000).replace('', 'b' * 100) }}", bytes);
    row("join that grows", "{{ ('b' * 10000).join('a' * 10000) }}", bytes);
    row("characters of a long string", "{% for c in 'a' * 10000000 %}{% endfor %}", bytes);
    row("parts of a long string", "{{ ('a,' * 5000000).split(',')|length }}", "bound");
    row("lines of a long string", "{{ ('a\n' * 5000000).splitlines()|length }}", "bound");
    row("padding", "{{ 'a'.center(10 ** 12) }}", bytes);
    row("zeros", "{{ 'a'.zfill(10 ** 12) }}", bytes);
    row("width of a field", "{{ '{:1000000000000}'.format(1) }}", bytes);
    row("width of a percent field", "{{ '%1000000000000d' % 1 }}", bytes);
    row("precision", "{{ '{:.999999999}'.format(1.5) }}", "exceeds the bound of 1000");
    row("tabs", "{{ ('\t' * 1000000).expandtabs(1000000) }}", bytes);
    row("indent", "{{ ('a\n' * 10000)|indent(10000) }}", bytes);
    row("json indent", "{{ [[[[[1]]]]]|tojson(indent=10 ** 8) }}", bytes);
    row("batches", "{{ [1]|batch(10 ** 9, 'x')|list }}", bytes);
    row("slices", "{{ [1]|slice(10 ** 9)|list }}", bytes);
    row("maps in maps",
        "{% set ns = namespace(l=['a']) %}{% for i in range(99999) %}{% set ns.l = ns.l|map('upper')|list + "
        "ns.l %}{% endfor %}",
        "bound");
    row("time format", "{{ strftime_now('%c' * 100000) }}", "at most 4096");
    row("searching without an end",
        "{% set s = 'a' * 1000000 %}{% set t = 'a' * 500000 + 'b' %}{% for i in range(99999) %}{{ t in s "
        "}}{% endfor %}",
        steps);
    row("stripping without an end",
        "{% set s = ' ' * 1000000 %}{% for i in range(99999) %}{{ s.strip() }}{% endfor %}", steps);
    row("lengths without an end",
        "{% set s = 'é' * 1000000 %}{% for i in range(99999) %}{% set x = s|length %}{% endfor %}", steps);
    row("last elements without an end",
        "{% set s = 'é' * 1000000 %}{% for i in range(99999) %}{% set x = s[-1] %}{% endfor %}", steps);
    row("comparing without an end",
        "{% set s = 'a' * 1000000 %}{% set t = 'a' * 1000000 %}{% for i in range(99999) %}{% set x = s == t "
        "%}{% endfor %}",
        steps);
    row("sorting without an end",
        "{% set l = range(99999)|list %}{% for i in range(99999) %}{% set x = l|sort %}{% endfor %}", steps);
    row("sums of lists", "{{ ([[1] * 1000] * 10000)|sum(start=[]) }}", "bound");
    row("many members", "{% set ns = namespace(**dict(range(99998)|map('string')|batch(2))) %}", steps);
}

void TestJinjaBounds::hostile()
{
    QFETCH(QString, source);
    QFETCH(QString, message);
    const std::string found = failureOf(source.toStdString());
    QVERIFY2(QString::fromStdString(found).contains(message), found.empty() ? "it rendered" : found.c_str());
}

void TestJinjaBounds::circlesAreFreed_data()
{
    // The leak checker of the sanitizer build is what makes these fail.
    QTest::addColumn<QString>("source");
    const auto row = [](const char *name, const char *source) {
        QTest::newRow(name) << QString::fromUtf8(source);
    };
    row("namespace in itself",
        "{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns, {'x': ns}] %}x");
    row("two namespaces", "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}x");
    row("macro in its scope", "{% macro m() %}{% endmacro %}{% set n = m %}{% set l = [m, n] %}x");
    row("macro out of its scope", "{% set ns = namespace() %}{% for i in [1, 2] %}{% macro m() %}{{ i }}{% "
                                  "endmacro %}{% set ns.m = m %}{% endfor %}x{{ ns.m()[:0] }}");
    row("loop out of its scope", "{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% "
                                 "endfor %}{{ ns.l.changed(ns.l) and 'x' }}");
    row("loop called late", "{% set ns = namespace(n=0) %}{% for i in [1] recursive %}{% set ns.l = loop "
                            "%}{% endfor %}{{ ns.l([]) }}x");
    row("caller out of its scope", "{% set ns = namespace() %}{% macro m() %}{% set ns.c = caller %}{% "
                                   "endmacro %}{% call m() %}x{% endcall %}{{ ns.c() }}");
    row("chain of closures",
        "{% set ns = namespace(m=none) %}{% macro f() %}{% set prev = ns.m %}{% macro g() %}{{ prev is none "
        "}}{% endmacro %}{% set ns.m = g %}{% endmacro %}{% for i in range(20000) %}{{ f() }}{% endfor %}x");
    row("chain of namespaces", "{% set ns = namespace(n=none) %}{% for i in range(50000) %}{% set ns.n = "
                               "namespace(next=ns.n) %}{% endfor %}x");
}

void TestJinjaBounds::circlesAreFreed()
{
    QFETCH(QString, source);
    const auto parsed = ChatTemplate::parse(source.toStdString());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    const auto rendered = (*parsed)->renderVariables(Json::object(), {});
    QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
    QCOMPARE(rendered->text, std::string("x"));
}

void TestJinjaBounds::deepInput()
{
    Json deep = Json::array();
    for (int i = 0; i < 5000; ++i) {
        Json outer = Json::array();
        outer.push_back(std::move(deep));
        deep = std::move(outer);
    }
    Json variables = Json::object();
    variables["x"] = std::move(deep);
    QVERIFY(failureOf("{{ x }}", {}, variables).find("(depth)") != std::string::npos);
    QVERIFY(failureOf("{{ x }}", {}, Json{{"x", 18446744073709551615ULL}}).find("64-bit") !=
            std::string::npos);
}

void TestJinjaBounds::limitsAreTheCallers()
{
    const std::string loop = "{% for i in range(100) %}x{% endfor %}";
    QVERIFY(failureOf(loop).empty());
    QVERIFY(failureOf(loop, {.steps = 50}).find("50 steps") != std::string::npos);
    QVERIFY(failureOf(repeated("{{ 1 }}", 100), {.outputBytes = 99}).find("bound of 99 bytes") !=
            std::string::npos);
    QVERIFY(failureOf("{{ ((((1)))) }}", {.depth = 3}).find("3 levels") != std::string::npos);
    // However deep the caller allows, the machine's stack is not at the template's mercy.
    const TemplateLimits boundless{.steps = SIZE_MAX, .depth = SIZE_MAX, .outputBytes = SIZE_MAX};
    QVERIFY(failureOf("{{ " + nested("(", "1", ")") + " }}", boundless).find("(depth)") != std::string::npos);
    QVERIFY(failureOf("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", boundless).find("(depth)") !=
            std::string::npos);
}

void TestJinjaBounds::ordinaryNestingFits()
{
    QVERIFY(failureOf("{{ " + nested("(", "1", ")", 100) + " }}").empty());
    QVERIFY(failureOf(nested("{% if 1 %}", "x", "{% endif %}", 50)).empty());
    // A schema eight levels deep, written out by a macro that calls itself.
    const std::string walker = "{% macro show(n, d) %}{% if n is mapping %}{% for k, v in n.items() %}"
                               "{{ k ~ ':' ~ show(v, d + 1) }}{% endfor %}{% else %}{{ n }}{% endif %}{% "
                               "endmacro %}{{ show(x, 0) }}";
    Json schema = "leaf";
    for (int i = 0; i < 8; ++i)
        schema = Json{{"key", schema}};
    QVERIFY(failureOf(walker, {}, Json{{"x", schema}}).empty());
}

void TestJinjaBounds::longFlatTemplatesFit()
{
    // Length alone is no depth.
    QVERIFY(failureOf("{{ 1" + repeated(" + 1", 5000) + " }}").empty());
    QVERIFY(failureOf("{{ 'a'" + repeated(" ~ 'a'", 5000) + " }}").empty());
    QVERIFY(failureOf("{{ 1" + repeated(" and 1", 5000) + " }}").empty());
    QVERIFY(failureOf("{{ 0" + repeated(" or 0", 5000) + " }}").empty());
    QVERIFY(failureOf("{{ 1" + repeated(" == 1", 5000) + " }}").empty());
    QVERIFY(failureOf("{{ [1" + repeated(", 1", 5000) + "] }}").empty());
    QVERIFY(failureOf("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% endif %}").empty());
    QVERIFY(failureOf(repeated("{% if 1 %}x{% endif %}\n", 5000)).empty());
}

void TestJinjaBounds::runsOnSmallStacks()
{
    // Threads have 8 MiB as a rule; what is deepest has to fit with the sanitizer's larger frames too.
    std::string messages[4];
    const TemplateLimits deepest{.depth = 400};
    std::thread thread([&] {
        messages[0] = failureOf("{{ " + nested("(", "1", ")") + " }}", deepest);
        messages[1] = failureOf("{{ " + nested("a[", "1", "]") + " }}", deepest);
        messages[2] = failureOf("{% macro m(x) %}{% for i in [1] %}{{ [m(x|default(m(x)))]|map('upper')|join "
                                "}}{% endfor %}{% endmacro %}{{ m() }}",
                                deepest);
        messages[3] = failureOf(
            "{% for x in [1] recursive %}{% set y %}{{ loop([1]) }}{% endset %}{% endfor %}", deepest);
    });
    thread.join();
    for (const std::string &message : messages)
        QVERIFY2(message.find("(depth)") != std::string::npos, message.c_str());
}

TOKENLOUPE_TEST_MAIN(TestJinjaBounds)
#include "tst_jinjabounds.moc"
