// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/chattemplate.h"
#include "tests/support/testmain.h"

#include <QTest>
#include <thread>

using namespace tokenloupe;
using Json = nlohmann::ordered_json;

namespace {

const std::vector<ChatMessage> conversation{
    {"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello!"}, {"user", "1+1?"}};

/// Templates in the style of well-known models, written for this test.
constexpr const char *chatMl =
    "{%- for message in messages -%}\n"
    "    {{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "    {{- '<|im_start|>assistant\\n' -}}\n"
    "{%- endif -%}\n";
constexpr const char *bracketed =
    "{{ bos_token }}{% set ns = namespace(system='') %}\n"
    "{% for message in messages %}\n"
    "    {% if message['role'] == 'system' %}\n"
    "        {% set ns.system = '<<SYS>>\\n' + message['content'] + '\\n<</SYS>>\\n\\n' %}\n"
    "    {% elif message['role'] == 'user' %}\n"
    "        {{- '[INST] ' + ns.system + message['content'] + ' [/INST]' -}}\n"
    "        {% set ns.system = '' %}\n"
    "    {% else %}\n"
    "        {{- ' ' + message['content'] + ' ' + eos_token -}}\n"
    "    {% endif %}\n"
    "{% endfor %}";
constexpr const char *alternating =
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate, found ' ~ message.role ~ ' at ' ~ loop.index) }}"
    "{% endif %}{{ message.content }};{% endfor %}";

std::shared_ptr<const ChatTemplate> parsed(const char *source)
{
    const auto result = ChatTemplate::parse(source);
    return result ? *result : nullptr;
}

} // namespace

class TestChatTemplate : public QObject
{
    Q_OBJECT

private slots:
    void messagesAsJson();
    void chatMlStyle();
    void bracketStyle();
    void raisesItsOwnText();
    void variablesOverride();
    void standardVariables();
    void time();
    void refusesBadInput();
    void errorsAreOneLine();
    void keepsItsSource();
    void rendersFromManyThreads();
};

void TestChatTemplate::messagesAsJson()
{
    QCOMPARE(toJson({}).dump(), std::string("[]"));
    QCOMPARE(
        toJson({{"user", "a\"b"}, {"tool", ""}}).dump(),
        std::string("[{\"role\":\"user\",\"content\":\"a\\\"b\"},{\"role\":\"tool\",\"content\":\"\"}]"));
}

void TestChatTemplate::chatMlStyle()
{
    const auto chat = parsed(chatMl);
    QVERIFY(chat);
    RenderOptions options;
    auto rendered = chat->render(toJson(conversation), options);
    QVERIFY(rendered);
    QCOMPARE(rendered->text,
             std::string("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                         "<|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n"
                         "<|im_start|>assistant\n"));
    options.generationPrompt = GenerationPrompt::Omit;
    rendered = chat->render(toJson({{"user", "Hi"}}), options);
    QVERIFY(rendered);
    QCOMPARE(rendered->text, std::string("<|im_start|>user\nHi<|im_end|>\n"));
    QCOMPARE(rendered->literal.size(), 2U); // role and content
    QCOMPARE(rendered->literal[1], (ByteRange{17, 19}));
}

void TestChatTemplate::bracketStyle()
{
    const auto chat = parsed(bracketed);
    QVERIFY(chat);
    RenderOptions options;
    options.bosToken = "<s>";
    options.eosToken = "</s>";
    const auto rendered = chat->render(toJson(conversation), options);
    QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
    QCOMPARE(
        rendered->text,
        std::string("<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello! </s>[INST] 1+1? [/INST]"));
}

void TestChatTemplate::raisesItsOwnText()
{
    const auto chat = parsed(alternating);
    QVERIFY(chat);
    QVERIFY(chat->render(toJson({{"user", "a"}, {"assistant", "b"}}), {}));
    const auto rendered = chat->render(toJson({{"user", "a"}, {"user", "b"}}), {});
    QVERIFY(!rendered);
    QCOMPARE(rendered.error().code, ErrorCode::TemplateRaised);
    QCOMPARE(rendered.error().text(), std::string("Roles must alternate, found user at 2"));
}

void TestChatTemplate::variablesOverride()
{
    const auto chat = parsed(
        "{{ bos_token }}{{ messages|length }}{{ add_generation_prompt }}{{ mode|default('none') }}{{ x }}");
    QVERIFY(chat);
    RenderOptions options;
    options.bosToken = "<s>";
    QCOMPARE(chat->render(toJson(conversation), options)->text, std::string("<s>4Truenone"));
    options.variables = {{"mode", "fast"},
                         {"messages", Json::array()},
                         {"add_generation_prompt", nullptr},
                         {"bos_token", "B"}};
    QCOMPARE(chat->render(toJson(conversation), options)->text, std::string("B0Nonefast"));
    options.variables = {{"x", 2}};
    QCOMPARE(chat->renderVariables(Json{{"x", 1}, {"messages", {1}}}, options)->text,
             std::string("<s>1Truenone2"));
}

