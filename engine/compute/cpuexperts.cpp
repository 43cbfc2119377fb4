// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cpubackend.h"
#include "engine/compute/expertcheck.h"

#include <algorithm>
#include <array>

namespace tokenloupe {

namespace {

/// Some rows of a matrix.
Activations rowsOf(Activations matrix, std::int64_t first, std::int64_t count)
{
    return {matrix.data + first * matrix.columns, count, matrix.columns};
}

} // namespace

Status CpuBackend::experts(Activations input, Activations router, const ExpertParams &params,
                           Activations output)
{
    const OperationWatch::Scope counted(m_watch, Operation::Product);
    if (Status good = checkExperts(input, router, params, output); !good)
        return good;
    const std::int64_t experts = router.columns;
    for (std::int64_t row = 0; row < router.rows; ++row) {
        float *logits = router.data + row * experts;
        const float sum = m_kernels.expSum(logits, m_kernels.maximum(logits, experts), experts);
        m_kernels.scale(1.0F / sum, experts, logits);
    }
    m_routes.choose({router.data, static_cast<std::size_t>(router.rows * experts)},
                    static_cast<std::uint32_t>(experts), params.used, params.weighting);
    if (Status done = multiplyExperts(input, params); !done)
        return done;
    share(output.rows, params.used * output.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            float *sum = output.data + row * output.columns;
            std::fill_n(sum, output.columns, 0.0F);
            for (const ExpertRoutes::Choice &choice : m_routes.of(static_cast<std::uint32_t>(row)))
                m_kernels.axpy(choice.weight, rowsOf(params.rows, choice.place, 1).data, output.columns, sum);
        }
    });
    return {};
}

/// The rows of each expert's tokens behind each other: gathered, through gate and up, and back into the rows.
Status CpuBackend::multiplyExperts(Activations input, const ExpertParams &params)
{
    share(params.rows.rows, input.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t place = begin; place < end; ++place) {
            const std::uint32_t token = m_routes.tokenAt(static_cast<std::uint32_t>(place));
            std::copy_n(rowsOf(input, token, 1).data, input.columns, rowsOf(params.rows, place, 1).data);
        }
    });
    const auto forEachExpert = [&](const auto &visit) {
        Status status;
        for (std::uint32_t expert = 0; status && expert < params.experts.size(); ++expert) {
            const std::int64_t first = m_routes.begin(expert);
            const std::int64_t count = m_routes.begin(expert + 1) - first;
            if (count > 0)
                status = visit(params.experts[expert], first, count);
        }
        return status;
    };
    std::vector<Projection> projections;
    Status status = forEachExpert([&](const ExpertWeights &weights, std::int64_t first, std::int64_t count) {
        projections.push_back({&weights.gate, nullptr, rowsOf(params.gate, first, count)});
        projections.push_back({&weights.up, nullptr, rowsOf(params.up, first, count)});
        // A single token is the input of all its experts: one product, that all threads share.
        if (input.rows == 1)
            return Status();
        const Status done = multiply(rowsOf(params.rows, first, count), projections);
        projections.clear();
        return done;
    });
    if (status && !projections.empty())
        status = multiply(input, projections);
    if (status)
        status = activate(params.activation, params.gate, params.up, params.gate);
    if (!status)
        return status;
    return forEachExpert([&](const ExpertWeights &weights, std::int64_t first, std::int64_t count) {
        const std::array<Projection, 1> down = {
            Projection{&weights.down, nullptr, rowsOf(params.rows, first, count)}};
        return multiply(rowsOf(params.gate, first, count), down);
    });
}

} // namespace tokenloupe
