// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/malformedinput.h"

#include <algorithm>
#include <cctype>

namespace tokenloupe::test {

std::size_t allowedBytes(std::size_t fileBytes)
{
    return 80 * fileBytes + 65536;
}

TinyModelOptions smallModel()
{
    TinyModelOptions options;
    options.layers = 1;
    options.embedding = 8;
    options.heads = 2;
    options.kvHeads = 1;
    options.feedForward = 12;
    options.bias = TinyBias::Attention;
    options.chatTemplate = "{{ messages }}";
    options.ropeFrequencyFactors = {1.0F, 2.0F};
    return options;
}

GgufWriter twoTensors()
{
    GgufWriter writer;
    writer.string("general.architecture", "llama");
    writer.tensor("first", {8}, 0, std::vector<std::byte>(32, std::byte{1}))
        .tensor("second", {8}, 0, std::vector<std::byte>(32, std::byte{2}));
    return writer;
}

bool isOneCleanLine(const std::string &text)
{
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return std::iscntrl(static_cast<unsigned char>(c)); }) &&
           text.size() < 1000;
}

} // namespace tokenloupe::test
