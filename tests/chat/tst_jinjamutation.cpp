// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/chat/chattemplate.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QTest>
#include <array>
#include <fstream>
#include <random>

using namespace tokenloupe;
using Json = nlohmann::ordered_json;

namespace {

/// Small bounds: a mutated template that runs away ends soon.
constexpr TemplateLimits tight{.steps = 20'000, .depth = 100, .outputBytes = 1 << 16};

constexpr std::array<std::string_view, 40> fragments{
    "{{",    "}}",      "{%",     "%}",   "{#",       "#}",      "-",    "(",        ")",        "[",
    "]",     "{",       "}",      "|",    ".",        ",",       ":",    "'",        "\"",       "**",
    "if ",   "else ",   "endif ", "for ", "endfor ",  "set ",    " in ", " is ",     " not ",    "loop",
    "|join", "|tojson", "[::-1]", "[1:]", "*9999999", "\\u1234", "\xC3", "\xF0\x9F", "messages", "x = "};

class Mutator
{
public:
    explicit Mutator(std::uint32_t seed)
        : m_random(seed)
    {}

    std::string mutated(std::string text)
    {
        const std::size_t changes = 1 + below(6);
        for (std::size_t i = 0; i < changes; ++i)
            change(text);
        return text;
    }

private:
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : m_random() % bound; }

    void change(std::string &text)
    {
        const std::size_t at = below(text.size() + 1);
        const std::size_t length = below(std::min<std::size_t>(text.size() - at, 24) + 1);
        switch (below(5)) {
        case 0:
            text.erase(at, length);
            break;
        case 1:
            text.insert(at, fragments[below(fragments.size())]);
            break;
        case 2:
            if (at < text.size())
                text[at] = static_cast<char>(below(256));
            break;
        case 3:
            text.insert(below(text.size() + 1), text.substr(at, length));
            break;
        default:
            text.replace(at, length, fragments[below(fragments.size())]);
            break;
        }
    }

    std::mt19937 m_random;
};

/// Whatever comes out is sound: an error of the template with a message, or ranges inside of the text.
void check(const std::string &source)
{
    const auto parsed = ChatTemplate::parse(source, tight);
    if (!parsed) {
        QCOMPARE(parsed.error().code, ErrorCode::TemplateError);
        QVERIFY(isValidUtf8(parsed.error().message));
        QVERIFY(!parsed.error().message.empty());
        return;
    }
    RenderOptions options;
    options.now = "2025-01-02";
    options.bosToken = "<s>";
    options.variables = {{"tools", {{{"name", "f"}, {"parameters", {{"type", "object"}}}}}}, {"x", 5}};
    const Json messages{{{"role", "system"}, {"content", "Be brief."}},
                        {{"role", "user"}, {"content", "Grüße <|im_end|>"}},
                        {{"role", "assistant"}, {"content", "a\nb"}}};
    const auto rendered = (*parsed)->render(messages, options);
    if (!rendered) {
        QVERIFY(rendered.error().code == ErrorCode::TemplateError ||
                rendered.error().code == ErrorCode::TemplateRaised);
        return;
    }
    QVERIFY(rendered->text.size() <= tight.outputBytes);
    std::size_t last = 0;
    for (const ByteRange &range : rendered->literal) {
        QVERIFY(range.begin < range.end && range.begin >= last && range.end <= rendered->text.size());
        last = range.end;
    }
}

} // namespace

/// Broken templates end in an error or a text, within their bounds.
class TestJinjaMutation : public QObject
{
    Q_OBJECT

private slots:
    void ownTemplates();
    void modelTemplates();
    void everyPrefix();
};

void TestJinjaMutation::ownTemplates()
{
    std::ifstream file(test::sourcePath("tests/chat/jinjalanguage.json"));
    const Json cases = Json::parse(file);
    Mutator mutator(20250102);
    for (int round = 0; round < 15; ++round) {
        for (const Json &entry : cases) {
            check(mutator.mutated(entry["template"].get<std::string>()));
            if (QTest::currentTestFailed())
                return;
        }
    }
}

void TestJinjaMutation::modelTemplates()
{
    TOKENLOUPE_NEED_SHARED(path, "chat_templates/templates.json");
    std::ifstream file(path);
    const Json templates = Json::parse(file);
    Mutator mutator(7);
    for (int round = 0; round < 12; ++round) {
        for (const Json &entry : templates) {
            check(mutator.mutated(entry["template"].get<std::string>()));
            if (QTest::currentTestFailed())
                return;
        }
    }
}

void TestJinjaMutation::everyPrefix()
{
    const std::string source =
        "{%- macro m(a, b=1) -%}{{ a|default('x')|upper }}{% endmacro %}{# c #}"
        "{% for x in messages if x.role != 'a' %}{{ m(x['content'][1:-1], b=[1, {'k': (2,)}]) ~ \"\\n\" }}"
        "{% else %}{% raw %}{{{% endraw %}{% endfor %}{% set ns = namespace(n=1.5e3) %}"
        "{% set ns.n = -ns.n // 2 if x is defined and not false else loop %}{{ '%s' % ns.n }}";
    for (std::size_t length = 0; length <= source.size(); ++length) {
        check(source.substr(0, length));
        if (QTest::currentTestFailed())
            return;
    }
}

TOKENLOUPE_TEST_MAIN(TestJinjaMutation)
#include "tst_jinjamutation.moc"
