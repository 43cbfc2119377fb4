// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/kvview.h"
#include "engine/model/model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tokenloupe {

enum class Precision : std::uint8_t { Exact };
std::string_view precisionName(Precision precision);

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

struct RopeParams
{
    RotaryStyle style = RotaryStyle::Interleaved;
    std::uint32_t headSize = 0;
    std::uint32_t rotated = 0;                 ///< values of each head that turn
    std::span<const float> inverseFrequencies; ///< rotated / 2 entries: angle = position · this
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
    RopeParams keyRotation; ///< of keys that are stored unrotated; not looked at otherwise
    /// When given: (rows × heads × (firstPosition + rows)) softmax weights are written too.
    float *weights = nullptr;
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

    virtual Result<std::unique_ptr<BackendBuffer>> allocate(std::uint64_t bytes, std::string_view what) = 0;
    virtual Status copyToHost(const float *source, std::span<float> target) = 0;
    /// Where the host can read backend memory in place after synchronize(); nullptr where it cannot.
    virtual const float *hostView(const float *) const { return nullptr; }
    virtual Status synchronize() = 0;

    virtual Status embed(const Weight &table, std::span<const TokenId> ids, Activations output) = 0;
    virtual Status rmsNorm(Activations input, const Weight &weight, float epsilon, Activations output) = 0;
    virtual Status multiply(Activations input, std::span<const Projection> projections) = 0;
    virtual Status rope(Activations values, std::uint32_t firstPosition, const RopeParams &params) = 0;
    virtual Status storeKv(Activations keys, Activations values, LayerIndex layer,
                           std::uint32_t firstPosition, const KvView &view) = 0;
    virtual Status attend(Activations queries, const KvView &view, const AttentionParams &params,
                          Activations output) = 0;
    virtual Status siluMultiply(Activations gate, Activations up, Activations output) = 0;
    virtual Status add(Activations input, Activations target) = 0; ///< target += input
};

/// The CPU with `threads` threads (the caller's is one of them); 0: one for each core that this process may
/// use.
Result<std::shared_ptr<Backend>> makeCpuBackend(int threads);
int usableCores();

} // namespace tokenloupe
