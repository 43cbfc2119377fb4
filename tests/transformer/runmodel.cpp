// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/transformer/runmodel.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace tokenloupe::test {

namespace {

template <class T>
T valueOf(Result<T> result)
{
    if (!result)
        throw std::runtime_error(result.error().text());
    return std::move(*result);
}

std::vector<TransformerPart> preparedParts(const std::shared_ptr<const Model> &model,
                                           const RunOptions &options)
{
    const std::uint32_t layers = model->config().layers;
    const std::uint32_t split = options.backendLayers;
    std::vector<TransformerPart> parts;
    const auto add = [&](std::shared_ptr<Backend> backend, const ModelPart &part, std::uint32_t end) {
        if (const Status ready = backend->prepare(model, options.precision, part); !ready)
            throw std::runtime_error(ready.error().text());
        parts.push_back({std::move(backend), end});
    };
    if (options.backend)
        add(options.backend, split > 0 ? ModelPart::before(split) : ModelPart(), split > 0 ? split : layers);
    if (!options.backend || split > 0)
        add(valueOf(makeCpuBackend(options.threads)), split > 0 ? ModelPart::from(split) : ModelPart(),
            layers);
    return parts;
}

} // namespace

RunModel::RunModel(const std::filesystem::path &path, const RunOptions &options)
    : RunModel(valueOf(Model::load(path)), options)
{}

RunModel::RunModel(std::shared_ptr<const Model> model, const RunOptions &options)
    : m_model(std::move(model))
{
    std::vector<TransformerPart> parts = preparedParts(m_model, options);
    m_backend = parts.front().backend;
    m_transformer = valueOf(Transformer::create(m_model, std::move(parts), options.batch));
    KvCacheSettings settings;
    settings.shape = m_transformer->kvShape(options.keyType, options.valueType);
    settings.shape.blockTokens = options.blockTokens;
    settings.contextTokens = options.context;
    settings.batchTokens = options.batch;
    settings.keyPhase = options.keyPhase;
    m_cache = std::make_unique<KvCache>(valueOf(KvCache::create(settings, m_transformer->kvAllocators())));
    m_sequence = m_cache->open();
}

std::vector<float> RunModel::run(const std::vector<std::uint32_t> &ids, std::uint32_t batch, LogitRows rows,
                                 ForwardTap *tap)
{
    const std::vector<TokenId> tokens = tokenIds(ids);
    const std::size_t step = batch > 0 ? batch : m_transformer->maxBatch();
    std::vector<float> logits;
    for (std::size_t begin = 0; begin < tokens.size(); begin += step) {
        ForwardRequest request;
        request.tokens = std::span(tokens).subspan(begin, std::min(step, tokens.size() - begin));
        request.rows = rows;
        request.tap = tap;
        const std::span<const float> result = valueOf(m_transformer->forward(request, *m_cache, m_sequence));
        if (rows == LogitRows::Last)
            logits.clear();
        logits.insert(logits.end(), result.begin(), result.end());
    }
    return logits;
}

std::vector<float> RunModel::feed(const std::vector<std::uint32_t> &ids, std::uint32_t batch, ForwardTap *tap)
{
    return run(ids, batch, LogitRows::Last, tap);
}

std::vector<float> RunModel::feedAll(const std::vector<std::uint32_t> &ids, std::uint32_t batch)
{
    return run(ids, batch, LogitRows::All, nullptr);
}

std::vector<std::uint32_t> randomIds(std::size_t count, std::uint32_t vocabulary, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<std::uint32_t> ids(count);
    for (std::uint32_t &id : ids)
        id = static_cast<std::uint32_t>(random() % vocabulary);
    return ids;
}

std::vector<TokenId> tokenIds(const std::vector<std::uint32_t> &ids)
{
    std::vector<TokenId> tokens;
    tokens.reserve(ids.size());
    for (const std::uint32_t id : ids)
        tokens.emplace_back(id);
    return tokens;
}

std::uint32_t argmax(std::span<const float> logits)
{
    return static_cast<std::uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double logSumExp(std::span<const float> logits)
{
    const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(static_cast<double>(logit) - top);
    return top + std::log(sum);
}

double meanDivergence(std::span<const float> reference, std::span<const float> logits, std::size_t vocabulary)
{
    double sum = 0;
    for (std::size_t begin = 0; begin < reference.size(); begin += vocabulary) {
        const std::span<const float> p = reference.subspan(begin, vocabulary);
        const std::span<const float> q = logits.subspan(begin, vocabulary);
        const double pSum = logSumExp(p);
        const double qSum = logSumExp(q);
        for (std::size_t i = 0; i < vocabulary; ++i) {
            const double logP = static_cast<double>(p[i]) - pSum;
            sum += std::exp(logP) * (logP - (static_cast<double>(q[i]) - qSum));
        }
    }
    return sum / static_cast<double>(reference.size() / vocabulary);
}

double negativeLogLikelihood(std::span<const float> logits, std::uint32_t id)
{
    return logSumExp(logits) - static_cast<double>(logits[id]);
}

} // namespace tokenloupe::test
