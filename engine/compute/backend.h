// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/logitstatistics.h"
#include "engine/base/operationtimes.h"
#include "engine/base/precision.h"
#include "engine/base/progress.h"
#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/kvmemory.h"
#include "engine/cache/kvview.h"
#include "engine/compute/backendkind.h"
#include "engine/compute/usablecores.h"
#include "engine/memory/deviceneeds.h"
#include "engine/model/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace tokenloupe {

/// A float32 matrix of activations in the backend's memory: rows × columns, row r at data + r · columns.
struct Activations
{
    float *data = nullptr;
    std::int64_t rows = 0;    ///< tokens
    std::int64_t columns = 0; ///< features
};

/// Memory of a backend; freed with the object.
class BackendBuffer
{
public:
    virtual ~BackendBuffer() = default;
    virtual std::byte *data() = 0;
    virtual std::uint64_t bytes() const = 0;
};

struct NormParams
{
    NormKind kind = NormKind::Rms;
    const Weight *gain = nullptr;
    const Weight *bias = nullptr; ///< may be absent
    float epsilon = 1e-5F;
    float gainOffset = 0.0F; ///< added to each gain
};

struct RopeParams
{
    RotaryStyle style = RotaryStyle::Interleaved;
    std::uint32_t headSize = 0;
    std::uint32_t rotated = 0;                 ///< values of each head that turn
    std::span<const float> inverseFrequencies; ///< rotated / 2 entries: angle = position · this
    float magnitude = 1.0F;                    ///< of sines and cosines
};

/// One product of a call that shares its input: y = W·x (+ bias).
struct Projection
{
    const Weight *weight = nullptr;
    const Weight *bias = nullptr; ///< may be absent
    Activations output;
};

struct AttentionParams
{
    LayerIndex layer;
    std::uint32_t heads = 0;
    std::uint32_t firstPosition =
        0;              ///< of the first row of q; causal: row r sees positions ≤ firstPosition + r
    float scale = 1.0F; ///< of q·k
    std::optional<std::uint32_t> window;
    float softCap = 0.0F;          ///< score = cap · tanh(score / cap); 0: none
    std::span<const float> slopes; ///< ALiBi, one a head: score -= slope · distance; empty: none
    RopeParams keyRotation;        ///< of keys that are stored unrotated; not looked at otherwise
    /// When given: (rows × heads × (firstPosition + rows)) softmax weights are written too.
    float *weights = nullptr;
};

/// The feed-forward of which each token takes a few of many.
struct ExpertParams
{
    std::span<const ExpertWeights> experts;
    std::uint32_t used = 0; ///< by each token
    ExpertWeighting weighting = ExpertWeighting::OfChosen;
    Activation activation = Activation::SiluGated;
    // Scratch, tokens · used rows each:
    Activations rows; ///< (embedding)
    Activations gate; ///< (expertFeedForward)
    Activations up;   ///< (expertFeedForward)
};

/// A forward pass before its operations come: what a backend may prepare, and by which it can tell that the
/// same operations on the same memory are to run again.
struct PassRequest
{
    std::span<const TokenId> tokens;
    std::uint32_t firstPosition = 0;    ///< of the first token
    std::int64_t logitRows = 1;         ///< 1: of the last token; 0: it ends before the head; else of all
    bool isTapped = false;              ///< somebody reads between the operations
    const KvView *view = nullptr;       ///< with room for the tokens; operations may be of some layers alone
    const std::byte *scratch = nullptr; ///< memory that the activations lie in
    const float *logits = nullptr;
};

enum class PassStart : std::uint8_t {
    Operations, ///< go on with the operations
    Replayed,   ///< the backend remembered all of them and has started them already
};
enum class PassEnd : std::uint8_t {
    Done,
    Again, ///< nothing of it ran: begin anew
};

/// A device that runs the coarse operations of a forward pass. Calls are in order; synchronize() waits for
/// all. Used by the engine thread only; the backend has threads of its own.
class Backend
{
public:
    virtual ~Backend() = default;

    virtual std::string name() const = 0; ///< "CPU"
    virtual std::string isa() const = 0;  ///< "AVX-512"
    virtual int threads() const = 0;
    virtual std::string deviceName() const { return {}; } ///< of a device apart from the CPU
    /// Something that works less well than it could, in words; mostly empty.
    virtual std::string remark() const { return {}; }
    /// At which a device's own memory can be read, by its clock and width; 0: not such a device.
    virtual double bytesPerSecond() const { return 0.0; }
    /// Buffers lie where the host reads and writes, so that operations may work in memory of their caller's.
    virtual bool isInHostMemory() const { return false; }
    /// The device failed: nothing more can be computed with it.
    virtual bool isLost() const { return false; }

