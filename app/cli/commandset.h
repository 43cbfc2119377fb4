// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/exitstatus.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"

#include <functional>

// Only what registers options includes the parser itself: it takes long to compile.
namespace CLI {
class App;
}

namespace tokenloupe::cli {

/// What the commands share while the command line is read: they register themselves, the one that was named
/// leaves what it will do in `chosen`.
struct CommandSet
{
    CLI::App &app;
    Terminal &terminal;
    Interrupt &interrupt;
    std::function<ExitStatus()> chosen;
};

void addInspect(CommandSet &set);
void addTokenize(CommandSet &set);
void addRender(CommandSet &set);
void addRun(CommandSet &set);
void addSample(CommandSet &set);
void addScore(CommandSet &set);
void addEstimate(CommandSet &set);
void addBench(CommandSet &set);

} // namespace tokenloupe::cli
