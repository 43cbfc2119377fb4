// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/modelcheck.h"

#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenloupe::test {

namespace {

/// Reads all bytes, so that a sanitizer sees any that are not there.
unsigned touch(std::span<const std::byte> bytes)
{
    unsigned sum = 0;
    for (const std::byte byte : bytes)
        sum += static_cast<unsigned>(byte);
    return sum;
}

class Judge
{
public:
    void require(bool holds, const char *promise)
    {
        if (!holds && m_broken.empty())
            m_broken = promise;
    }
    void weight(const Weight &weight, std::uint64_t rows, std::uint64_t columns)
    {
        const TensorTypeTraits &traits = traitsOf(weight.type);
        require(traits.computable, "a weight has a type that cannot be multiplied");
        require(weight.rows == std::int64_t(rows) && weight.columns == std::int64_t(columns), "a shape");
        require(columns % traits.blockValues == 0, "a row is no whole blocks");
        require(weight.data.size() == rows * (columns / traits.blockValues) * traits.blockBytes, "a size");
        require(reinterpret_cast<std::uintptr_t>(weight.data.data()) % alignof(float) == 0, "alignment");
        m_sum += touch(weight.data);
    }
    void vector(const Weight &weight, std::uint64_t size)
    {
        require(weight.type == TensorType::F32, "a vector is not F32");
        this->weight(weight, 1, size);
    }
    void file(const GgufFile &file);
    void vocabulary(const VocabularyData &data);
    void model(const Model &model);
    void layer(const ModelConfig &config, const LayerWeights &layer, std::uint32_t index);

