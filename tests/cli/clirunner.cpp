// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"

#include <QFile>

namespace tokenloupe::test {

namespace {

constexpr int patienceMs = 120000; // only a program that hangs gets here

CliResult finish(QProcess &process, const QByteArray &input)
{
    CliResult result;
    if (!process.waitForStarted(patienceMs))
        return result;
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(patienceMs)) {
        process.kill();
        process.waitForFinished();
        return result;
    }
    result.output = process.readAllStandardOutput();
    result.messages = process.readAllStandardError();
    result.status = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    return result;
}

} // namespace

nlohmann::json CliResult::json() const
{
    return nlohmann::json::parse(output.toStdString(), nullptr, false);
}

std::vector<nlohmann::json> CliResult::lines() const
{
    std::vector<nlohmann::json> list;
    for (const QByteArray &line : output.split('\n')) {
        if (!line.isEmpty())
            list.push_back(nlohmann::json::parse(line.toStdString(), nullptr, false));
    }
    return list;
}

int CliResult::messageLines() const
{
    return static_cast<int>(messages.count('\n'));
}

CliResult CliRunner::run(const QStringList &arguments, const QByteArray &input) const
{
    QProcess process;
    process.start(program(), arguments);
    return finish(process, input);
}

CliResult CliRunner::shell(const QString &script, const QStringList &arguments) const
{
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("CLI"), program());
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral("/bin/sh"),
                  QStringList{QStringLiteral("-c"), script, QStringLiteral("sh")} + arguments);
    return finish(process, {});
}

QString CliRunner::program()
{
    return QStringLiteral(TOKENLOUPE_CLI);
}

QString CliRunner::model(const TinyModelOptions &options) const
{
    return QString::fromStdString(writeTinyModel(m_folder.path().toStdString(), options).string());
}

QString CliRunner::file(const QString &name, const QByteArray &content) const
{
    const QString path = m_folder.filePath(name);
    QFile file(path);
    if (file.open(QIODevice::WriteOnly))
        file.write(content);
    return path;
}

std::vector<nlohmann::json> eventsOf(const std::vector<nlohmann::json> &lines, const std::string &kind)
{
    std::vector<nlohmann::json> list;
    for (const nlohmann::json &line : lines) {
        if (line.is_object() && line.value("event", std::string()) == kind)
            list.push_back(line);
    }
    return list;
}

QString missingKeys(const nlohmann::json &object, const QStringList &keys)
{
    QStringList missing;
    for (const QString &key : keys) {
        if (!object.is_object() || !object.contains(key.toStdString()))
            missing << key;
    }
    return missing.join(QLatin1Char(' '));
}

} // namespace tokenloupe::test
