// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tinyarchitecture.h"

#include <cmath>
#include <stdexcept>

namespace tokenloupe::test {

namespace {

using Model = TinyArchitecture;

Model llama(const char *name)
{
    Model m;
    m.name = name;
    m.architecture = "llama";
    return m;
}

std::vector<Model> llamas()
{
    std::vector<Model> all;
    all.push_back(llama("llama"));
    Model biases = llama("llama biases");
    biases.qkvBias = biases.otherBias = biases.ownHead = true;
    biases.rotated = 6;
    all.push_back(biases);
    Model window = llama("llama window");
    window.window = 7;
    all.push_back(window);
    Model linear = llama("llama linear");
    linear.scaling = Model::Scaling::Linear;
    linear.factor = 3.5;
    all.push_back(linear);
    Model ntk = llama("llama ntk");
    ntk.scaling = Model::Scaling::Ntk;
    ntk.factor = 4.0;
    all.push_back(ntk);
    Model dynamic = llama("llama dynamic");
    dynamic.scaling = Model::Scaling::Dynamic;
    dynamic.factor = 2.0;
    dynamic.context = 24;
    all.push_back(dynamic);
    Model yarn = llama("llama yarn");
    yarn.scaling = Model::Scaling::Yarn;
    yarn.factor = 4.0;
    yarn.originalContext = 96;
    all.push_back(yarn);
    yarn.name = "llama yarn with a factor";
    yarn.attentionFactor = 1.3;
    all.push_back(yarn);
    Model wavelength = llama("llama 3 without stored factors");
    wavelength.scaling = Model::Scaling::Wavelength;
    wavelength.factor = 8.0;
    wavelength.originalContext = 96;
    wavelength.base = 500.0;
    all.push_back(wavelength);
    Model factors = llama("llama frequency factors");
    factors.scaling = Model::Scaling::Factors;
    factors.factors = {1.0F, 1.5F, 2.0F, 5.0F, 8.0F};
    all.push_back(factors);
    Model experts = llama("mixtral");
    experts.experts = 5;
    experts.expertsUsed = 2;
    experts.expertInner = experts.inner = 37;
    all.push_back(experts);
    experts.name = "mixtral, experts apart";
    experts.expertsApart = true;
    all.push_back(experts);
    return all;
}

std::vector<Model> halfSplitModels()
{
    std::vector<Model> all;
    const auto add = [&](const char *name, const auto &change) {
        Model m = llama(name);
        m.architecture = name;
        m.places = Model::Places::Halves;
        change(m);
        all.push_back(m);
    };
    add("qwen2", [](Model &m) { m.qkvBias = true; });
    add("qwen3", [](Model &m) { m.headNorm = Model::HeadNorm::EachHead; });
    add("qwen3moe", [](Model &m) {
        m.headNorm = Model::HeadNorm::EachHead;
        m.experts = 7;
        m.expertsUsed = 3;
        m.expertInner = 19;
    });
    const auto gemma = [](Model &m) {
        m.curve = Model::Curve::GeluTanh;
        m.embeddingFactor = std::sqrt(static_cast<double>(m.width));
    };
    add("gemma", gemma);
    add("gemma2", [&](Model &m) {
        gemma(m);
        m.layers = 4;
        m.where = Model::Where::Around;
        m.window = 6;
        m.windowPeriod = 2;
        m.scoreCap = 2.0;
        m.logitCap = 5.0;
    });
    add("gemma3", [&](Model &m) {
        gemma(m);
        m.layers = 7;
        m.where = Model::Where::Around;
        m.headNorm = Model::HeadNorm::EachHead;
        m.window = 5;
        m.windowPeriod = 6;
        m.base = 1e6;
        m.localBase = 500.0;
        m.scaling = Model::Scaling::Linear;
        m.factor = 8.0;
    });
    const auto phi = [](Model &m) { m.fusedQkv = m.fusedGateUp = m.ownHead = true; };
    add("phi3", [&](Model &m) {
        phi(m);
        m.rotated = 8;
        m.window = 9;
    });
    const auto longRope = [&](Model &m) {
        phi(m);
        m.architecture = "phi3";
        m.scaling = Model::Scaling::Long;
        m.shortFactors = {1.0F, 1.05F, 1.1F, 1.3F, 1.4F};
        m.longFactors = {1.0F, 1.5F, 3.0F, 6.0F, 12.0F};
    };
    add("phi3 longrope, long", [&](Model &m) {
        longRope(m);
        m.originalContext = 20;
        m.attentionFactor = 1.19;
    });
    add("phi3 longrope, short", [&](Model &m) {
        longRope(m);
        m.context = 512;
        m.originalContext = 128;
    });
    add("olmo2", [](Model &m) {
        m.where = Model::Where::After;
        m.headNorm = Model::HeadNorm::AllHeads;
    });
    const auto layerNorms = [](Model &m) {
        m.norm = Model::Norm::Layer;
        m.normBias = true;
        m.gated = false;
        m.curve = Model::Curve::GeluTanh;
    };
    add("starcoder2", [&](Model &m) {
        layerNorms(m);
        m.qkvBias = m.otherBias = true;
        m.window = 11;
    });
    add("falcon", [&](Model &m) {
        layerNorms(m);
        m.curve = Model::Curve::GeluErf;
        m.parallel = m.fusedQkv = true;
        m.kvHeads = 1;
    });
    add("falcon with two norms", [&](Model &m) {
        layerNorms(m);
        m.architecture = "falcon";
        m.curve = Model::Curve::GeluErf;
        m.parallel = m.secondNorm = m.fusedQkv = true;
    });
    add("gpt2", [&](Model &m) {
        layerNorms(m);
        m.places = Model::Places::Learned;
        m.fusedQkv = m.qkvBias = m.otherBias = true;
        m.kvHeads = m.heads;
    });
    add("bloom", [&](Model &m) {
        layerNorms(m);
        m.places = Model::Places::Slopes;
        m.fusedQkv = m.qkvBias = m.otherBias = m.embeddingNorm = true;
        m.kvHeads = m.heads;
    });
    add("mpt", [&](Model &m) {
        layerNorms(m);
        m.places = Model::Places::Slopes;
        m.curve = Model::Curve::GeluErf;
        m.fusedQkv = true;
        m.normBias = false;
        m.kvHeads = m.heads;
        m.slopeBias = 6.0;
    });
    add("mpt clamped, head norms", [&](Model &m) {
        layerNorms(m);
        m.architecture = "mpt";
        m.places = Model::Places::Slopes;
        m.curve = Model::Curve::GeluErf;
        m.fusedQkv = true;
        m.headNorm = Model::HeadNorm::AllHeads;
        m.clamp = 1.0;
        m.heads = m.kvHeads = 4;
    });
    return all;
}

} // namespace

std::vector<TinyArchitecture> tinyArchitectures()
{
    std::vector<TinyArchitecture> all = llamas();
    for (const TinyArchitecture &model : halfSplitModels())
        all.push_back(model);
    TinyArchitecture smollm3 = llama("smollm3");
    smollm3.architecture = "smollm3";
    smollm3.layers = 5;
    smollm3.unrotatedPeriod = 4;
    all.push_back(smollm3);
    return all;
}

TinyArchitecture tinyArchitectureNamed(std::string_view name)
{
    for (TinyArchitecture &model : tinyArchitectures()) {
        if (model.name == name)
            return model;
    }
    throw std::logic_error("no tiny model is called " + std::string(name));
}

} // namespace tokenloupe::test
