// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/modelcheck.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// Any bytes as a model file: the container, the config, the vocabulary and the model's weights.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto check = tokenloupe::test::checkModelBytes(std::as_bytes(std::span(data, size)));
    if (!check.broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", check.broken.c_str());
        std::abort();
    }
    return 0;
}
