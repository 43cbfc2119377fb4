// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/backendkind.h"

namespace tokenloupe {

std::string_view backendKindName(BackendKind kind)
{
    return kind == BackendKind::Cuda ? "cuda" : "cpu";
}

std::optional<BackendKind> backendKindOf(std::string_view name)
{
    for (const BackendKind kind : {BackendKind::Cpu, BackendKind::Cuda}) {
        if (backendKindName(kind) == name)
            return kind;
    }
    return std::nullopt;
}

} // namespace tokenloupe
