// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimatebuffers.h"

#include "engine/estimate/estimatewords.h"

#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::uint64_t floatBytes = 4;
constexpr std::uint64_t halfBytes = 2;

std::uint64_t shared(std::uint64_t number, std::uint64_t cards)
{
    return (number + cards - 1) / cards;
}

/// Most positions that a token of any layer sees of its sequence.
std::uint64_t visible(const BufferShape &shape, const BufferSettings &settings)
{
    std::uint64_t most = 0;
    for (const std::uint32_t window : shape.windows) {
        const std::uint64_t seen =
            window == 0 ? settings.context
                        : std::min<std::uint64_t>(settings.context, window + settings.microBatch);
        most = std::max(most, seen);
    }
    return most;
}

bool isHalf(KvType type)
{
    return type == KvType::F16 || type == KvType::BF16;
}

/// Numbers of one token that are there as halves while attention of a layer runs on a quantised cache.
std::uint64_t convertedWidth(const BufferShape &shape, const BufferSettings &settings)
{
    if (settings.attention != AttentionKind::Flash)
        return 0;
    return (isHalf(settings.keyType) ? 0 : shared(shape.keyWidth, settings.cards)) +
           (isHalf(settings.valueType) ? 0 : shared(shape.valueWidth, settings.cards));
}

std::uint64_t widestOf(const ModelShape &shape, std::string_view role)
{
    std::uint64_t widest = 0;
    for (const ShapeTensor &tensor : shape.tensors) {
        if (tensor.role == role)
            widest = std::max(widest, tensor.columns);
    }
    return widest;
}

} // namespace

BufferShape bufferShape(const ModelShape &shape)
{
    BufferShape out;
    out.embedding = shape.embedding;
    out.heads = shape.heads;
    out.headSize = shape.headSize;
    out.vocabulary = shape.vocabulary;
    out.isLatent = shape.latentRank > 0;
    // The output projection reads all heads' values, which need not be as wide as the keys.
    const std::uint64_t values = widestOf(shape, "attn_output");
    out.valueHeadSize = shape.heads > 0 && values >= shape.heads ? values / shape.heads : shape.headSize;
    const std::uint64_t dense = widestOf(shape, "ffn_down");
    const std::uint64_t experts = std::uint64_t(shape.expertsUsed) * widestOf(shape, "ffn_down_exps") +
                                  widestOf(shape, "ffn_down_shexp");
    out.feedForward = std::max(dense, experts);
    if (out.feedForward == 0)
        out.feedForward = shape.feedForward;
    // A recurrent layer's input matrix gives both what runs through the state and its gate.
    for (const ShapeTensor &tensor : shape.tensors) {
        if (tensor.tensorClass == TensorClass::Recurrent)
            out.feedForward = std::max(out.feedForward, (tensor.rows + 1) / 2);
    }
    for (const KvLayerShape &layer : shape.kvLayers) {
        if (layer.heads == 0)
            continue;
        out.keyWidth = std::max(out.keyWidth, std::uint64_t(layer.heads) * layer.keySize);
        out.valueWidth = std::max(out.valueWidth, std::uint64_t(layer.heads) * layer.valueSize);
        if (std::find(out.windows.begin(), out.windows.end(), layer.window) == out.windows.end())
            out.windows.push_back(layer.window);
    }
    return out;
}

std::uint64_t GpuBuffers::activations() const
{
    return std::max(attention.value(), feedForward.value());
}

std::uint64_t GpuBuffers::logits() const
{
    const std::uint64_t layers = activations();
    const std::uint64_t more = output.value() > layers ? output.value() - layers : 0;
    return more + kept.value();
}

bool GpuBuffers::isValid() const
{
    return attention.isValid() && feedForward.isValid() && output.isValid() && kept.isValid() &&
           workspace.isValid();
}

