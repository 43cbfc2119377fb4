// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/work.h"

#include <vector>

struct CUgraph_st
{
    std::vector<cudahost::Work> nodes;
};

struct CUgraphExec_st
{
    std::vector<cudahost::Work> nodes;
};
