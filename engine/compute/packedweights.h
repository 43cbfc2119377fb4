// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/base/result.h"
#include "engine/compute/packedmemory.h"
#include "engine/compute/workerpool.h"
#include "engine/model/model.h"
#include "kernels/cpu/packedformat.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// The matrices of a model in the layout of the fast kernels, in one stretch of memory. They take the place
/// of the file's: once a matrix is packed, the pages of the mapping that held it are given back. Immutable;
/// may be shared by threads.
class PackedWeights
{
public:
    /// Packs what the fast kernels know of a part; the rest stays as the file has it. Backends of the same
    /// part share one copy. Progress counts bytes.
    static Result<std::shared_ptr<const PackedWeights>> of(const std::shared_ptr<const Model> &model,
                                                           const ModelPart &part, WorkerPool &pool,
                                                           Progress *progress = nullptr,
                                                           const std::stop_token &stop = {});

    /// Null for a weight that is not packed.
    const PackedMatrix *find(const Weight &weight) const;
    std::uint64_t bytes() const { return m_bytes; }

private:
    PackedWeights() = default;
    static Result<std::shared_ptr<PackedWeights>> create(const Model &model, const ModelPart &part,
                                                         WorkerPool &pool, Progress *progress,
                                                         const std::stop_token &stop);

    std::unique_ptr<PackedMemory> m_memory; // null: nothing is packed
    std::uint64_t m_bytes = 0;
    std::unordered_map<const std::byte *, PackedMatrix> m_matrices; // by where the file's form begins
};

/// What PackedWeights will hold of a part of a model.
struct PackingPlan
{
    std::vector<const Weight *> matrices; ///< each once
    std::uint64_t fileBytes = 0;          ///< of them as the file has them
    std::uint64_t packedBytes = 0;
};
PackingPlan packingPlan(const Model &model, const ModelPart &part = {});
/// The matrices of one type that products run over.
struct WeightTypeUse
{
    TensorType type = TensorType::F32;
    std::uint64_t bytes = 0; ///< as the file has them
    bool isPackable = false; ///< there is a kernel of integers: in fast precision it is used
};
/// Of all types, the largest first. Each matrix counts once; what is only looked up or added is none.
std::vector<WeightTypeUse> weightTypeUses(const Model &model);
/// Gives the pages of the file's form of those matrices back to the system: after something else than the
/// packed form was computed with. They are read again when they are touched.
void releaseFileForm(const Model &model);
/// Of a part, what was quantised at load and is not packed: it stays in memory as it is.
std::uint64_t quantizedBytesBeside(const Model &model, const PackingPlan &plan, const ModelPart &part = {});

} // namespace tokenloupe
