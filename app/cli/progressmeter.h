// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"

#include <string>
#include <thread>

namespace tokenloupe::cli {

/// "loading 45 %" on standard error while work goes on, only when that is a terminal; gone when the object
/// is.
class ProgressMeter
{
public:
    explicit ProgressMeter(std::string label);
    ~ProgressMeter();
    ProgressMeter(const ProgressMeter &) = delete;
    ProgressMeter &operator=(const ProgressMeter &) = delete;

    Progress *progress() { return &m_progress; }

private:
    std::string m_label;
    Progress m_progress;
    std::jthread m_thread; // last: stops before what it reads goes
};

} // namespace tokenloupe::cli
