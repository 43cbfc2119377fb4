// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/weighttypes.h"

#include "engine/base/utf8.h"
#include "engine/estimate/nearestnames.h"
#include "engine/estimate/weightplan.h"
#include "kernels/formats/tensortype.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace tokenloupe {

namespace {

/// Types of other containers: what is not a matrix of a layer (embedding, output head, router) stays 16 bits.
struct LayerType
{
    std::string_view name;
    StoredFormat format;
};
constexpr std::array<LayerType, 5> layerTypes = {{
    {"FP8", {"FP8", 1, 1.0}},
    {"INT8", {"INT8", 1, 1.0, 4}}, // a float32 scale for each row
    // 128 values share a 16-bit scale and a 4-bit zero point
    {"INT4", {"INT4", 128, 66.5}},
    // 64 values share an 8-bit scale; 256 scales share a float32
    {"NF4", {"NF4", 64, 33.015625}},
    {"MXFP4", {"MXFP4", 32, 17.0}},
}};

const LayerType *layerType(std::string_view name)
{
    const auto found = std::find_if(layerTypes.begin(), layerTypes.end(),
                                    [name](const LayerType &type) { return type.name == name; });
    return found == layerTypes.end() ? nullptr : found;
}

/// Types that hold every matrix alike, whatever its place.
constexpr std::array<std::string_view, 3> uniformTypes = {"F32", "F16", "BF16"};

std::string normalized(std::string_view name)
{
    std::string upper;
    for (const char c : name)
        upper += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    // Other spellings of the same.
    static constexpr std::pair<std::string_view, std::string_view> aliases[] = {
        {"FP16", "F16"},    {"FP32", "F32"},    {"FLOAT16", "F16"}, {"FLOAT32", "F32"}, {"BFLOAT16", "BF16"},
        {"AWQ", "INT4"},    {"GPTQ", "INT4"},   {"W4A16", "INT4"},  {"W8A8", "INT8"},   {"F8", "FP8"},
        {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}, {"Q3_K", "Q3_K_M"},
    };
    for (const auto &[from, to] : aliases) {
        if (upper == from)
            return std::string(to);
    }
    return upper;
}

bool isMatrix(const ShapeTensor &tensor)
{
    return tensor.rows > 1 && tensor.tensorClass != TensorClass::Norms &&
           tensor.role.find('.') == std::string::npos;
}

/// Matrices that quantisers leave alone: so small or so decisive that coarse values are not worth it.
bool isLeftAlone(const ShapeTensor &tensor)
{
    const std::string &role = tensor.role;
    return role == "ffn_gate_inp" || role == "position_embd" || role == "token_types" ||
           role == "ssm_conv1d" || role == "ssm_a" || role == "ssm_d" || role.starts_with("shortconv.conv") ||
           role.starts_with("time_mix_");
}

class WeightPlanner
{
public:
    enum class Source : std::uint8_t { File, Rules };
    WeightPlanner(const ModelShape &shape, std::string type, Source source)
        : m_shape(shape)
        , m_source(source)
        , m_context(weightContextOf(shape))
        , m_isGguf(shape.storedBytes() > 0)
    {
        m_plan.type = std::move(type);
        for (const ShapeTensor &tensor : shape.tensors) {
            if (tensor.role == "attn_v")
                m_valueLayers.insert(m_valueLayers.end(), tensor.layers.begin(), tensor.layers.end());
        }
        std::sort(m_valueLayers.begin(), m_valueLayers.end());
    }

    Result<WeightPlan> plan();

private:
    struct Tally
    {
        std::string_view format;
        double bits = 0.0;
        std::uint64_t values = 0;
    };

    void planTensor(const ShapeTensor &tensor);
    void planStored();
    void add(const ShapeTensor &tensor, std::uint64_t count, const StoredFormat &format);
    void count(const ShapeTensor &tensor, std::uint64_t values, double bytes);
    const StoredFormat &plainFormat(const ShapeTensor &tensor) const;
    WeightPlace placeOf(const ShapeTensor &tensor, std::uint32_t layer) const;
    std::string howText() const;

