// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>

using namespace tokenloupe::test;

/// Careless calls get careful answers: an exit status and one clear line.
class CliUsageTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(".")); }
    void helpAndVersion_data();
    void helpAndVersion();
    void wrongUsage_data();
    void wrongUsage();
    void badInput_data();
    void badInput();
    void cudaFallsBack_data();
    void cudaFallsBack();
    void noDeviceLayers();
    void unwritableOutput();

private:
    static QStringList words(const char *text) { return QString::fromLatin1(text).split(QLatin1Char(' ')); }
    CliRunner m_cli;
};

void CliUsageTest::helpAndVersion_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("--help") << words("--help");
    QTest::newRow("--version") << words("--version");
    for (const char *command :
         {"inspect", "tokenize", "render", "run", "sample", "score", "estimate", "bench"}) {
        QTest::addRow("%s --help", command) << QStringList{QString::fromLatin1(command), "--help"};
        QTest::addRow("%s --version", command) << QStringList{QString::fromLatin1(command), "--version"};
    }
}

void CliUsageTest::helpAndVersion()
{
    QFETCH(QStringList, arguments);
    const CliResult result = m_cli.run(arguments);
    QCOMPARE(result.status, 0);
    QVERIFY(result.output.contains("tokenloupe-cli"));
    QCOMPARE(result.messages, QByteArray());
}

void CliUsageTest::wrongUsage_data()
{
    QTest::addColumn<QString>("arguments"); // MODEL is a model that runs
    for (const char *row : {"nonsense",
                            "run",
                            "run MODEL",
                            "run MODEL --prompt a --ids 1",
                            "run MODEL --prompt a --no-such-option",
                            "run MODEL --prompt a -n -5",
                            "run MODEL --prompt a -n x",
                            "run MODEL --prompt a --temp hot",
                            "run MODEL --prompt a --temp nan",
                            "run MODEL --prompt a --top-p 7",
                            "run MODEL --prompt a --repeat-penalty 0",
                            "run MODEL --prompt a --logit-bias 5x",
                            "run MODEL --prompt a --logit-bias 5",
                            "run MODEL --prompt a --samplers top_k;nonsense",
                            "run MODEL --prompt a --typical 0.9",
                            "run MODEL --prompt a --precision half",
                            "run MODEL --prompt a --backend gpu",
                            "run MODEL --prompt a --backend cuda --device-layers -1",
                            "run MODEL --prompt a --backend cuda --device-layers half",
                            "run MODEL --prompt a --kv-type-k q9",
                            "run MODEL --prompt a --threads 0",
                            "run MODEL --prompt a --threads -1",
                            "run MODEL --prompt a --seed -1",
                            "run MODEL --prompt a --context 0",
                            "run MODEL --prompt a --trace x",
                            "run MODEL --ids 1,x",
                            "run MODEL --ids 1,",
                            "tokenize MODEL",
                            "tokenize MODEL a --file b",
                            "render --messages x",
                            "render MODEL",
                            "render MODEL --messages x --vars 1",
                            "sample",
                            "score MODEL",
                            "score MODEL --file a --ids 1",
                            "bench",
                            "bench MODEL -r 0",
                            "bench MODEL --trace --sampler",
                            "inspect"})
        QTest::newRow(row) << QString::fromLatin1(row);
}

void CliUsageTest::wrongUsage()
{
    QFETCH(QString, arguments);
    QStringList list = arguments.split(QLatin1Char(' '));
    list.replaceInStrings(QRegularExpression("^MODEL$"), m_cli.model());
    const CliResult result = m_cli.run(list);
    QCOMPARE(result.status, 2);
    QCOMPARE(result.output, QByteArray());
    QVERIFY2(result.messageLines() == 1, result.messages.constData());
}

