// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/checkedmath.h"
#include "engine/estimate/estimate.h"

#include <cstdint>
#include <string>

namespace tokenloupe {

/// What a card's runtime takes before anything of the model is there: driver context, kernels, handles. An
/// assumption; 200 to 500 MiB are seen.
constexpr std::uint64_t cardRuntimeBytes = std::uint64_t(320) << 20;
/// Workspace of the matrix library, one handle.
constexpr std::uint64_t matrixWorkspaceBytes = std::uint64_t(32) << 20;

/// Widths of a model that its buffers depend on.
struct BufferShape
{
    std::uint64_t embedding = 0;
    std::uint64_t heads = 0;
    std::uint64_t headSize = 0;      ///< of queries and keys
    std::uint64_t valueHeadSize = 0; ///< of values
    std::uint64_t feedForward = 0;   ///< numbers that one token has between the matrices, all experts used
    std::uint64_t vocabulary = 0;
    std::uint64_t keyWidth = 0; ///< most numbers of keys that a layer keeps of a token
    std::uint64_t valueWidth = 0;
    bool isLatent = false;
    std::vector<std::uint32_t> windows; ///< distinct ones of the layers, 0: all positions
};
BufferShape bufferShape(const ModelShape &shape);

struct BufferSettings
{
    std::uint64_t context = 0;
    std::uint64_t batch = 1;
    std::uint64_t microBatch = 1; ///< tokens of one forward call
    AttentionKind attention = AttentionKind::Flash;
    KvType keyType = KvType::F16;
    KvType valueType = KvType::F16;
    std::uint64_t cards = 1; ///< that share each matrix (SplitKind::Tensors)
};

/// Buffers of one card. The attention of a layer, its feed-forward part and the output head are never alive
/// together, so they use the same memory one after the other: the largest counts.
struct GpuBuffers
{
    CheckedSize attention;
    CheckedSize feedForward;
    CheckedSize output; ///< hidden states and logits of a micro-batch
    CheckedSize kept;   ///< logits kept for the sampler, a row for each sequence
    CheckedSize workspace;

    std::uint64_t activations() const; ///< the larger of attention and feed-forward part
    std::uint64_t logits() const;      ///< what the output needs beyond that, and the rows kept
    bool isValid() const;
};
GpuBuffers gpuBuffers(const BufferShape &shape, const BufferSettings &settings);

std::string activationWords(const BufferShape &shape, const BufferSettings &settings,
                            const GpuBuffers &buffers);
std::string logitWords(const BufferShape &shape, const BufferSettings &settings, const GpuBuffers &buffers);
std::string workspaceWords(const BufferShape &shape, const BufferSettings &settings);

} // namespace tokenloupe