GpuBuffers gpuBuffers(const BufferShape &shape, const BufferSettings &settings)
{
    const CheckedSize tokens(settings.microBatch);
    const CheckedSize seen(visible(shape, settings));
    const CheckedSize hidden = tokens * 2 * shape.embedding * floatBytes;
    const std::uint64_t heads = shared(shape.heads, settings.cards);
    GpuBuffers buffers;
    buffers.attention =
        hidden + tokens * 2 * heads * std::max(shape.headSize, shape.valueHeadSize) * floatBytes;
    if (settings.attention == AttentionKind::Flash)
        buffers.attention += tokens * seen * halfBytes;
    else
        buffers.attention += tokens * seen * (heads + 1) * floatBytes;
    if (shape.isLatent)
        buffers.attention += seen * heads * (shape.headSize + shape.valueHeadSize) * halfBytes;
    buffers.feedForward = hidden + tokens * 2 * shared(shape.feedForward, settings.cards) * floatBytes;
    const std::uint64_t vocabulary = shared(shape.vocabulary, settings.cards);
    buffers.output = hidden + tokens * vocabulary * floatBytes;
    buffers.kept = CheckedSize(settings.batch) * vocabulary * floatBytes;
    buffers.workspace =
        CheckedSize(matrixWorkspaceBytes) + seen * convertedWidth(shape, settings) * halfBytes;
    return buffers;
}

std::string activationWords(const BufferShape &shape, const BufferSettings &settings,
                            const GpuBuffers &buffers)
{
    const std::string tokens = plural(settings.microBatch, "token") + " of a micro-batch × ";
    const std::string hidden = "2 × " + countText(shape.embedding) + " hidden";
    if (buffers.feedForward.value() > buffers.attention.value())
        return tokens + "(" + hidden + " + 2 × " + countText(shared(shape.feedForward, settings.cards)) +
               " of the feed-forward part) × 4 bytes; attention needs less: " +
               sizeText(buffers.attention.value());
    const std::uint64_t heads = shared(shape.heads, settings.cards);
    const std::string seen = countText(visible(shape, settings)) + " positions";
    std::string words = tokens + "(" + hidden + " + 2 × " + countText(heads) + " heads × " +
                        countText(std::max(shape.headSize, shape.valueHeadSize)) + ") × 4 bytes";
    if (settings.attention == AttentionKind::Flash)
        words += " + mask of " + seen + " × " + plural(settings.microBatch, "token") + " × 2 bytes";
    else
        words += " + scores of " + plural(heads, "head") + " and a mask × " +
                 plural(settings.microBatch, "token") + " × " + seen + " × 4 bytes";
    if (shape.isLatent)
        words += " + keys and values expanded out of the latent ones of one layer: " + seen + " × " +
                 plural(heads, "head") + " × (" + countText(shape.headSize) + " + " +
                 countText(shape.valueHeadSize) + ") × 2 bytes";
    return words + "; the feed-forward part needs less: " + sizeText(buffers.feedForward.value());
}

std::string logitWords(const BufferShape &shape, const BufferSettings &settings, const GpuBuffers &buffers)
{
    const std::string vocabulary = countText(shared(shape.vocabulary, settings.cards)) + " tokens";
    std::string words = plural(settings.batch, "row") + " kept × " + vocabulary + " × 4 bytes; ";
    words += plural(settings.microBatch, "row") + " of a micro-batch × " + vocabulary +
             " × 4 bytes and hidden states, " + sizeText(buffers.output.value());
    const std::uint64_t layers = buffers.activations();
    if (buffers.output.value() <= layers)
        return words + ", lie over the activations and cost nothing";
    return words + ", of which " + sizeText(layers) + " lie over the activations";
}

std::string workspaceWords(const BufferShape &shape, const BufferSettings &settings)
{
    std::string words = sizeText(matrixWorkspaceBytes) + " of the matrix library";
    if (const std::uint64_t width = convertedWidth(shape, settings); width > 0)
        words += " + keys and values of one layer as halves: " + countText(visible(shape, settings)) +
                 " positions × " + countText(width) + " numbers × 2 bytes";
    return words;
}

} // namespace tokenloupe
