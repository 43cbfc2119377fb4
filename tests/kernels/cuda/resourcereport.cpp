// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/cuda/resourcereport.h"

#include <QRegularExpression>
#include <QStringList>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace tokenloupe::test {

namespace {

QString inWords(const QString &mangled)
{
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(mangled.toLatin1().constData(), nullptr, nullptr, &status), &std::free);
    return name ? QString::fromLatin1(name.get()) : mangled;
}

} // namespace

std::vector<FunctionResources> parseResources(const QString &report)
{
    static const QRegularExpression entry(
        QStringLiteral("^ptxas info\\s*: Compiling entry function '([^']+)' for '([^']+)'"));
    static const QRegularExpression properties(
        QStringLiteral("^ptxas info\\s*: Function properties for (\\S+)"));
    static const QRegularExpression spills(
        QStringLiteral("^\\s+(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads"));
    static const QRegularExpression registers(QStringLiteral("^ptxas info\\s*: Used (\\d+) registers"));

    std::vector<FunctionResources> functions;
    QString architecture;
    // note: the properties of an entry function come after the line that announces it, those of functions
    // that it calls between the two or behind.
    std::size_t kernel = 0;
    std::size_t current = 0;
    const auto functionNamed = [&](const QString &name) {
        for (std::size_t i = 0; i < functions.size(); ++i) {
            if (functions[i].name == name && functions[i].architecture == architecture)
                return i;
        }
        functions.push_back({name, architecture});
        return functions.size() - 1;
    };
    for (const QString &line : report.split(QLatin1Char('\n'))) {
        if (const auto match = entry.match(line); match.hasMatch()) {
            architecture = match.captured(2);
            kernel = current = functionNamed(inWords(match.captured(1)));
        } else if (const auto owner = properties.match(line); owner.hasMatch()) {
            current = functionNamed(inWords(owner.captured(1)));
        } else if (const auto bytes = spills.match(line); bytes.hasMatch() && current < functions.size()) {
            functions[current].stackBytes = bytes.captured(1).toInt();
            functions[current].spilledBytes = bytes.captured(2).toInt() + bytes.captured(3).toInt();
        } else if (const auto used = registers.match(line); used.hasMatch() && kernel < functions.size()) {
            functions[kernel].registers = used.captured(1).toInt();
        }
    }
    return functions;
}

bool isForDecoding(const FunctionResources &function)
{
    return !function.name.contains(QLatin1String("prefill"), Qt::CaseInsensitive);
}

QStringList spillsOf(const std::vector<FunctionResources> &functions)
{
    QStringList lines;
    for (const FunctionResources &function : functions) {
        if (!isForDecoding(function) || function.spilledBytes == 0)
            continue;
        const QString what = function.spilledBytes < 0
                                 ? QStringLiteral("the report does not tell what it spills")
                                 : QStringLiteral("%1 bytes spilled").arg(function.spilledBytes);
        lines.append(QStringLiteral("%1 for %2: %3").arg(function.name, function.architecture, what));
    }
    return lines;
}

} // namespace tokenloupe::test