    const std::string &broken() const { return m_broken; }

private:
    std::string m_broken;
    unsigned m_sum = 0;
};

void Judge::file(const GgufFile &file)
{
    require(file.keyOrder().size() == file.metadata().size(), "as many keys in order as in the map");
    for (const std::string &key : file.keyOrder()) {
        require(file.find(key) != nullptr, "a key is found by its name");
        static_cast<void>(file.unsignedValue(key));
        static_cast<void>(file.floatValue(key));
        static_cast<void>(file.boolValue(key));
        if (const auto text = file.stringValue(key))
            m_sum += touch(std::as_bytes(std::span(text->data(), text->size())));
        if (const auto *array = std::get_if<GgufArray>(&file.find(key)->value)) {
            if (const auto strings = file.stringArray(key))
                require(strings->size() == array->count, "all strings of an array");
            if (const auto numbers = file.integerArray(key))
                require(numbers->size() == array->count, "all integers of an array");
            if (const auto numbers = file.floatArray(key))
                require(numbers->size() == array->count, "all floats of an array");
            m_sum += touch(array->bytes);
        }
    }
    for (const GgufTensor &tensor : file.tensors()) {
        require(file.tensor(tensor.name) == &tensor, "a tensor is found by its name");
        require(tensor.data.size() == tensor.bytes, "a tensor has its data");
        m_sum += touch(tensor.data);
    }
}

void Judge::vocabulary(const VocabularyData &data)
{
    const std::size_t size = data.texts.size();
    require(size > 0, "tokens");
    require(data.kinds.size() == size, "a kind for each token");
    require(data.scores.empty() || data.scores.size() == size, "a score for each token or none");
    require(std::none_of(data.scores.begin(), data.scores.end(), [](float s) { return s != s; }),
            "scores compare");
    for (const auto &id : {data.bos, data.eos, data.eot, data.unknown, data.padding})
        require(!id || id->value() < size, "special tokens are in the vocabulary");
    require(!data.addBos || data.bos, "a BOS to add");
    require(!data.addEos || data.eos, "an EOS to add");
    require(isValidUtf8(data.model) && isValidUtf8(data.pre), "names can be shown");
}

void Judge::model(const Model &model)
{
    const ModelConfig &config = model.config();
    const ModelWeights &weights = model.weights();
    require(config.layers > 0 && weights.layers.size() == config.layers, "layers");
    require(config.kvHeads.size() == config.layers, "KV heads of each layer");
    require(config.vocabulary == model.vocabulary().texts.size(), "vocabulary");
    require(config.contextTrain > 0, "context");
    require(config.ropeDimensions % 2 == 0 && config.ropeDimensions <= config.headSize, "rotation");
    require(config.ropeBase > 0 && config.ropeScaleFactor > 0 && config.normEpsilon >= 0, "constants");
    require(isValidUtf8(config.name), "the name can be shown");
    if (!m_broken.empty())
        return;
    weight(weights.tokenEmbedding, config.vocabulary, config.embedding);
    weight(weights.outputHead, config.vocabulary, config.embedding);
    vector(weights.outputNorm, config.embedding);
    if (config.spec.positions == PositionKind::Learned)
        weight(weights.positionEmbedding, config.contextTrain, config.embedding);
    for (const Weight *factors :
         {&weights.ropeFrequencyFactors, &weights.ropeShortFactors, &weights.ropeLongFactors}) {
        if (factors->isPresent())
            vector(*factors, config.ropeDimensions / 2);
    }
    for (std::uint32_t i = 0; i < config.layers && m_broken.empty(); ++i)
        layer(config, weights.layers[i], i);
}

void Judge::layer(const ModelConfig &config, const LayerWeights &layer, std::uint32_t index)
{
    const std::uint64_t kvHeads = config.kvHeadsOf(index);
    const std::uint64_t width = config.embedding;
    require(kvHeads > 0 && config.heads % kvHeads == 0, "heads share KV heads evenly");
    for (const Weight *norm : {&layer.attentionNorm, &layer.feedForwardNorm}) {
        require(norm->isPresent() == config.spec.normsInput(), "norms of what is read");
        if (norm->isPresent())
            vector(*norm, width);
    }
    for (const Weight *norm : {&layer.attentionPostNorm, &layer.feedForwardPostNorm}) {
        require(norm->isPresent() == config.spec.normsOutput(), "norms of what is added");
        if (norm->isPresent())
            vector(*norm, width);
    }
    weight(layer.query, std::uint64_t{config.heads} * config.headSize, width);
    weight(layer.key, kvHeads * config.headSize, width);
    weight(layer.value, kvHeads * config.valueHeadSize, width);
    weight(layer.output, width, std::uint64_t{config.heads} * config.valueHeadSize);
    require(layer.experts.size() == config.experts, "as many experts as the config says");
    if (config.experts > 0) {
        require(config.expertsUsed > 0 && config.expertsUsed <= config.experts, "experts that are used");
        weight(layer.router, config.experts, width);
        for (const ExpertWeights &expert : layer.experts) {
            weight(expert.gate, config.expertFeedForward, width);
            weight(expert.up, config.expertFeedForward, width);
            weight(expert.down, width, config.expertFeedForward);
        }
        return;
    }
    if (config.spec.isGated())
        weight(layer.gate, config.feedForward, width);
    weight(layer.up, config.feedForward, width);
    weight(layer.down, width, config.feedForward);
}

} // namespace

ModelCheck checkModelBytes(std::span<const std::byte> bytes)
{
    ModelCheck check;
    Judge judge;
    const auto file = GgufFile::parse(bytes, "test.gguf");
    if (!file) {
        check.error = file.error();
        return check;
    }
    check.parsed = true;
    judge.file(**file);
    static_cast<void>(readModelConfig(**file));
    std::vector<std::string> warnings;
    if (const auto vocabulary = readVocabulary(**file, &warnings))
        judge.vocabulary(*vocabulary);
    if (const auto model = Model::fromFile(*file)) {
        check.loaded = true;
        check.warnings = (*model)->warnings().size();
        judge.model(**model);
    } else {
        check.error = model.error();
    }
    check.broken = judge.broken();
    return check;
}

} // namespace tokenloupe::test
