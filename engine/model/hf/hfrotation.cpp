// SPDX-License-Identifier: GPL-3.0-or-later
// The part of HfConfigReader that reads how queries and keys are turned: "rope_theta" and "rope_scaling" as
// version 4 of the library writes them, "rope_parameters" as version 5 does.
#include "engine/base/utf8.h"
#include "engine/model/hf/hfconfigreader.h"

#include <cmath>

namespace tokenloupe {

using nlohmann::json;

namespace {

constexpr std::uint64_t maxU32 = std::numeric_limits<std::uint32_t>::max();

const json &emptyObject()
{
    static const json empty = json::object();
    return empty;
}

} // namespace

void HfConfigReader::readRotation()
{
    ModelConfig &model = m_config.model;
    if (model.spec.positions != PositionKind::Rotary)
        return;
    const char *field = m_fields.has({"rope_parameters"}) ? "rope_parameters" : "rope_scaling";
    const json *object = m_fields.object(field);
    std::string path = std::string(field) + ".";
    const json *local = nullptr;
    if (object && object->contains("full_attention")) { // one for each kind of layer
        JsonFields kinds(*object, m_fields.source(), path);
        local = kinds.object("sliding_attention");
        object = kinds.object("full_attention");
        path += "full_attention.";
        m_fields.take(kinds);
    }
    JsonFields rope(object ? *object : emptyObject(), m_fields.source(), path);
    const double base = m_fields.positive({"rope_theta"}, m_family.ropeBase);
    model.ropeBase = static_cast<float>(rope.positive({"rope_theta"}, base));
    const double share =
        rope.positive({"partial_rotary_factor"}, m_fields.positive({"partial_rotary_factor"}, 1.0));
    model.ropeDimensions = static_cast<std::uint32_t>(std::min(share, 2.0) * model.headSize);
    if (rope.ok() && m_fields.ok() &&
        (model.ropeDimensions == 0 || model.ropeDimensions > model.headSize || model.ropeDimensions % 2 != 0))
        rope.fail(ErrorCode::BadFile, "partial_rotary_factor",
                  "expected an even number of rotated values up to the head size " +
                      std::to_string(model.headSize) + ", found " + std::to_string(model.ropeDimensions));
    readScaling(rope);
    m_fields.take(rope);
    if (model.spec.localRopeBase > 0.0F) {
        JsonFields localRope(local ? *local : emptyObject(), m_fields.source(),
                             std::string(field) + ".sliding_attention.");
        readLocalBase(localRope);
        m_fields.take(localRope);
    }
}

void HfConfigReader::readLocalBase(JsonFields &rope)
{
    const auto usual = static_cast<double>(m_config.model.spec.localRopeBase);
    const double base = m_fields.positive({"rope_local_base_freq"}, usual);
    m_config.model.localRopeBase = static_cast<float>(rope.positive({"rope_theta"}, base));
    const std::string type = rope.text({"rope_type", "type"}, "default");
    if (type != "default")
        rope.fail(ErrorCode::Unsupported, "rope_type",
                  "expected \"default\" for layers with a window, found " + quotedForMessage(type));
}

void HfConfigReader::readScaling(JsonFields &rope)
{
    ModelConfig &model = m_config.model;
    std::string type = rope.text({"rope_type", "type"}, "default");
    // Older names of the same: "su", and what the phi3 family called it at first.
    if (type == "su" || (type == "yarn" && rope.has({"short_factor"})))
        type = "longrope";
    if (type == "default")
        return;
    model.ropeScaling = type;
    RopeScalingDetails &details = model.ropeDetails;
    if (type == "linear" || type == "dynamic" || type == "llama3") {
        if (!rope.has({"factor"}))
            rope.fail(ErrorCode::BadFile, "factor", "expected a number above 0, found nothing");
        model.ropeScaleFactor = static_cast<float>(rope.positive({"factor"}, 1.0));
    }
    if (type == "linear" || type == "dynamic")
        return;
    if (type != "llama3" && type != "yarn" && type != "longrope") {
        rope.fail(ErrorCode::Unsupported, "rope_type",
                  "expected one of default, linear, dynamic, yarn, longrope, llama3, found " +
                      quotedForMessage(type));
        return;
    }
    const std::string_view original = "original_max_position_embeddings";
    const std::optional<std::uint64_t> usual =
        type == "longrope" ? m_fields.number({original}, 0, maxU32, isFamily("phi3") ? 4096 : 0) : 0;
    details.originalContext = static_cast<std::uint32_t>(rope.number({original}, 0, maxU32, usual));
    if (type == "yarn")
        return readYarn(rope);
    if (type == "longrope")
        return readLongRope(rope);
    details.lowFrequencyFactor = static_cast<float>(rope.positive({"low_freq_factor"}, 1.0));
    details.highFrequencyFactor = static_cast<float>(rope.positive({"high_freq_factor"}, 4.0));
    if (details.highFrequencyFactor <= details.lowFrequencyFactor)
        rope.fail(ErrorCode::BadFile, "high_freq_factor",
                  "expected a number above low_freq_factor, found " +
                      std::to_string(details.highFrequencyFactor));
}

void HfConfigReader::readYarn(JsonFields &rope)
{
    ModelConfig &model = m_config.model;
    RopeScalingDetails &details = model.ropeDetails;
    const double ratio =
        details.originalContext > 0 ? static_cast<double>(model.contextTrain) / details.originalContext : 1.0;
    const double factor = rope.positive({"factor"}, ratio);
    model.ropeScaleFactor = static_cast<float>(factor);
    details.betaFast = static_cast<float>(rope.positive({"beta_fast"}, 32.0));
    details.betaSlow = static_cast<float>(rope.positive({"beta_slow"}, 1.0));
    if (!rope.flag({"truncate"}, true))
        rope.fail(ErrorCode::Unsupported, "truncate",
                  "expected true: the ramp's ends are whole numbers here");
    const auto magnitude = [factor](double scale) {
        return factor > 1.0 ? 0.1 * scale * std::log(factor) + 1.0 : 1.0;
    };
    if (rope.has({"attention_factor"}))
        details.attentionFactor = static_cast<float>(rope.positive({"attention_factor"}, 1.0));
    else if (rope.real({"mscale"}, 0.0) != 0.0 && rope.real({"mscale_all_dim"}, 0.0) != 0.0)
        details.attentionFactor = static_cast<float>(magnitude(rope.real({"mscale"}, 1.0)) /
                                                     magnitude(rope.real({"mscale_all_dim"}, 1.0)));
}

void HfConfigReader::readLongRope(JsonFields &rope)
{
    ModelConfig &model = m_config.model;
    RopeScalingDetails &details = model.ropeDetails;
    const std::uint64_t pairs = model.ropeDimensions / 2;
    for (const char *field : {"short_factor", "long_factor"}) {
        if (!rope.has({field}))
            rope.fail(ErrorCode::BadFile, field,
                      "expected a list of " + std::to_string(pairs) + " numbers, found nothing");
    }
    m_config.shortFactors = rope.positives({"short_factor"}, pairs);
    m_config.longFactors = rope.positives({"long_factor"}, pairs);
    if (rope.has({"attention_factor"})) {
        details.attentionFactor = static_cast<float>(rope.positive({"attention_factor"}, 1.0));
    } else if (details.originalContext == 0 && rope.has({"factor"})) {
        const double factor = rope.positive({"factor"}, 1.0);
        const double context = std::max(2.0, static_cast<double>(model.contextTrain));
        details.attentionFactor =
            static_cast<float>(factor > 1.0 ? std::sqrt(1.0 + std::log(factor) / std::log(context)) : 1.0);
    }
}

} // namespace tokenloupe