void CliUsageTest::badInput_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("named"); // what the message must name
    QTest::newRow("no file") << words("run nothing.gguf --prompt a") << QByteArray("nothing.gguf");
    QTest::newRow("folder") << words("run / --prompt a") << QByteArray("/");
    QTest::newRow("device") << words("inspect /dev/null") << QByteArray("/dev/null");
    QTest::newRow("not GGUF") << QStringList{"inspect", m_cli.file("text.gguf", "hello, world")}
                              << QByteArray("text.gguf");
    QTest::newRow("id out of range") << QStringList{"run", m_cli.model(), "--ids", "1,99999"}
                                     << QByteArray("99999");
    QTest::newRow("biased id out of range")
        << QStringList{"run", m_cli.model(), "--prompt", "a", "--logit-bias", "99999+1"}
        << QByteArray("99999");
    QTest::newRow("prompt longer than the context")
        << QStringList{"run", m_cli.model(), "--prompt", QString(400, QLatin1Char('z')), "--context", "64"}
        << QByteArray("64");
    QTest::newRow("context larger than the machine")
        << QStringList{"run", m_cli.model(), "--prompt", "a", "--context", "4000000000"}
        << QByteArray("4000000000");
    QTest::newRow("no prompt file") << QStringList{"run", m_cli.model(), "--prompt-file", "nothing.txt"}
                                    << QByteArray("nothing.txt");
    QTest::newRow("chat is no JSON") << QStringList{"run", m_cli.model(), "--chat",
                                                    m_cli.file("chat.txt", "hello")}
                                     << QByteArray("chat.txt");
    QTest::newRow("no template") << QStringList{"render", m_cli.model(), "--messages",
                                                m_cli.file("none.json", "[]")}
                                 << QByteArray("template");
    QTest::newRow("cases are no JSON")
        << QStringList{"sample", "--cases", m_cli.file("cases.txt", "{")} << QByteArray("cases.txt");
    QTest::newRow("cases are no list")
        << QStringList{"sample", "--cases", m_cli.file("cases.json", "3")} << QByteArray("cases.json");
}

void CliUsageTest::badInput()
{
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, named);
    const CliResult result = m_cli.run(arguments);
    QCOMPARE(result.status, 1);
    QCOMPARE(result.output, QByteArray());
    QVERIFY2(result.messageLines() == 1, result.messages.constData());
    QVERIFY2(result.messages.contains(named), result.messages.constData());
}

void CliUsageTest::cudaFallsBack_data()
{
    QTest::addColumn<QStringList>("more");
    QTest::newRow("all layers") << QStringList();
    QTest::newRow("a layer") << QStringList{"--device-layers", "1"};
}

void CliUsageTest::cudaFallsBack()
{
    QFETCH(QStringList, more);
    const CliResult result = m_cli.run(
        QStringList{"run", m_cli.model(), "--prompt", "a", "-n", "1", "--backend", "cuda", "--json"} + more);
    QCOMPARE(result.status, 0);
    const nlohmann::json first = result.lines().front();
    if (first["backend"] == "CUDA")
        QSKIP("this machine has a CUDA device");
    // Without a compiler for it, a driver or a device: which of them is said.
    QVERIFY(result.messages.contains("CUDA"));
    QVERIFY(result.messages.contains("running on the CPU"));
    COMPARE_JSON(first["backend"], "CPU");
    QVERIFY(first["device"].is_null());
    QVERIFY(!first.contains("device_layers"));
    const auto reason = QByteArray::fromStdString(first["fallback_reason"].get<std::string>());
    QVERIFY2(!reason.isEmpty() && result.messages.contains(reason), reason.constData());
}

/// Without any the device is not asked for, so nothing is missing.
void CliUsageTest::noDeviceLayers()
{
    for (const char *backend : {"cuda", "cpu"}) {
        const CliResult result = m_cli.run({"run", m_cli.model(), "--prompt", "a", "-n", "1", "--backend",
                                            backend, "--device-layers", "0", "--json"});
        QCOMPARE(result.status, 0);
        const nlohmann::json first = result.lines().front();
        COMPARE_JSON(first["backend"], "CPU");
        QVERIFY(first["fallback_reason"].is_null());
        QVERIFY(!first.contains("device_layers"));
        QVERIFY2(!result.messages.contains("running on"), result.messages.constData());
    }
}

void CliUsageTest::unwritableOutput()
{
    const CliResult result = m_cli.shell("\"$CLI\" inspect \"$1\" --json > /dev/full", {m_cli.model()});
    QCOMPARE(result.status, 1);
    QCOMPARE(result.messageLines(), 1);
    QVERIFY(result.messages.contains("standard output"));
}

TOKENLOUPE_TEST_MAIN(CliUsageTest)
#include "tst_cliusage.moc"