    const ModelShape &m_shape;
    Source m_source;
    WeightContext m_context;
    bool m_isGguf; ///< made from a file that keeps its vectors as float32
    std::vector<std::uint32_t> m_valueLayers;
    std::array<double, 8> m_bytes{};
    std::array<std::uint64_t, 8> m_values{};
    std::vector<Tally> m_tallies;
    double m_activeBytes = 0.0;
    WeightPlan m_plan;
};

void WeightPlanner::count(const ShapeTensor &tensor, std::uint64_t values, double bytes)
{
    const auto place = static_cast<std::size_t>(tensor.tensorClass);
    m_values[place] += values;
    m_bytes[place] += bytes;
    m_activeBytes += bytes * tensor.activeShare;
}

void WeightPlanner::add(const ShapeTensor &tensor, std::uint64_t copies, const StoredFormat &format)
{
    const std::uint64_t blocks = (tensor.columns + format.blockValues - 1) / format.blockValues;
    const double rowBytes =
        static_cast<double>(blocks) * format.blockBytes + static_cast<double>(format.rowBytes);
    const std::uint64_t values = tensor.rows * tensor.columns * copies;
    count(tensor, values, rowBytes * static_cast<double>(tensor.rows) * static_cast<double>(copies));
    const auto tally = std::find_if(m_tallies.begin(), m_tallies.end(),
                                    [&](const Tally &known) { return known.format == format.name; });
    if (tally == m_tallies.end())
        m_tallies.push_back({format.name, format.bitsPerValue(), values});
    else
        tally->values += values;
}

const StoredFormat &WeightPlanner::plainFormat(const ShapeTensor &tensor) const
{
    // Containers of 16 bits hold vectors like the rest; quantisers write them as float32.
    const bool isUniform =
        std::find(uniformTypes.begin(), uniformTypes.end(), m_plan.type) != uniformTypes.end();
    if (isUniform && (!m_isGguf || (isMatrix(tensor) && !isLeftAlone(tensor))))
        return *storedFormat(m_plan.type);
    if (layerType(m_plan.type) && !m_isGguf)
        return *storedFormat("BF16");
    return *storedFormat("F32");
}

WeightPlace WeightPlanner::placeOf(const ShapeTensor &tensor, std::uint32_t layer) const
{
    WeightPlace place{tensor.role, layer, std::max(m_context.layers, 1U), layer};
    if (tensor.role == "attn_v") {
        place.among = static_cast<std::uint32_t>(m_valueLayers.size());
        place.index = static_cast<std::uint32_t>(
            std::lower_bound(m_valueLayers.begin(), m_valueLayers.end(), layer) - m_valueLayers.begin());
    }
    return place;
}

void WeightPlanner::planTensor(const ShapeTensor &tensor)
{
    const bool isUniform =
        std::find(uniformTypes.begin(), uniformTypes.end(), m_plan.type) != uniformTypes.end();
    if (isUniform || !isMatrix(tensor) || isLeftAlone(tensor))
        return add(tensor, tensor.count, plainFormat(tensor));
    if (const LayerType *type = layerType(m_plan.type)) {
        const bool isOfLayer = !tensor.layers.empty();
        // Models with experts are published with only those in four bits.
        const bool isMeant =
            type->name != "MXFP4" || m_context.experts == 0 || tensor.role.ends_with("_exps");
        return add(tensor, tensor.count, isOfLayer && isMeant ? type->format : *storedFormat("BF16"));
    }
    if (tensor.layers.empty())
        return add(tensor, tensor.count,
                   *storedFormat(mixtureType(m_plan.type, m_context, placeOf(tensor, 0), tensor.columns)));
    const std::uint64_t copies = tensor.count / tensor.layers.size();
    for (const std::uint32_t layer : tensor.layers)
        add(tensor, copies,
            *storedFormat(mixtureType(m_plan.type, m_context, placeOf(tensor, layer), tensor.columns)));
}

void WeightPlanner::planStored()
{
    for (const ShapeTensor &tensor : m_shape.tensors)
        count(tensor, tensor.values(), static_cast<double>(tensor.storedBytes));
}

std::string WeightPlanner::howText() const
{
    std::string text;
    for (const Tally &tally : m_tallies) {
        char part[96];
        std::snprintf(part, sizeof part, "%s%.6g G values \u00D7 %.4g bits (", text.empty() ? "" : " + ",
                      static_cast<double>(tally.values) / 1e9, tally.bits);
        text += part;
        text += tally.format;
        text += ')';
    }
    return text;
}

Result<WeightPlan> WeightPlanner::plan()
{
    if (m_source == Source::File) {
        planStored();
    } else {
        for (const ShapeTensor &tensor : m_shape.tensors)
            planTensor(tensor);
    }

    double bytes = 0.0;
    std::uint64_t values = 0;
    for (std::size_t i = 0; i < m_bytes.size(); ++i) {
        if (m_values[i] == 0)
            continue;
        const auto rounded = static_cast<std::uint64_t>(m_bytes[i] + 0.5);
        m_plan.classes.push_back({static_cast<TensorClass>(i), m_values[i], rounded});
        bytes += m_bytes[i];
        values += m_values[i];
        m_plan.bytes += rounded;
    }
    m_plan.activeBytes = m_activeBytes;
    m_plan.bitsPerWeight = values > 0 ? 8.0 * bytes / static_cast<double>(values) : 0.0;
    m_plan.how = m_source == Source::File ? "the tensors of the file as they are" : howText();
    return m_plan;
}

} // namespace

