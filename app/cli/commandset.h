// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/exitstatus.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"

#include <CLI/CLI.hpp>
#include <functional>

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

/// A subcommand with what all of them have: --json, --version, its own options as a value that lives as long
/// as the parser, and `run` called with them.
template <class Options>
CLI::App *addCommand(CommandSet &set, const char *name, const char *description,
                     std::shared_ptr<Options> options, ExitStatus (*run)(CommandSet &, const Options &))
{
    CLI::App *command = set.app.add_subcommand(name, description);
    command->add_flag_callback(
        "--json", [options] { options->format = Format::JsonLines; }, "Results as JSON on standard output");
    command->set_version_flag("--version", set.app.version());
    command->callback(
        [&set, options, run] { set.chosen = [&set, options, run] { return run(set, *options); }; });
    return command;
}

} // namespace tokenloupe::cli
