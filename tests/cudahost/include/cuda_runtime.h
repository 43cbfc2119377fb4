// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// In tests this stands where CUDA's header of the same name is for the program.

#include "tests/cudahost/keywords.h"
#include "tests/cudahost/runtimetypes.h"
#include "tests/cudahost/vectortypes.h"

#include "tests/cudahost/atomics.h"
#include "tests/cudahost/blockintrinsics.h"
#include "tests/cudahost/integerintrinsics.h"
#include "tests/cudahost/launch.h"
#include "tests/cudahost/mathintrinsics.h"
#include "tests/cudahost/runtimeapi.h"
#include "tests/cudahost/threadvariables.h"
