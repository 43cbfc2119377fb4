// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/operationtimes.h"
#include "engine/base/precision.h"
#include "engine/base/strongindex.h"
#include "engine/cache/keyphase.h"
#include "engine/cache/kvtype.h"
#include "engine/sampling/samplersettings.h"
#include "engine/tokenizer/prompttokens.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

enum class TokenOrigin : std::uint8_t { Drawn, Forced };

/// One drawn token: small, lossless, immutable once it has left the session. Holds causes; what a view shows
/// of the distribution is the sampler chain run again over them.
struct StepRecord
{
    StepRef ref;
    TokenId token;
    TokenOrigin origin = TokenOrigin::Drawn; ///< Forced: the user took this candidate
    bool endsTurn = false;
    std::uint32_t position = 0; ///< index of the token in the sequence (prompt tokens come first)

    float logit = 0.0F;       ///< raw
    double pRaw = 0.0;        ///< softmax of the raw logits
    double p = 0.0;           ///< at the draw
    std::uint32_t rank = 0;   ///< in the raw order, from 0
    double entropyBits = 0.0; ///< of the raw distribution
    double logSumExp = 0.0;   ///< of the raw logits
    double u = 0.0;           ///< the draw, in [0, 1)
    std::shared_ptr<const SamplerSettings> settings;

    double forwardMs =
        0.0;               ///< forward pass that gave these logits; 0 for the first step (the prefill did it)
    double sampleMs = 0.0; ///< chain, draw and statistics
    double otherMs = 0.0;  ///< the rest of the step: record, logit store
    OperationTimes operations;   ///< of that pass, when they were measured
    std::uint64_t readBytes = 0; ///< of weights, keys and values, that the pass read for this token; 0 for
                                 ///< the first step, and where a pass ran over more than one token
    std::uint32_t kvTokens = 0;  ///< in the cache when the token was drawn
    std::uint32_t kvBlocks = 0;
    std::uint64_t kvBytes = 0;        ///< of those blocks
    std::uint32_t computedTokens = 0; ///< that the forward pass ran over; 0 for the first step
    std::uint32_t droppedTokens =
        0;                          ///< that left the context, by the overflow policy, right before this step
    std::uint32_t droppedTurns = 0; ///< of the conversation, likewise
    std::uint64_t residentBytes = 0; ///< of the process; 0 when not measured at this step
};

/// What the numbers of a run depend on beside its text, and what computed it. Threads and batches are not
/// among them.
struct RunArithmetic
{
    Precision precision = Precision::Exact;
    KvType keyType = KvType::F32;
    KvType valueType = KvType::F32;
    KeyPhase keyPhase = KeyPhase::Rotated;
    std::string device;                        ///< "NVIDIA H200"; empty: the CPU
    std::optional<std::uint32_t> deviceLayers; ///< that it computed, where the CPU computed the rest

    bool operator==(const RunArithmetic &) const = default;
};

/// What a run started from.
struct RunRecord
{
    RunId run;
    std::uint64_t tag = 0; ///< of the request that asked for it (the window's), else 0
    std::vector<TokenId> prompt;
    std::shared_ptr<const PromptTokens> promptText; ///< null when the prompt was given as ids
    std::uint32_t reusedTokens = 0;                 ///< of the prompt, already in the cache
    std::uint32_t prefilledTokens = 0;
    std::uint32_t droppedTurns = 0;  ///< that did not fit and were left out of the prompt
    std::uint32_t droppedTokens = 0; ///< of the prompt, that had left the context again when it was read
    RunArithmetic arithmetic;
    StepRef parent; ///< of a branch: where it parted from which run; invalid: a run of its own
    double prefillMs = 0.0;
    OperationTimes operations;         ///< of the prefill, when they were measured
    double deviceBytesPerSecond = 0.0; ///< at which the device's memory can be read; 0: not known
    double tokenizeMs = 0.0;
    std::uint64_t seed = 0;
};

enum class EndReason : std::uint8_t { Stop, Length, Context, Cancelled };
std::string_view endReasonName(EndReason reason); ///< "stop", "length", "context", "cancelled"

} // namespace tokenloupe
