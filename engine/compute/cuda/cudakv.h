// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvmemory.h"
#include "engine/cache/kvview.h"
#include "engine/compute/cuda/devicememory.h"
#include "kernels/cuda/deviceviews.h"

namespace tokenloupe {

/// A pool's bytes on a device. What happens to them happens in the order of the backend's stream.
Result<std::unique_ptr<KvMemory>> cudaKvMemory(const std::shared_ptr<CudaQueue> &queue, std::uint64_t bytes);

/// One layer of a cache as the kernels see it; `table`: its block numbers, on the device.
cuda::KvLayerView layerView(const KvView &view, LayerIndex layer, const std::int32_t *table);

} // namespace tokenloupe
