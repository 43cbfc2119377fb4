// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/expertcheck.h"

#include "engine/compute/shapecheck.h"

namespace tokenloupe {

Status checkExperts(Activations input, Activations router, const ExpertParams &params, Activations output)
{
    const auto experts = static_cast<std::int64_t>(params.experts.size());
    if (Status good = checkSame("experts", input, output); !good)
        return good;
    if (router.rows != input.rows)
        return wrongShape("experts", "router rows", router.rows, input.rows);
    if (router.columns != experts)
        return wrongShape("experts", "router columns", router.columns, experts);
    if (params.used == 0 || params.used > experts)
        return wrongShape("experts", "used, at most", params.used, experts);
    if (params.activation != Activation::SiluGated && params.activation != Activation::GeluTanhGated)
        return makeError(ErrorCode::Unsupported, "experts", "only gated activations");
    for (const Activations &scratch : {params.rows, params.gate, params.up}) {
        if (scratch.rows != input.rows * params.used)
            return wrongShape("experts", "scratch rows", scratch.rows, input.rows * params.used);
    }
    if (params.rows.columns != input.columns)
        return wrongShape("experts", "scratch columns", params.rows.columns, input.columns);
    return checkSame("experts", params.gate, params.up);
}

} // namespace tokenloupe
