// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/weightassembler.h"

#include "engine/base/utf8.h"

#include <array>
#include <cmath>
#include <cstring>

namespace tokenloupe {

namespace {

std::string shapeText(std::uint64_t rows, std::uint64_t columns)
{
    return std::to_string(rows) + " × " + std::to_string(columns);
}

std::string label(std::string_view tensorName)
{
    return "tensor " + quotedForMessage(tensorName);
}

std::string computableTypes()
{
    std::string names;
    for (std::uint32_t id = 0; id <= static_cast<std::uint32_t>(TensorType::NVFP4); ++id) {
        const TensorTypeTraits *traits = tensorTypeTraits(id);
        if (traits && traits->computable)
            names += (names.empty() ? "" : ", ") + std::string(traits->name);
    }
    return names;
}

std::string typeName(const StoredWeight &stored)
{
    return stored.foreignType.empty() ? std::string(traitsOf(stored.type).name)
                                      : std::string(stored.foreignType);
}

WeightId biasId(WeightId id)
{
    id.part = WeightPart::Bias;
    return id;
}

} // namespace

WeightAssembler::WeightAssembler(const ModelConfig &config, WeightSource &source)
    : m_config(config)
    , m_spec(config.spec)
    , m_source(source)
{}

Result<ModelWeights> WeightAssembler::assemble()
{
    Status status = model();
    for (std::uint32_t index = 0; status && index < m_config.layers; ++index)
        status = layer(index); // grows only as far as tensors are there
    if (!status)
        return tl::unexpected(status.error());
    return std::move(m_weights);
}

Status WeightAssembler::model()
{
    const std::uint64_t width = m_config.embedding;
    const std::uint64_t tokens = m_config.vocabulary;
    ModelWeights &w = m_weights;
    const Presence positions =
        m_spec.positions == PositionKind::Learned ? Presence::Required : Presence::Optional;
    const Presence longRope = m_config.ropeScaling == "longrope" ? Presence::Required : Presence::Optional;
    Status status =
        matrix({WeightRole::TokenEmbedding}, {tokens, width}, Presence::Required, w.tokenEmbedding)
            .and_then([&] {
                return positions == Presence::Required
                           ? matrix({WeightRole::PositionEmbedding}, {m_config.contextTrain, width},
                                    positions, w.positionEmbedding)
                           : Status();
            })
            .and_then([&] {
                return m_spec.embeddingNorm ? norm({WeightRole::EmbeddingNorm}, width, Presence::Required,
                                                   w.embeddingNorm, w.embeddingNormBias)
                                            : Status();
            })
            .and_then([&] {
                return norm({WeightRole::OutputNorm}, width, Presence::Required, w.outputNorm,
                            w.outputNormBias);
            })
            .and_then([&] {
                return matrix({WeightRole::OutputHead}, {tokens, width}, Presence::Optional, w.outputHead);
            })
            .and_then([&] {
                return ropeFactors(WeightRole::RopeFactors, Presence::Optional, w.ropeFrequencyFactors);
            })
            .and_then([&] { return ropeFactors(WeightRole::RopeShortFactors, longRope, w.ropeShortFactors); })
            .and_then([&] { return ropeFactors(WeightRole::RopeLongFactors, longRope, w.ropeLongFactors); });
    w.outputKind = w.outputHead.isPresent() ? OutputHead::Separate : OutputHead::Tied;
    if (w.outputKind == OutputHead::Tied)
        w.outputHead = w.tokenEmbedding;
    return status;
}

Status WeightAssembler::ropeFactors(WeightRole role, Presence presence, Weight &factors)
{
    if (m_spec.positions != PositionKind::Rotary)
        return {};
    if (Status found = vector({role}, m_config.ropeDimensions / 2, presence, factors); !found)
        return found;
    for (std::size_t i = 0; i + sizeof(float) <= factors.data.size(); i += sizeof(float)) {
        float factor = 0.0F;
        std::memcpy(&factor, factors.data.data() + i, sizeof(float));
        if (!std::isfinite(factor) || factor <= 0.0F)
            return bad(label(m_source.nameOf({role})) + ": expected numbers above 0, found " +
                       std::to_string(factor));
    }
    return {};
}

Status WeightAssembler::layer(std::uint32_t index)
{
    const std::uint64_t width = m_config.embedding;
    LayerWeights weights;
    const auto normOf = [&](WeightRole role, bool isThere, Weight &gain, Weight &bias) {
        return isThere ? norm({role, WeightPart::Weight, index, {}}, width, Presence::Required, gain, bias)
                       : Status();
    };
    Status status =
        normOf(WeightRole::AttentionNorm, m_spec.normsInput(), weights.attentionNorm,
               weights.attentionNormBias)
            .and_then([&] { return attention(weights, index); })
            .and_then([&] {
                return normOf(WeightRole::AttentionPostNorm, m_spec.normsOutput(), weights.attentionPostNorm,
                              weights.attentionPostNormBias);
            })
            .and_then([&] {
                return normOf(WeightRole::FeedForwardNorm, m_spec.normsInput(), weights.feedForwardNorm,
                              weights.feedForwardNormBias);
            })
            .and_then(
                [&] { return m_config.experts > 0 ? experts(weights, index) : feedForward(weights, index); })
            .and_then([&] {
                return normOf(WeightRole::FeedForwardPostNorm, m_spec.normsOutput(),
                              weights.feedForwardPostNorm, weights.feedForwardPostNormBias);
            });
    if (status)
        m_weights.layers.push_back(std::move(weights));
    return status;
}

Status WeightAssembler::attention(LayerWeights &weights, std::uint32_t index)
{
    const auto id = [index](WeightRole role) { return WeightId{role, WeightPart::Weight, index, {}}; };
    const std::uint64_t width = m_config.embedding;
    const std::uint64_t queries = std::uint64_t{m_config.heads} * m_config.headSize;
    const std::uint64_t keys = std::uint64_t{m_config.kvHeadsOf(index)} * m_config.headSize;
    const std::uint64_t values = std::uint64_t{m_config.kvHeadsOf(index)} * m_config.valueHeadSize;
    const std::uint64_t mixed = std::uint64_t{m_config.heads} * m_config.valueHeadSize;
    const std::array<Pair, 3> parts = {Pair{&weights.query, &weights.queryBias, queries},
                                       Pair{&weights.key, &weights.keyBias, keys},
                                       Pair{&weights.value, &weights.valueBias, values}};
    const std::array<WeightRole, 3> apart = {WeightRole::Query, WeightRole::Key, WeightRole::Value};
    const Presence bias = biasOf(WeightRole::Query);
    const Result<bool> asOne = fused(id(WeightRole::QueryKeyValue), width, bias, parts);
    if (!asOne)
        return tl::unexpected(asOne.error());
    for (std::size_t i = 0; !*asOne && i < parts.size(); ++i) {
        if (Status found =
                projection(id(apart[i]), parts[i].rows, width, bias, *parts[i].weight, *parts[i].bias);
            !found)
            return found;
    }
    return headNorms(weights, index).and_then([&] {
        return projection(id(WeightRole::AttentionOutput), width, mixed, biasOf(WeightRole::AttentionOutput),
                          weights.output, weights.outputBias);
    });
}

Status WeightAssembler::headNorms(LayerWeights &weights, std::uint32_t index)
{
    if (m_spec.headNorm == HeadNorm::None)
        return {};
    const bool isWhole = m_spec.headNorm == HeadNorm::WholeWidth;
    const std::uint64_t size = m_config.headSize;
    return norm({WeightRole::QueryNorm, WeightPart::Weight, index, {}},
                isWhole ? m_config.heads * size : size, m_spec.headNorms, weights.queryNorm,
                weights.queryNormBias)
        .and_then([&] {
            return norm({WeightRole::KeyNorm, WeightPart::Weight, index, {}},
                        isWhole ? m_config.kvHeadsOf(index) * size : size, m_spec.headNorms, weights.keyNorm,
                        weights.keyNormBias);
        });
}

Status WeightAssembler::feedForward(LayerWeights &weights, std::uint32_t index)
{
    const auto id = [index](WeightRole role) { return WeightId{role, WeightPart::Weight, index, {}}; };
    const std::uint64_t width = m_config.embedding;
    const std::uint64_t inner = m_config.feedForward;
    const Presence bias = biasOf(WeightRole::Up);
    Result<bool> asOne = false;
    if (m_spec.isGated())
        asOne = fused(id(WeightRole::GateUp), width, bias,
                      std::array<Pair, 2>{Pair{&weights.gate, &weights.gateBias, inner},
                                          Pair{&weights.up, &weights.upBias, inner}});
    if (!asOne)
        return tl::unexpected(asOne.error());
    if (!*asOne && m_spec.isGated()) {
        if (Status found =
                projection(id(WeightRole::Gate), inner, width, bias, weights.gate, weights.gateBias);
            !found)
            return found;
    }
    if (!*asOne) {
        if (Status found = projection(id(WeightRole::Up), inner, width, bias, weights.up, weights.upBias);
            !found)
            return found;
    }
    return projection(id(WeightRole::Down), width, inner, bias, weights.down, weights.downBias);
}

Status WeightAssembler::experts(LayerWeights &weights, std::uint32_t index)
{
    const std::uint64_t width = m_config.embedding;
    const std::uint64_t inner = m_config.expertFeedForward;
    return matrix({WeightRole::Router, WeightPart::Weight, index, {}}, {m_config.experts, width},
                  Presence::Required, weights.router)
        .and_then([&] {
            return expertMatrices(WeightRole::ExpertGate, index, inner, width, &ExpertWeights::gate,
                                  weights.experts);
        })
        .and_then([&] {
            return expertMatrices(WeightRole::ExpertUp, index, inner, width, &ExpertWeights::up,
                                  weights.experts);
        })
        .and_then([&] {
            return expertMatrices(WeightRole::ExpertDown, index, width, inner, &ExpertWeights::down,
                                  weights.experts);
        });
}

Status WeightAssembler::expertMatrices(WeightRole role, std::uint32_t index, std::uint64_t rows,
                                       std::uint64_t columns, Weight ExpertWeights::*member,
                                       std::vector<ExpertWeights> &experts)
{
    const auto expertAt = [&](std::uint32_t expert) -> Weight & {
        if (experts.size() <= expert)
            experts.resize(expert + 1);
        return experts[expert].*member;
    };
    Weight all;
    WeightId id{role, WeightPart::Weight, index, {}};
    if (Status found = matrix(id, {rows, columns, m_config.experts}, Presence::Optional, all); !found)
        return found;
    for (std::uint32_t expert = 0; expert < m_config.experts; ++expert) {
        const auto count = static_cast<std::int64_t>(rows);
        if (all.isPresent()) {
            expertAt(expert) = rowsOf(all, expert * count, count);
            continue;
        }
        id.expert = expert;
        Weight one;
        if (Status found = matrix(id, {rows, columns}, Presence::Optional, one); !found)
            return found;
        if (!one.isPresent()) {
            if (expert == 0)
                id.expert.reset(); // neither form is there: the usual one is what is missing
            return missing(id);
        }
        expertAt(expert) = one;
    }
    return {};
}

Status WeightAssembler::norm(WeightId id, std::uint64_t size, Presence presence, Weight &gain, Weight &bias)
{
    if (Status found = vector(id, size, presence, gain); !found)
        return found;
    if (m_spec.norm != NormKind::Layer || !gain.isPresent())
        return {};
    return vector(biasId(id), size, m_spec.normBias, bias);
}

Status WeightAssembler::projection(WeightId id, std::uint64_t rows, std::uint64_t columns, Presence bias,
                                   Weight &weight, Weight &weightBias)
{
    return matrix(id, {rows, columns}, Presence::Required, weight).and_then([&] {
        return vector(biasId(id), rows, bias, weightBias);
    });
}

template <std::size_t Count>
Result<bool> WeightAssembler::fused(WeightId id, std::uint64_t columns, Presence bias,
                                    const std::array<Pair, Count> &parts)
{
    std::uint64_t rows = 0;
    for (const Pair &part : parts)
        rows += part.rows;
    Weight all;
    Weight allBias;
    const Status found = matrix(id, {rows, columns}, Presence::Optional, all).and_then([&] {
        return all.isPresent() ? vector(biasId(id), rows, bias, allBias) : Status();
    });
    if (!found)
        return tl::unexpected(found.error());
    std::int64_t first = 0;
    for (const Pair &part : parts) {
        const auto count = static_cast<std::int64_t>(part.rows);
        if (all.isPresent())
            *part.weight = rowsOf(all, first, count);
        if (allBias.isPresent())
            *part.bias = valuesOf(allBias, first, count);
        first += count;
    }
    return all.isPresent();
}

Status WeightAssembler::matrix(const WeightId &id, Size size, Presence presence, Weight &weight)
{
    const Result<std::optional<StoredWeight>> found = m_source.find(id);
    if (!found)
        return tl::unexpected(found.error());
    const std::optional<StoredWeight> &stored = *found;
    if (!stored)
        return presence == Presence::Optional ? Status() : missing(id);
    if (Status status = checkShape(*stored, size); !status)
        return status;
    const TensorTypeTraits &traits = traitsOf(stored->type);
    if (!traits.computable || !stored->foreignType.empty())
        return unsupported(label(stored->name) + " has the type " + typeName(*stored) + "; supported are " +
                           computableTypes());
    weight = {stored->type, static_cast<std::int64_t>(size.rows * size.matrices),
              static_cast<std::int64_t>(size.columns), stored->data};
    return {};
}

Status WeightAssembler::vector(const WeightId &id, std::uint64_t size, Presence presence, Weight &weight)
{
    const Result<std::optional<StoredWeight>> found = m_source.find(id);
    if (!found)
        return tl::unexpected(found.error());
    const std::optional<StoredWeight> &stored = *found;
    if (!stored)
        return presence == Presence::Optional ? Status() : missing(id);
    if (Status status = checkShape(*stored, {1, size}); !status)
        return status;
    if (stored->type != TensorType::F32 || !stored->foreignType.empty())
        return unsupported(label(stored->name) + ": expected the type F32, found " + typeName(*stored));
    weight = {stored->type, 1, static_cast<std::int64_t>(size), stored->data};
    return {};
}

Status WeightAssembler::checkShape(const StoredWeight &stored, Size size) const
{
    const auto &shape = stored.shape;
    if (shape[0] == size.columns && shape[1] == size.rows && shape[2] == size.matrices && shape[3] == 1)
        return {};
    std::string expected = shapeText(size.rows, size.columns);
    if (size.matrices != 1)
        expected += " × " + std::to_string(size.matrices) + " (rows × columns × experts)";
    else
        expected += " (rows × columns)";
    std::string found = shapeText(shape[1], shape[0]);
    if (shape[2] != 1 || shape[3] != 1 || size.matrices != 1)
        found += " × " + shapeText(shape[2], shape[3]);
    return bad(label(stored.name) + ": expected " + expected + ", found " + found);
}

Presence WeightAssembler::biasOf(WeightRole role) const
{
    const bool isRequired = m_spec.biases == RequiredBiases::All ||
                            (m_spec.biases == RequiredBiases::QueryKeyValue && role == WeightRole::Query);
    return isRequired ? Presence::Required : Presence::Optional;
}

tl::unexpected<Error> WeightAssembler::missing(const WeightId &id) const
{
    return bad(label(m_source.nameOf(id)) + " is missing");
}

tl::unexpected<Error> WeightAssembler::bad(std::string message) const
{
    return makeError(ErrorCode::BadFile, "load " + m_source.container(), std::move(message));
}

tl::unexpected<Error> WeightAssembler::unsupported(std::string message) const
{
    return makeError(ErrorCode::Unsupported, "load " + m_source.container(), std::move(message));
}

} // namespace tokenloupe
