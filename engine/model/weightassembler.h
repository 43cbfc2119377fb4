// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"
#include "engine/model/weightsource.h"

namespace tokenloupe {

/// Finds every weight that a config calls for, checks its shape and type, and takes apart what is stored as
/// one. Used once.
class WeightAssembler
{
public:
    WeightAssembler(const ModelConfig &config, WeightSource &source);

    Result<ModelWeights> assemble();

private:
    struct Size
    {
        std::uint64_t rows = 0;
        std::uint64_t columns = 0;
        std::uint64_t matrices = 1;
    };
    /// A matrix and its bias.
    struct Pair
    {
        Weight *weight;
        Weight *bias;
        std::uint64_t rows;
    };

    Status model();
    Status ropeFactors(WeightRole role, Presence presence, Weight &factors);
    Status layer(std::uint32_t index);
    Status attention(LayerWeights &weights, std::uint32_t index);
    Status headNorms(LayerWeights &weights, std::uint32_t index);
    Status feedForward(LayerWeights &weights, std::uint32_t index);
    Status experts(LayerWeights &weights, std::uint32_t index);
    Status expertMatrices(WeightRole role, std::uint32_t index, std::uint64_t rows, std::uint64_t columns,
                          Weight ExpertWeights::*member, std::vector<ExpertWeights> &experts);

    /// A norm and, where norms have one, its bias.
    Status norm(WeightId id, std::uint64_t size, Presence presence, Weight &gain, Weight &bias);
    Status projection(WeightId id, std::uint64_t rows, std::uint64_t columns, Presence bias, Weight &weight,
                      Weight &weightBias);
    /// Several matrices with as many columns, in one tensor if there is such a one.
    template <std::size_t Count>
    Result<bool> fused(WeightId id, std::uint64_t columns, Presence bias,
                       const std::array<Pair, Count> &parts);
    /// A tensor that the kernels multiply by; all of its matrices below each other.
    Status matrix(const WeightId &id, Size size, Presence presence, Weight &weight);
    /// One that they add or scale by (F32).
    Status vector(const WeightId &id, std::uint64_t size, Presence presence, Weight &weight);
    Status checkShape(const StoredWeight &stored, Size size) const;

    Presence biasOf(WeightRole role) const;
    tl::unexpected<Error> missing(const WeightId &id) const;
    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;

    const ModelConfig &m_config;
    const ArchitectureSpec &m_spec;
    WeightSource &m_source;
    ModelWeights m_weights;
};

} // namespace tokenloupe
