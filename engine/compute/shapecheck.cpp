// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/shapecheck.h"

#include "engine/base/checkedmath.h"

#include <string>

namespace tokenloupe {

tl::unexpected<Error> wrongShape(std::string_view operation, std::string_view what, std::int64_t got,
                                 std::int64_t expected)
{
    return makeError(ErrorCode::InvalidArgument, std::string(operation),
                     std::string(what) + ": expected " + std::to_string(expected) + ", got " +
                         std::to_string(got));
}

Status checkSame(std::string_view operation, const Activations &a, const Activations &b)
{
    if (a.rows != b.rows)
        return wrongShape(operation, "rows", b.rows, a.rows);
    if (a.columns != b.columns)
        return wrongShape(operation, "columns", b.columns, a.columns);
    return {};
}

Status checkRotation(std::string_view operation, const RopeParams &params)
{
    if (params.rotated > params.headSize || params.inverseFrequencies.size() * 2 != params.rotated)
        return wrongShape(operation, "rotated values", params.rotated,
                          static_cast<std::int64_t>(2 * params.inverseFrequencies.size()));
    return {};
}

Status checkWeight(std::string_view operation, const Weight &weight, std::int64_t columns)
{
    if (weight.columns != columns)
        return wrongShape(operation, "weight columns", weight.columns, columns);
    const TensorTypeTraits *traits = tensorTypeTraits(static_cast<std::uint32_t>(weight.type));
    if (!traits || !traits->computable)
        return makeError(ErrorCode::Unsupported, std::string(operation),
                         std::string("no kernel for weights of type ") + (traits ? traits->name : "unknown"));
    if (weight.rows <= 0 || columns <= 0 || columns % traits->blockValues != 0)
        return wrongShape(operation, "weight columns in whole blocks", columns, traits->blockValues);
    const CheckedSize bytes = CheckedSize(static_cast<std::uint64_t>(columns) / traits->blockValues) *
                              traits->blockBytes * static_cast<std::uint64_t>(weight.rows);
    if (!bytes.isValid() || weight.data.size() < bytes.value())
        return wrongShape(operation, "weight bytes", static_cast<std::int64_t>(weight.data.size()),
                          static_cast<std::int64_t>(bytes.value()));
    return {};
}

} // namespace tokenloupe
