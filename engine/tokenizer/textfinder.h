// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/textpipeline.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

// What PCRE2's types are; its header works through macros that nobody else should see.
struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace tokenloupe {

/// Finds a pattern of a vocabulary's file in text, compiled once. Immutable; may be used from any thread.
class TextFinder
{
public:
    /// What one thread needs to search; patterns share it.
    class Scratch
    {
    public:
        Scratch();
        bool isValid() const { return m_data && m_context; }

    private:
        friend class TextFinder;
        struct Free
        {
            void operator()(pcre2_real_match_data_8 *data) const;
            void operator()(pcre2_real_match_context_8 *context) const;
        };
        std::unique_ptr<pcre2_real_match_data_8, Free> m_data;
        std::unique_ptr<pcre2_real_match_context_8, Free> m_context;
    };

    struct Match
    {
        std::size_t begin = 0, end = 0;

        bool isEmpty() const { return begin == end; }
    };

    /// Unsupported where PCRE2 does not take the pattern.
    static Result<TextFinder> create(const TextPattern &pattern);

    enum class Empty {
        Skip, ///< matches of no character do not count
        Find,
    };
    /// The first match at or after `from` in `text`, which is UTF-8. Fails on patterns that go back and forth
    /// without end.
    Result<std::optional<Match>> find(std::string_view text, std::size_t from, const Scratch &scratch,
                                      Empty empty = Empty::Skip) const;

private:
    struct FreeCode
    {
        void operator()(pcre2_real_code_8 *code) const;
    };
    TextFinder() = default;

    std::string m_literal; // or
    std::unique_ptr<pcre2_real_code_8, FreeCode> m_code;
};

} // namespace tokenloupe
