// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace tokenloupe {

enum class ErrorCode {
    Cancelled,
    OutOfMemory,
    DeviceLost,
    NotFound,        ///< no such file
    BadFile,         ///< the file's content is wrong
    Unsupported,     ///< well-formed, but not something that this program can do
    InvalidArgument, ///< a setting or an option is wrong
    ContextFull,     ///< the sequence reached the context length
    InvalidLogits,   ///< no finite logit to sample from
    IoError,
    TemplateError,  ///< a chat template does not parse or fails while it runs
    TemplateRaised, ///< the template called raise_exception
};

/// What went wrong: `operation` says what was tried ("read model.gguf"), `message` the field, what was
/// expected and what was found. One line each, for people.
struct Error
{
    ErrorCode code = ErrorCode::InvalidArgument;
    std::string operation;
    std::string message;
    std::uint32_t deviceLayers = 0; ///< OutOfMemory: that have room on the device; 0: none, or not known

    /// "operation: message", or the one that is there.
    std::string text() const
    {
        if (operation.empty())
            return message;
        return message.empty() ? operation : operation + ": " + message;
    }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> makeError(ErrorCode code, std::string operation, std::string message = {})
{
    return tl::unexpected<Error>(Error{code, std::move(operation), std::move(message)});
}

} // namespace tokenloupe
