// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/gpucheck/devicetimes.h"

namespace tokenloupe::test {

nlohmann::json measureDevice(const DeviceTimesRequest &)
{
    throw NoDeviceError("built without CUDA");
}

} // namespace tokenloupe::test