void TestChatTemplate::standardVariables()
{
    const auto chat = parsed("{{ bos_token is defined }}{{ eos_token }}{{ tools is defined }}{{ messages is "
                             "defined }}{{ add_generation_prompt }}");
    QVERIFY(chat);
    RenderOptions options;
    options.generationPrompt = GenerationPrompt::Omit;
    QCOMPARE(chat->renderVariables(Json::object(), options)->text, std::string("TrueFalseFalseFalse"));
}

void TestChatTemplate::time()
{
    const auto chat = parsed("{{ strftime_now('%d %B %Y %H:%M:%S, %a, week %V of %G') }}");
    QVERIFY(chat);
    RenderOptions options;
    options.now = "2024-12-30 23:05:09";
    QCOMPARE(chat->render(Json::array(), options)->text,
             std::string("30 December 2024 23:05:09, Mon, week 01 of 2025"));
    options.now = "2024-02-29T00:00:00";
    QCOMPARE(chat->render(Json::array(), options)->text,
             std::string("29 February 2024 00:00:00, Thu, week 09 of 2024"));
    options.now = "2021-01-03";
    QCOMPARE(chat->render(Json::array(), options)->text,
             std::string("03 January 2021 00:00:00, Sun, week 53 of 2020"));
    options.now.clear();
    QCOMPARE(chat->render(Json::array(), options)->text.substr(2, 1), std::string(" "));
    for (const char *wrong :
         {"yesterday", "2023-02-29", "2023-13-01", "2023-01-01 24:00:00", "2023-1-1", "2023-01-01x"}) {
        options.now = wrong;
        const auto rendered = chat->render(Json::array(), options);
        QVERIFY2(!rendered, wrong);
        QCOMPARE(rendered.error().code, ErrorCode::InvalidArgument);
    }
}

void TestChatTemplate::refusesBadInput()
{
    const auto chat = parsed("{{ messages }}{{ x }}");
    QVERIFY(chat);
    RenderOptions options;
    options.variables = nullptr; // none
    QVERIFY(chat->render(Json::array(), options));
    options.variables = Json::array();
    QVERIFY(!chat->render(Json::array(), options));
    options.variables = {{"x", Json::binary({1, 2})}};
    const auto rendered = chat->render(Json::array(), options);
    QVERIFY(!rendered);
    QCOMPARE(rendered.error().code, ErrorCode::TemplateError);
    // Bytes that are no UTF-8 are passed on as they are and count as one character each.
    const auto bytes = parsed("{{ x }}{{ x|length }}{{ x[1] == 'b' }}{{ x|upper }}{{ [x] }}");
    QCOMPARE(bytes
                 ->renderVariables(Json{{"x", "\xFF"
                                              "b\xC3"}},
                                   {})
                 ->text,
             std::string("\xFF"
                         "b\xC3"
                         "3True\xFF"
                         "B\xC3"
                         "['\\xffb\\xc3']"));
}

void TestChatTemplate::errorsAreOneLine()
{
    const auto chat = parsed("\n{{ x[key] + 1 }}");
    QVERIFY(chat);
    const std::string key = "a\nb\xFF" + std::string(100000, 'k');
    const auto rendered = chat->renderVariables(Json{{"x", Json::object()}, {"key", key}}, {});
    QVERIFY(!rendered);
    const std::string text = rendered.error().text();
    QVERIFY(text.starts_with("render the chat template: line 2: 'dict object' has no attribute 'a b"));
    QVERIFY(text.size() < 600);
    QVERIFY(text.find('\n') == std::string::npos);
}

void TestChatTemplate::keepsItsSource()
{
    QCOMPARE(parsed("a{# b #}\r\n")->source(), std::string("a{# b #}\r\n"));
}

void TestChatTemplate::rendersFromManyThreads()
{
    const auto chat = parsed(chatMl);
    QVERIFY(chat);
    const std::string expected = chat->render(toJson(conversation), {})->text;
    std::array<int, 4> equal{};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < equal.size(); ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 50; ++round)
                equal[i] += chat->render(toJson(conversation), {})->text == expected ? 1 : 0;
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    QCOMPARE(equal, (std::array<int, 4>{50, 50, 50, 50}));
}

TOKENLOUPE_TEST_MAIN(TestChatTemplate)
#include "tst_chattemplate.moc"