    /// What a device would have to hold for such a session that computes a part of the model there; nothing
    /// for backends in the host's memory.
    virtual std::optional<DeviceNeeds> needs(const Model &, Precision, std::uint32_t /*batchTokens*/,
                                             std::uint32_t /*contextTokens*/,
                                             const ModelPart & /*part*/ = {}) const
    {
        return std::nullopt;
    }
    /// Measured now; nothing likewise, and where the device does not tell.
    virtual std::optional<DeviceMemoryUse> deviceMemory() const { return std::nullopt; }

    /// From the next pass on, operations are timed or not. Results are the same either way.
    virtual void measureOperations(Measuring) {}
    /// Of the passes since the last call. A pass is among them once its results were read.
    virtual OperationTimes takeOperationTimes() { return {}; }

    /// Of the one row of logits that the last pass gave, to be asked for once these were read; nothing where
    /// the host has to compute them, which says what is wrong with a row that has none.
    virtual std::optional<LogitStatistics> takeStatistics() { return std::nullopt; }

    /// Makes the weights of a part of a model ready for products of this precision. Without it they are
    /// exact.
    virtual Status prepare(const std::shared_ptr<const Model> &model, Precision precision,
                           const ModelPart &part = {}, Progress *progress = nullptr,
                           const std::stop_token &stop = {}) = 0;

    virtual Result<std::unique_ptr<BackendBuffer>> allocate(std::uint64_t bytes, std::string_view what) = 0;
    /// Memory for the blocks of caches that this backend works on.
    virtual KvAllocator kvAllocator() { return hostKvMemory; }
    /// Waits for what comes before.
    virtual Status copyToHost(const float *source, std::span<float> target) = 0;
    /// Floats of the backend's memory where the host can read them, valid until the next call; waits for what
    /// comes before.
    virtual Result<std::span<const float>> read(const float *source, std::size_t count) = 0;
    /// The other way round, in the order of the operations; `source` may change as soon as this returns.
    /// Not within a pass.
    virtual Status write(std::span<const float> source, float *target) = 0;
    virtual Status synchronize() = 0;

    /// A forward pass begins, unless it is replayed. One that fails on its way ends with abandonPass().
    /// Operations may also come without a pass around them.
    virtual Result<PassStart> beginPass(const PassRequest &) { return PassStart::Operations; }
    virtual Result<PassEnd> endPass() { return PassEnd::Done; }
    virtual void abandonPass() {}

    virtual Status embed(const Weight &table, std::span<const TokenId> ids, Activations output) = 0;
    /// target[r] += row (first + r) of the table.
    virtual Status addRows(const Weight &table, std::uint32_t first, Activations target) = 0;
    virtual Status norm(Activations input, const NormParams &params, Activations output) = 0;
    virtual Status multiply(Activations input, std::span<const Projection> projections) = 0;
    virtual Status rope(Activations values, std::uint32_t firstPosition, const RopeParams &params) = 0;
    virtual Status storeKv(Activations keys, Activations values, LayerIndex layer,
                           std::uint32_t firstPosition, const KvView &view) = 0;
    virtual Status attend(Activations queries, const KvView &view, const AttentionParams &params,
                          Activations output) = 0;
    /// output = activation(gate) · up, or activation(gate) for those without a gate, which do not look at
    /// `up`.
    virtual Status activate(Activation activation, Activations gate, Activations up, Activations output) = 0;
    /// output = Σ weight · expert(input) over the `used` experts that `router` gives the largest logits, in
    /// the order of their numbers; leaves the router's probabilities in `router`. `output` may be `input`.
    virtual Status experts(Activations input, Activations router, const ExpertParams &params,
                           Activations output) = 0;
    virtual Status scale(Activations values, float factor) = 0;
    virtual Status clamp(Activations values, float limit) = 0;     ///< to [-limit, limit]
    virtual Status softCap(Activations values, float cap) = 0;     ///< cap · tanh(value / cap)
    virtual Status add(Activations input, Activations target) = 0; ///< target += input
};

/// The CPU with `threads` threads (the caller's is one of them); 0: one for each core that this process may
/// use.
Result<std::shared_ptr<Backend>> makeCpuBackend(int threads);

} // namespace tokenloupe
