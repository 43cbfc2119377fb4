// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfactivation.h"

#include <algorithm>
#include <iterator>

namespace tokenloupe {

namespace {

struct Name
{
    std::string_view name;
    Activation activation;
};

// The first of each is the usual one.
constexpr Name names[] = {
    {"silu", Activation::SiluGated},
    {"swish", Activation::SiluGated},
    {"gelu_pytorch_tanh", Activation::GeluTanhGated},
    {"gelu_new", Activation::GeluTanhGated},
    {"gelu_fast", Activation::GeluTanhGated},
    {"gelu_python_tanh", Activation::GeluTanhGated},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"gelu_new", Activation::GeluTanh},
    {"gelu_fast", Activation::GeluTanh},
    {"gelu_python_tanh", Activation::GeluTanh},
    {"gelu", Activation::Gelu},
    {"gelu_python", Activation::Gelu},
};

bool isGated(Activation activation)
{
    return activation == Activation::SiluGated || activation == Activation::GeluTanhGated;
}

} // namespace

std::optional<Activation> hfActivation(std::string_view name, Activation usual)
{
    const auto found = std::find_if(std::begin(names), std::end(names), [&](const Name &candidate) {
        return candidate.name == name && isGated(candidate.activation) == isGated(usual);
    });
    return found == std::end(names) ? std::nullopt : std::optional(found->activation);
}

std::string hfActivationName(Activation activation)
{
    const auto found = std::find_if(std::begin(names), std::end(names), [&](const Name &candidate) {
        return candidate.activation == activation;
    });
    return std::string(found->name);
}

} // namespace tokenloupe
