// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/shapewindows.h"

#include <utility>

namespace tokenloupe {

namespace {

std::vector<std::uint64_t> everyButNth(std::uint64_t layers, std::uint64_t window, std::uint64_t n)
{
    std::vector<std::uint64_t> windows(layers, window);
    for (std::uint64_t layer = 0; n > 0 && layer < layers; ++layer) {
        if ((layer + 1) % n == 0)
            windows[layer] = 0;
    }
    return windows;
}

/// "layer_types": one name for each layer.
std::vector<std::uint64_t> listedWindows(JsonFields &fields, const std::vector<std::string> &types,
                                         std::uint64_t layers, std::uint64_t window)
{
    std::vector<std::uint64_t> windows(layers, 0);
    if (types.size() != layers) {
        fields.fail(ErrorCode::InvalidArgument, "layer_types",
                    "expected one for each of the " + std::to_string(layers) + " layers, found " +
                        std::to_string(types.size()));
        return windows;
    }
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        if (types[layer] == "sliding_attention" || types[layer] == "chunked_attention")
            windows[layer] = window;
    }
    return windows;
}

} // namespace

std::vector<std::uint64_t> windowsOfConfig(JsonFields &fields, const ConfigFamily &family,
                                           std::uint64_t layers)
{
    const std::vector<std::uint64_t> none(layers, 0);
    const bool isSwitchedOff =
        family.windowRule == WindowRule::Upper && !fields.flag({"use_sliding_window"}, false);
    // A config that states null means none, one that leaves the field out means the family's own.
    const std::uint64_t usual = fields.isNull("sliding_window") ? 0 : family.window;
    const std::uint64_t window =
        fields.number({"sliding_window", "attention_chunk_size"}, 0, maxShapeRows, usual);
    if (window == 0 || isSwitchedOff)
        return none;
    if (const auto types = fields.texts({"layer_types"}))
        return listedWindows(fields, *types, layers, window);
    switch (family.windowRule) {
    case WindowRule::None:
        return none;
    case WindowRule::All:
        return std::vector<std::uint64_t>(layers, window);
    case WindowRule::Every:
        return everyButNth(layers, window,
                           fields.number({"sliding_window_pattern", "_sliding_window_pattern"}, 1,
                                         maxShapeLayers, family.windowEvery));
    case WindowRule::Upper: {
        const std::uint64_t first =
            fields.number({"max_window_layers"}, 0, maxShapeLayers, std::uint64_t{28});
        std::vector<std::uint64_t> windows = none;
        for (std::uint64_t layer = first; layer < layers; ++layer)
            windows[layer] = window;
        return windows;
    }
    }
    return none;
}

std::uint64_t windowEveryOf(std::string_view architecture)
{
    static constexpr std::pair<std::string_view, std::uint64_t> known[] = {
        {"gemma2", 2},  {"gpt-oss", 2}, {"cohere2", 4}, {"llama4", 4},          {"olmo2", 4},
        {"exaone4", 4}, {"gemma3n", 5}, {"gemma3", 6},  {"gemma-embedding", 6},
    };
    for (const auto &[name, every] : known) {
        if (name == architecture)
            return every;
    }
    return 0;
}

} // namespace tokenloupe
