// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/commandset.h"

#include <CLI/CLI.hpp>
#include <memory>

namespace tokenloupe::cli {

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
