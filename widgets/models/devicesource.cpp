// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/devicesource.h"

#include "engine/session/session.h"

namespace tokenloupe {

DeviceSource cpuAlone()
{
    return {[] {
                return DeviceList{{}, "this program has the CPU alone"};
            },
            [](BackendKind kind, const std::string &, int threads) { return makeCpuOnly(kind, threads); }};
}

} // namespace tokenloupe
