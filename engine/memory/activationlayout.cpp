// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/activationlayout.h"

#include "engine/base/checkedmath.h"

#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::uint64_t lineFloats = 16;

/// Hands out places one after the other.
class Places
{
public:
    std::uint64_t place(CheckedSize floats)
    {
        const std::uint64_t start = m_end.value();
        m_end += floats.roundedUp(lineFloats);
        return start;
    }
    void rewindTo(std::uint64_t start) { m_end = CheckedSize(start); }
    CheckedSize end() const { return m_end; }

private:
    CheckedSize m_end;
};

void placeFeedForward(const ModelConfig &config, CheckedSize batch, Places &places, ActivationLayout &layout)
{
    if (config.experts > 0) {
        const CheckedSize rows = batch * config.expertsUsed;
        layout.router = places.place(batch * config.experts);
        layout.expertRows = places.place(rows * config.embedding);
        layout.gate = places.place(rows * config.expertFeedForward);
        layout.up = places.place(rows * config.expertFeedForward);
        return;
    }
    if (config.spec.isGated())
        layout.gate = places.place(batch * config.feedForward);
    layout.up = places.place(batch * config.feedForward);
}

} // namespace

Result<ActivationLayout> activationLayout(const ModelConfig &config, std::uint32_t batchTokens)
{
    if (batchTokens == 0)
        return makeError(ErrorCode::InvalidArgument, "activations", "a batch of 0 tokens");
    if (config.embedding == 0 || config.heads == 0 || config.headSize == 0 || config.valueHeadSize == 0 ||
        config.kvHeads.empty())
        return makeError(ErrorCode::InvalidArgument, "activations", "the model's shape has a size of 0");

    const CheckedSize batch(batchTokens);
    const std::uint32_t kvHeads = *std::max_element(config.kvHeads.begin(), config.kvHeads.end());
    ActivationLayout layout;
    Places places;
    layout.residual = places.place(batch * config.embedding);
    layout.work = places.place(batch * config.embedding);
    if (config.spec.residual == ResidualKind::Parallel)
        layout.parallel = places.place(batch * config.embedding);
    const CheckedSize shared = places.end();
    layout.query = places.place(batch * config.heads * config.headSize);
    layout.key = places.place(batch * kvHeads * config.headSize);
    layout.value = places.place(batch * kvHeads * config.valueHeadSize);
    layout.attention = places.place(batch * config.heads * config.valueHeadSize);
    const CheckedSize attentionEnd = places.end();
    places.rewindTo(shared.value());
    placeFeedForward(config, batch, places, layout);
    const CheckedSize bytes =
        CheckedSize(std::max(attentionEnd.value(), places.end().value())) * sizeof(float);
    if (!attentionEnd.isValid() || !places.end().isValid() || !bytes.isValid())
        return makeError(ErrorCode::InvalidArgument, "activations",
                         std::to_string(batchTokens) + " tokens of width " +
                             std::to_string(config.embedding) + " are more than this machine can address");
    layout.total = bytes.value() / sizeof(float);
    return layout;
}

AttentionScratch attentionScratch(std::uint32_t headSize, std::uint32_t valueHeadSize)
{
    AttentionScratch scratch;
    Places places;
    scratch.keyStride = CheckedSize(headSize).roundedUp(lineFloats).value();
    scratch.sumStride = lineFloats + CheckedSize(valueHeadSize).roundedUp(lineFloats).value();
    scratch.queries = places.place(CheckedSize(attentionLanes) * scratch.keyStride);
    scratch.scores = places.place(CheckedSize(attentionLanes) * attentionPiece);
    scratch.sums = places.place(CheckedSize(attentionLanes) * scratch.sumStride);
    scratch.totals = places.place(CheckedSize(attentionLanes) * scratch.sumStride);
    scratch.keys = places.place(CheckedSize(attentionChunk) * scratch.keyStride);
    scratch.rows = places.place(CheckedSize(attentionChunk) * std::max(headSize, valueHeadSize));
    scratch.total = places.end().value();
    return scratch;
}

} // namespace tokenloupe
