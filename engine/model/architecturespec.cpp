// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/architecturespec.h"

#include "engine/base/utf8.h"

namespace tokenloupe {

namespace {

constexpr ArchitectureSpec architectures[] = {
    // Llama 1 to 3, and what is stored as such: Mistral, SmolLM2, TinyLlama, Yi, …
    {.name = "llama",
     .norm = NormKind::Rms,
     .activation = Activation::SiluGated,
     .rotary = RotaryStyle::Interleaved,
     .attentionBias = true},
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
