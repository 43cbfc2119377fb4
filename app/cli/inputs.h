// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"
#include "engine/base/result.h"
#include "engine/base/strongindex.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::cli {

/// The whole of a file (or pipe); "-" is standard input. Folders and missing files are errors that name them.
Result<std::string> readFile(const std::string &path);
Result<Json> readJsonFile(const std::string &path);
/// JSON of one text; `what` names it in the message.
Result<Json> parseJson(std::string_view text, const std::string &what);
/// "1,2,3". InvalidArgument for anything else; an empty text is an empty list.
Result<std::vector<TokenId>> parseIds(std::string_view text);
/// A JSON list of non-negative integers below 2^32 - 1.
Result<std::vector<TokenId>> idsOf(const Json &list);
Json jsonOf(const std::vector<TokenId> &ids);

/// Each non-empty line of a file as JSON goes to `handle`; what it returns (or an {"error"}) is written as
/// one line. Failed when a line could not be handled and `onError` says that this counts.
enum class LineErrors { AreResults, Fail };
ExitStatus forEachJsonLine(Terminal &terminal, const std::string &path, LineErrors onError,
                           const std::function<Result<Json>(const Json &)> &handle);

} // namespace tokenloupe::cli
