// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/architecturespec.h"

#include "engine/base/utf8.h"

namespace tokenloupe {

namespace {

// What a row does not mention is as in the type: RMS norms before attention and feed-forward, SiLU gate,
// rotation of interleaved pairs.
constexpr ArchitectureSpec architectures[] = {
    // Llama 1 to 3, and what is stored as such: Mistral, Mixtral, SmolLM2, TinyLlama, Yi, …
    {.name = "llama"},
    {.name = "qwen2", .biases = RequiredBiases::QueryKeyValue, .rotary = RotaryStyle::HalfSplit},
    {.name = "qwen3", .rotary = RotaryStyle::HalfSplit, .headNorm = HeadNorm::PerHead},
    {.name = "qwen3moe", .rotary = RotaryStyle::HalfSplit, .headNorm = HeadNorm::PerHead},
    {.name = "gemma",
     .activation = Activation::GeluTanhGated,
     .rotary = RotaryStyle::HalfSplit,
     .embeddingScale = EmbeddingScale::RootOfWidth},
    {.name = "gemma2",
     .normPlacement = NormPlacement::Around,
     .activation = Activation::GeluTanhGated,
     .rotary = RotaryStyle::HalfSplit,
     .window = 4096,
     .windowPeriod = 2,
     .wideQueryLayers = 46,
     .attentionSoftCap = 50.0F,
     .logitSoftCap = 30.0F,
     .embeddingScale = EmbeddingScale::RootOfWidth},
    {.name = "gemma3",
     .normPlacement = NormPlacement::Around,
     .activation = Activation::GeluTanhGated,
     .rotary = RotaryStyle::HalfSplit,
     .localRopeBase = 10000.0F,
     .headNorm = HeadNorm::PerHead,
     .windowPeriod = 6,
     .wideQueryLayers = 62,
     .embeddingScale = EmbeddingScale::RootOfWidth},
    {.name = "phi3", .rotary = RotaryStyle::HalfSplit},
    {.name = "gpt2",
     .norm = NormKind::Layer,
     .normBias = Presence::Required,
     .activation = Activation::GeluTanh,
     .biases = RequiredBiases::All,
     .positions = PositionKind::Learned},
    {.name = "starcoder2",
     .norm = NormKind::Layer,
     .normBias = Presence::Required,
     .activation = Activation::GeluTanh,
     .rotary = RotaryStyle::HalfSplit},
    {.name = "smollm3", .unrotatedPeriod = 4},
    {.name = "olmo2",
     .normPlacement = NormPlacement::After,
     .rotary = RotaryStyle::HalfSplit,
     .headNorm = HeadNorm::WholeWidth},
    {.name = "falcon",
     .norm = NormKind::Layer,
     .normBias = Presence::Required,
     .activation = Activation::Gelu,
     .residual = ResidualKind::Parallel,
     .rotary = RotaryStyle::HalfSplit},
    {.name = "bloom",
     .norm = NormKind::Layer,
     .normBias = Presence::Required,
     .embeddingNorm = true,
     .activation = Activation::GeluTanh,
     .biases = RequiredBiases::All,
     .positions = PositionKind::Alibi,
     .alibiBias = 8.0F},
    {.name = "mpt",
     .norm = NormKind::Layer,
     .activation = Activation::Gelu,
     .positions = PositionKind::Alibi,
     .headNorm = HeadNorm::WholeWidth,
     .headNorms = Presence::Optional},
};

} // namespace

Result<const ArchitectureSpec *> architectureSpec(std::string_view name)
{
    std::string known;
    for (const ArchitectureSpec &spec : architectures) {
        if (spec.name == name)
            return &spec;
        known += (known.empty() ? "" : ", ") + std::string(spec.name);
    }
    return makeError(ErrorCode::Unsupported, {},
                     "the architecture " + quotedForMessage(name) + " is not one that this program runs (" +
                         known + ")");
}

} // namespace tokenloupe
