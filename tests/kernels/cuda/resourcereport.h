// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <vector>

namespace tokenloupe::test {

/// What the device's assembler says of one compiled function.
struct FunctionResources
{
    QString name; ///< in words, as in the source
    QString architecture;
    int stackBytes = -1; ///< -1: the report does not tell
    int spilledBytes = -1;
    int registers = -1;
};

/// The functions of a report as `ptxas -v` prints it, in its order.
std::vector<FunctionResources> parseResources(const QString &report);

/// Kernels for the prompt alone have "prefill" in their names; all others run for every token.
bool isForDecoding(const FunctionResources &function);

/// One line for each function for decoding that spills values to memory or of which too little is known.
QStringList spillsOf(const std::vector<FunctionResources> &functions);

} // namespace tokenloupe::test
