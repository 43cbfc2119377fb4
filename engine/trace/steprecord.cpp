// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/steprecord.h"

namespace tokenloupe {

std::string_view endReasonName(EndReason reason)
{
    switch (reason) {
    case EndReason::Stop:
        return "stop";
    case EndReason::Length:
        return "length";
    case EndReason::Context:
        return "context";
    case EndReason::Cancelled:
        return "cancelled";
    }
    return "stop";
}

} // namespace tokenloupe