const StoredFormat *storedFormat(std::string_view name)
{
    static const std::vector<StoredFormat> formats = [] {
        std::vector<StoredFormat> all;
        for (std::uint32_t id = 0; id <= static_cast<std::uint32_t>(TensorType::NVFP4); ++id) {
            if (const TensorTypeTraits *traits = tensorTypeTraits(id))
                all.push_back({traits->name, traits->blockValues, static_cast<double>(traits->blockBytes)});
        }
        return all;
    }();
    const auto found = std::find_if(formats.begin(), formats.end(),
                                    [name](const StoredFormat &format) { return format.name == name; });
    return found == formats.end() ? nullptr : &*found;
}

WeightContext weightContextOf(const ModelShape &shape)
{
    WeightContext context;
    context.architecture = shape.architecture;
    context.layers = shape.layers;
    context.experts = shape.experts;
    context.hasOutput = std::any_of(shape.tensors.begin(), shape.tensors.end(),
                                    [](const ShapeTensor &tensor) { return tensor.role == "output"; });
    if (shape.latentRank == 0) {
        for (const KvLayerShape &layer : shape.kvLayers) {
            if (layer.heads > 0) {
                context.queriesPerKey = std::max<std::uint64_t>(shape.heads / layer.heads, 1);
                break;
            }
        }
    }
    context.isLarge = shape.layers == 80 && context.queriesPerKey > 1;
    return context;
}

std::vector<std::string> weightTypeNames()
{
    std::vector<std::string> names = {"stored"};
    names.insert(names.end(), uniformTypes.begin(), uniformTypes.end());
    for (const LayerType &type : layerTypes)
        names.emplace_back(type.name);
    for (const std::string_view name : mixtureNames())
        names.emplace_back(name);
    return names;
}

Result<WeightPlan> planWeights(const ModelShape &shape, std::string_view type)
{
    std::string name = normalized(type);
    const bool isStored = name == "STORED";
    if (isStored && shape.storedBytes() == 0)
        return makeError(ErrorCode::InvalidArgument, "plan weights",
                         "type \"stored\": expected a shape made from a file, found one without");
    if (isStored)
        return WeightPlanner(shape, "stored", WeightPlanner::Source::File).plan();
    const std::vector<std::string> names = weightTypeNames();
    if (std::find(names.begin(), names.end(), name) == names.end())
        return makeError(ErrorCode::InvalidArgument, "plan weights",
                         "weight type " + quotedForMessage(type) +
                             " is not known; near: " + nearestNamesText(type, names));
    // What the file is already need not be made again.
    const auto source = shape.storedBytes() > 0 && name == shape.storedType ? WeightPlanner::Source::File
                                                                            : WeightPlanner::Source::Rules;
    return WeightPlanner(shape, std::move(name), source).plan();
}

} // namespace tokenloupe
