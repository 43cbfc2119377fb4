// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/chattemplate.h"
#include "engine/model/gguffile.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QTest>
#include <fstream>

using namespace tokenloupe;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char *fixedNow = "2025-01-02 03:04:05";

/// Cases of the unit file that cannot hold, with the reason.
const std::map<std::string, std::string> unitExceptions{
    {"array.pop() last", "changes a list, which the immutable sandbox refuses"},
    {"array.pop() with index", "changes a list, which the immutable sandbox refuses"},
    {"array.append()", "changes a list, which the immutable sandbox refuses"},
};

Json readOrdered(const std::filesystem::path &path)
{
    std::ifstream file(path);
    return Json::parse(file);
}

/// The context of a case as options; takes what render() has parameters for.
RenderOptions optionsFor(const Json &bosEos, Json context)
{
    RenderOptions options;
    options.now = fixedNow;
    options.bosToken = bosEos.value("bos_token", "");
    options.eosToken = bosEos.value("eos_token", "");
    options.generationPrompt =
        context.value("add_generation_prompt", false) ? GenerationPrompt::Add : GenerationPrompt::Omit;
    context.erase("add_generation_prompt");
    context.erase("messages");
    options.variables = context;
    return options;
}

} // namespace

/// Templates against what Python's jinja2 renders: the files beside the checkout.
class TestChatTemplateReference : public QObject
{
    Q_OBJECT

private slots:
    void unitCases_data();
    void unitCases();
    void modelTemplates_data();
    void modelTemplates();
    void conversations_data();
    void conversations();
    void smolModel();

private:
    static bool addMissingRow(const char *relative);
    static Json load(const char *relative);
};

bool TestChatTemplateReference::addMissingRow(const char *relative)
{
    if (test::sharedPath(relative))
        return false;
    QTest::newRow("reference data missing") << -1;
    return true;
}

Json TestChatTemplateReference::load(const char *relative)
{
    static std::map<std::string, Json> loaded;
    auto found = loaded.find(relative);
    if (found == loaded.end())
        found = loaded.emplace(relative, readOrdered(*test::sharedPath(relative))).first;
    return found->second;
}

void TestChatTemplateReference::unitCases_data()
{
    QTest::addColumn<int>("index");
    if (addMissingRow("chat_templates/jinja_unit.json"))
        return;
    const Json file = load("chat_templates/jinja_unit.json");
    for (std::size_t i = 0; i < file["cases"].size(); ++i) {
        const Json &entry = file["cases"][i];
        QTest::addRow("%s: %s", entry["group"].get<std::string>().c_str(),
                      entry["name"].get<std::string>().c_str())
            << static_cast<int>(i);
    }
}

void TestChatTemplateReference::unitCases()
{
    QFETCH(int, index);
    TOKENLOUPE_NEED_SHARED(path, "chat_templates/jinja_unit.json");
    static const Json file = readOrdered(path);
    const Json &entry = file["cases"][static_cast<std::size_t>(index)];
    RenderOptions options;
    options.now = fixedNow;
    const auto parsed = ChatTemplate::parse(entry["template"].get<std::string>());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    const auto rendered = (*parsed)->renderVariables(entry["vars"], options);
    if (const auto exception = unitExceptions.find(entry["name"].get<std::string>());
        exception != unitExceptions.end()) {
        QVERIFY2(!rendered, exception->second.c_str());
        QVERIFY(rendered.error().message.find("unsafe") != std::string::npos);
        return;
    }
    QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
    QCOMPARE(rendered->text, entry["expected"].get<std::string>());
}

void TestChatTemplateReference::modelTemplates_data()
{
    QTest::addColumn<int>("index");
    if (addMissingRow("chat_templates/cases.json"))
        return;
    const Json file = load("chat_templates/cases.json");
    for (std::size_t i = 0; i < file["cases"].size(); ++i) {
        const Json &entry = file["cases"][i];
        QTest::addRow("%s, %s", entry["template"].get<std::string>().c_str(),
                      entry["context"].get<std::string>().c_str())
            << static_cast<int>(i);
    }
}

