// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/textpipeline.h"
#include "engine/tokenizer/steppedtext.h"
#include "engine/tokenizer/textfinder.h"

#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// The steps of a normaliser or of a pre-tokenizer, ready to run. Immutable; may be used from any thread.
class TextSteps
{
public:
    enum class Scope {
        WholeText, ///< a normaliser: what goes in front or off the ends does so once
        EachPart,  ///< a pre-tokenizer: for each part
    };
    static Result<TextSteps> create(const std::vector<TextStep> &steps, Scope scope);

    bool isEmpty() const { return m_steps.empty(); }
    Status apply(SteppedText &text, const TextFinder::Scratch &scratch) const;

private:
    struct Ready
    {
        TextStep step;
        std::optional<TextFinder> finder; ///< of steps with a pattern
    };
    TextSteps() = default;

    Status applyStep(const FormStep &step, const Ready &ready, SteppedText &text,
                     const TextFinder::Scratch &scratch) const;
    Status applyStep(const ReplaceStep &step, const Ready &ready, SteppedText &text,
                     const TextFinder::Scratch &scratch) const;
    Status applyStep(const PrependStep &step, const Ready &ready, SteppedText &text,
                     const TextFinder::Scratch &scratch) const;
    Status applyStep(const StripStep &step, const Ready &ready, SteppedText &text,
                     const TextFinder::Scratch &scratch) const;
    Status applyStep(const SplitStep &step, const Ready &ready, SteppedText &text,
                     const TextFinder::Scratch &scratch) const;

    std::vector<Ready> m_steps;
    Scope m_scope = Scope::WholeText;
};

} // namespace tokenloupe
