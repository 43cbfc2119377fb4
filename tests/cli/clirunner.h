// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/tinymodel.h"

#include <QByteArray>
#include <QProcess>
#include <QStringList>
#include <QTemporaryDir>
#include <nlohmann/json.hpp>
#include <vector>

namespace tokenloupe::test {

/// What one call of the program gave.
struct CliResult
{
    int status = -1; ///< negative: it ended by a signal or did not end
    QByteArray output;
    QByteArray messages;

    nlohmann::json json() const; ///< of the whole output
    std::vector<nlohmann::json> lines() const;
    int messageLines() const;
};

/// Runs the command line program that was built beside the test.
class CliRunner
{
public:
    CliResult run(const QStringList &arguments, const QByteArray &input = {}) const;
    /// Through /bin/sh: "$CLI" is the program, "$1" … the arguments.
    CliResult shell(const QString &script, const QStringList &arguments) const;

    static QString program();
    /// A tiny random model in a folder of its own.
    QString model(const TinyModelOptions &options = {}) const;
    QString file(const QString &name, const QByteArray &content) const;
    QString folder() const { return m_folder.path(); }

private:
    QTemporaryDir m_folder;
};

/// The events of one kind: "token".
std::vector<nlohmann::json> eventsOf(const std::vector<nlohmann::json> &lines, const std::string &kind);
/// As text, so that a failed comparison shows both.
inline QByteArray dumped(const nlohmann::json &value)
{
    return QByteArray::fromStdString(value.dump());
}
/// Names of `keys` that the object lacks, empty when it has them all.
QString missingKeys(const nlohmann::json &object, const QStringList &keys);

} // namespace tokenloupe::test

#define COMPARE_JSON(actual, expected)                                                                       \
    QCOMPARE(tokenloupe::test::dumped(actual), tokenloupe::test::dumped(expected))
