// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/modelloadoptions.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tokenloupe {

namespace {

constexpr std::array all = {LoadQuantization::AsStored, LoadQuantization::Q8_0, LoadQuantization::Q6_K,
                            LoadQuantization::Q5_K,     LoadQuantization::Q4_K, LoadQuantization::Q4_0};

struct Names
{
    std::string_view name, title, mixture;
};

Names namesOf(LoadQuantization quantization)
{
    switch (quantization) {
    case LoadQuantization::Q8_0:
        return {"q8_0", "Q8_0", "Q8_0"};
    case LoadQuantization::Q6_K:
        return {"q6_k", "Q6_K", "Q6_K"};
    case LoadQuantization::Q5_K:
        return {"q5_k", "Q5_K", "Q5_K_M"};
    case LoadQuantization::Q4_K:
        return {"q4_k", "Q4_K", "Q4_K_M"};
    case LoadQuantization::Q4_0:
        return {"q4_0", "Q4_0", "Q4_0"};
    case LoadQuantization::AsStored:
        break;
    }
    return {"stored", "as stored", ""};
}

} // namespace

std::span<const LoadQuantization> loadQuantizations()
{
    return all;
}

std::string_view loadQuantizationName(LoadQuantization quantization)
{
    return namesOf(quantization).name;
}

std::string_view loadQuantizationTitle(LoadQuantization quantization)
{
    return namesOf(quantization).title;
}

std::string_view mixtureOf(LoadQuantization quantization)
{
    return namesOf(quantization).mixture;
}

std::optional<LoadQuantization> loadQuantizationOf(std::string_view name)
{
    std::string lower;
    for (const char c : name)
        lower += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto found = std::find_if(all.begin(), all.end(), [&](LoadQuantization quantization) {
        const std::string_view known = loadQuantizationName(quantization);
        return lower == known || (known.ends_with("_k") && lower == std::string(known) + "_m" &&
                                  mixtureOf(quantization).ends_with("_M"));
    });
    return found == all.end() ? std::nullopt : std::optional(*found);
}

} // namespace tokenloupe
