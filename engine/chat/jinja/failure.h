// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <string>

namespace tokenloupe::jinja {

/// How a template fails inside this folder. Thrown by parser and evaluator, caught in ChatTemplate, which
/// makes an Error of it: it never leaves this library.
struct Failure
{
    ErrorCode code = ErrorCode::TemplateError;
    std::string message;
};

[[noreturn]] void fail(std::string message);
/// raise_exception's own text.
[[noreturn]] void failRaised(std::string message);

} // namespace tokenloupe::jinja
