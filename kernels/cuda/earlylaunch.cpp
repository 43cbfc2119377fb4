// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/earlylaunch.h"

#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

namespace tokenloupe::cuda {

namespace {

constexpr int firstMajor = 9; ///< compute capability 9.0

bool isWanted()
{
    const char *const said = std::getenv("TOKENLOUPE_CUDA_OVERLAP");
    return said == nullptr || std::strcmp(said, "0") != 0;
}

} // namespace

bool canBeginEarly(const void *kernel)
{
    struct Known
    {
        int device = -1;
        int major = 0;
        bool knowsHow = false;
    };
    thread_local Known known;
    int device = 0;
    int major = 0;
    if (!isWanted() || cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        major < firstMajor)
        return false;
    if (known.device != device || known.major != major) {
        // Machine code made at the start from PTX for older devices would not wait.
        cudaFuncAttributes attributes{};
        if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess)
            return false;
        known = {device, major, attributes.ptxVersion >= 10 * firstMajor};
    }
    return known.knowsHow;
}

} // namespace tokenloupe::cuda