void TestChatTemplateReference::modelTemplates()
{
    QFETCH(int, index);
    TOKENLOUPE_NEED_SHARED(casesPath, "chat_templates/cases.json");
    TOKENLOUPE_NEED_SHARED(templatesPath, "chat_templates/templates.json");
    static const Json cases = readOrdered(casesPath);
    static const Json templates = readOrdered(templatesPath);
    const Json &entry = cases["cases"][static_cast<std::size_t>(index)];
    const Json &model = templates[entry["template"].get<std::string>()];
    const Json &context = cases["contexts"][entry["context"].get<std::string>()];

    const auto parsed = ChatTemplate::parse(model["template"].get<std::string>());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    const auto rendered = (*parsed)->render(context["messages"], optionsFor(model, context));
    if (entry.contains("rendered")) {
        QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
        QCOMPARE(rendered->text, entry["rendered"].get<std::string>());
        return;
    }
    QVERIFY(!rendered);
    if (entry.contains("raises")) {
        QCOMPARE(rendered.error().code, ErrorCode::TemplateRaised);
        QCOMPARE(rendered.error().text(), entry["raises"].get<std::string>());
    } else {
        QCOMPARE(rendered.error().code, ErrorCode::TemplateError);
        QVERIFY(rendered.error().message.starts_with("line "));
    }
}

void TestChatTemplateReference::conversations_data()
{
    QTest::addColumn<int>("index");
    if (addMissingRow("chat_templates/llama_cpp_expected.json"))
        return;
    const Json file = load("chat_templates/llama_cpp_expected.json");
    for (std::size_t i = 0; i < file["cases"].size(); ++i)
        QTest::addRow("%s", file["cases"][i]["name"].get<std::string>().c_str()) << static_cast<int>(i);
}

void TestChatTemplateReference::conversations()
{
    QFETCH(int, index);
    TOKENLOUPE_NEED_SHARED(path, "chat_templates/llama_cpp_expected.json");
    static const Json file = readOrdered(path);
    const Json &entry = file["cases"][static_cast<std::size_t>(index)];
    const auto parsed = ChatTemplate::parse(entry["template"].get<std::string>());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    Json context = Json::object();
    context["add_generation_prompt"] = entry["add_generation_prompt"];
    const auto rendered = (*parsed)->render(entry["messages"], optionsFor(entry, context));
    const Json &expected = entry["jinja2"];
    if (expected.contains("rendered")) {
        QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
        QCOMPARE(rendered->text, expected["rendered"].get<std::string>());
        return;
    }
    QVERIFY(!rendered);
    if (expected.contains("raises")) {
        QCOMPARE(rendered.error().code, ErrorCode::TemplateRaised);
        QCOMPARE(rendered.error().text(), expected["raises"].get<std::string>());
    } else {
        QCOMPARE(rendered.error().code, ErrorCode::TemplateError);
    }
}

void TestChatTemplateReference::smolModel()
{
    TOKENLOUPE_NEED_SMOL(path);
    const auto file = GgufFile::open(path);
    QVERIFY2(file, file ? "" : file.error().text().c_str());
    const auto source = (*file)->stringValue("tokenizer.chat_template");
    QVERIFY(source);
    const auto parsed = ChatTemplate::parse(std::string(*source));
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());

    RenderOptions options;
    auto rendered = (*parsed)->render(toJson({{"user", "Hi <|im_end|>"}}), options);
    QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
    // Without a system message the template puts in its own.
    const std::string own = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
                            "Hugging Face<|im_end|>\n";
    QCOMPARE(rendered->text, own + "<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n");
    const auto begin = static_cast<std::uint32_t>(own.size() + std::string("<|im_start|>").size());
    QCOMPARE(rendered->literal, (std::vector<ByteRange>{{begin, begin + 4}, {begin + 5, begin + 18}}));

    options.generationPrompt = GenerationPrompt::Omit;
    rendered =
        (*parsed)->render(toJson({{"system", "Be brief."}, {"user", "1+1?"}, {"assistant", "2"}}), options);
    QVERIFY2(rendered, rendered ? "" : rendered.error().text().c_str());
    QCOMPARE(rendered->text,
             std::string("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n"
                         "<|im_start|>assistant\n2<|im_end|>\n"));
}

TOKENLOUPE_TEST_MAIN(TestChatTemplateReference)
#include "tst_chattemplatereference.moc"
