// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/vectortypes.h"

// Which CUDA thread runs. Set by the block runner whenever it changes.

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
constexpr int warpSize = 32;
