// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commandset.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <new>
#include <set>

namespace tokenloupe::cli {

namespace {

/// Values may begin with a minus sign ("--prompt '- a list'", "-n -5"), which the parser takes for an option:
/// such a value is tied to its option with '='. Short options become their long form.
std::vector<std::string> tiedArguments(int argc, char *argv[])
{
    static const std::set<std::string> takeValues{"--prompt",
                                                  "--prompt-file",
                                                  "--ids",
                                                  "--chat",
                                                  "--temp",
                                                  "--top-k",
                                                  "--top-p",
                                                  "--min-p",
                                                  "--repeat-penalty",
                                                  "--repeat-last-n",
                                                  "--presence-penalty",
                                                  "--frequency-penalty",
                                                  "--logit-bias",
                                                  "--samplers",
                                                  "--seed",
                                                  "--threads",
                                                  "--context",
                                                  "--top",
                                                  "--vars",
                                                  "--file",
                                                  "--jsonl",
                                                  "--messages",
                                                  "--template",
                                                  "--predict",
                                                  "--depth",
                                                  "--batch",
                                                  "--micro-batch",
                                                  "--block-tokens",
                                                  "--beams",
                                                  "--vram",
                                                  "--host-memory",
                                                  "--gpu",
                                                  "--shape",
                                                  "--weights"};
    std::vector<std::string> arguments;
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument == "--") {
            arguments.insert(arguments.end(), argv + i, argv + argc);
            break;
        }
        const bool hasNext = i + 1 < argc;
        if (hasNext && argv[i + 1][0] == '-' && argv[i + 1][1] != '\0') {
            if (argument == "-n")
                argument = "--predict";
            if (takeValues.count(argument) > 0) {
                arguments.push_back(argument + "=" + argv[++i]);
                continue;
            }
        }
        arguments.push_back(std::move(argument));
    }
    return arguments;
}

ExitStatus runProgram(int argc, char *argv[])
{
    Terminal terminal;
    Interrupt interrupt;
    CLI::App app("Runs a language model and shows how every token came to be.", "tokenloupe-cli");
    app.set_version_flag("--version", "tokenloupe-cli " TOKENLOUPE_VERSION);
    app.require_subcommand(1);
    CommandSet commands{app, terminal, interrupt, {}};
    addInspect(commands);
    addTokenize(commands);
    addRender(commands);
    addRun(commands);
    addSample(commands);
    addScore(commands);
    addEstimate(commands);
    addBench(commands);

    std::vector<std::string> arguments = tiedArguments(argc, argv);
    if (!arguments.empty() && arguments[0].rfind('-', 0) != 0) {
        std::string names;
        bool known = false;
        for (const CLI::App *command : app.get_subcommands({})) {
            names += (names.empty() ? "" : ", ") + command->get_name();
            known = known || command->get_name() == arguments[0];
        }
        if (!known)
            return terminal.usage("there is no command \"" + arguments[0] + "\"; there are " + names);
    }
    try {
        std::reverse(arguments.begin(), arguments.end()); // the parser takes them from the end
        app.parse(arguments);
    } catch (const CLI::CallForHelp &) {
        const auto chosen = app.get_subcommands();
        terminal.text(chosen.empty() ? app.help() : chosen.front()->help(app.get_name()));
        return terminal.end();
    } catch (const CLI::CallForVersion &version) {
        terminal.text(std::string(version.what()) + "\n");
        return terminal.end();
    } catch (const CLI::ParseError &error) {
        return terminal.usage(error.what());
    }
    return commands.chosen();
}

} // namespace

} // namespace tokenloupe::cli

int main(int argc, char *argv[])
{
    using namespace tokenloupe::cli;
    std::signal(SIGPIPE, SIG_IGN); // a reader that left is seen at the next write
    ExitStatus status = ExitStatus::Failed;
    try {
        status = runProgram(argc, argv);
    } catch (const std::bad_alloc &) {
        Terminal().fail("out of memory");
    } catch (const std::exception &exception) {
        Terminal().fail(exception.what());
    }
    return static_cast<int>(status);
}
