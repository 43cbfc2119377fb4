// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tinyarchitecture.h"
#include "tests/support/tinymodel.h"

#include <cstdio>
#include <filesystem>

using namespace tokenloupe::test;

/// fuzz_seeds FOLDER: small valid files, so that the fuzzer need not find the format by chance.
int main(int argc, char *argv[])
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    TinyModelOptions options;
    options.layers = 1;
    options.embedding = 8;
    options.heads = 2;
    options.kvHeads = 1;
    options.feedForward = 8;
    options.chatTemplate = "{{ messages }}";
    writeTinyModel(folder, options);
    options.name = "tinyfull";
    options.output = TinyOutput::Separate;
    options.bias = TinyBias::Attention;
    options.ropeScaleFactor = 2.0F;
    options.ropeFrequencyFactors = {1.0F, 2.0F};
    writeTinyModel(folder, options);

    for (const char *name : {"qwen3moe", "gemma3", "phi3 longrope, long", "bloom"}) {
        TinyArchitecture model = tinyArchitectureNamed(name);
        model.layers = 1;
        model.width = 6;
        model.inner = 5;
        tinyArchitecture(model, tinyTensors(model)).write(folder / (model.architecture + ".gguf"));
    }

    GgufWriter types;
    types.u8("a", 1).i8("b", 1).u16("c", 1).i16("d", 1).u32("e", 1).i32("f", 1).f32("g", 1).boolean("h",
                                                                                                    true);
    types.u64("i", 1).i64("j", 1).f64("k", 1).string("l", "text").strings("m", std::vector<std::string>{"x"});
    types.alignment(64).tensor("t", {4, 2}, 0, std::vector<std::byte>(32));
    types.write(folder / "types.gguf");
    return 0;
}
