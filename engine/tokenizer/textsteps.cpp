// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/textsteps.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/unicodeforms.h"
#include "engine/tokenizer/whitespace.h"

#include <algorithm>

namespace tokenloupe {

namespace {

using Part = SteppedText::Part;
using State = SteppedText::State;
constexpr std::size_t largestText = ~std::uint32_t(0);

Status checkSize(std::size_t size)
{
    if (size >= largestText)
        return makeError(ErrorCode::InvalidArgument, "tokenise", "the text grows beyond 4 GiB");
    return {};
}

/// Calls `visit(begin, part)` for each part of a text.
template <class Visit>
Status forEachPart(const SteppedText &text, Visit visit)
{
    std::uint32_t begin = 0;
    for (const Part &part : text.parts()) {
        if (Status status = visit(begin, part); !status)
            return status;
        begin = part.end;
    }
    return {};
}

/// A stretch of a part that is a match of a pattern, or lies between two.
struct Stretch
{
    std::uint32_t end = 0;
    bool isMatch = false;
};

/// Parts that a part of these stretches becomes.
void addParts(const std::vector<Stretch> &stretches, SplitStep::Behaviour behaviour, std::vector<Part> &parts)
{
    using Behaviour = SplitStep::Behaviour;
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        const Stretch &stretch = stretches[i];
        const bool first = i == 0;
        const bool afterMatch = !first && stretches[i - 1].isMatch;
        bool joins = false; // the part before
        switch (behaviour) {
        case Behaviour::Removed:
        case Behaviour::Isolated:
            break;
        case Behaviour::Contiguous:
            joins = !first && stretch.isMatch == stretches[i - 1].isMatch;
            break;
        case Behaviour::MergedWithPrevious:
            joins = !first && stretch.isMatch && !afterMatch;
            break;
        case Behaviour::MergedWithNext:
            joins = afterMatch && !stretch.isMatch;
            break;
        }
        if (joins) {
            parts.back().end = stretch.end;
            continue;
        }
        const bool removed = behaviour == Behaviour::Removed && stretch.isMatch;
        parts.push_back({stretch.end, removed ? State::Removed : State::Open, {}});
    }
}

} // namespace

Result<TextSteps> TextSteps::create(const std::vector<TextStep> &steps, Scope scope)
{
    TextSteps result;
    result.m_scope = scope;
    for (const TextStep &step : steps) {
        Ready ready{step, std::nullopt};
        const TextPattern *pattern = nullptr;
        if (const auto *replace = std::get_if<ReplaceStep>(&step))
            pattern = &replace->pattern;
        else if (const auto *split = std::get_if<SplitStep>(&step))
            pattern = &split->pattern;
        if (pattern) {
            auto finder = TextFinder::create(*pattern);
            if (!finder)
                return tl::unexpected(finder.error());
            ready.finder = std::move(*finder);
        }
        result.m_steps.push_back(std::move(ready));
    }
    return result;
}

Status TextSteps::apply(SteppedText &text, const TextFinder::Scratch &scratch) const
{
    for (const Ready &ready : m_steps) {
        const Status status =
            std::visit([&](const auto &step) { return applyStep(step, ready, text, scratch); }, ready.step);
        if (!status)
            return status;
        if (Status size = checkSize(text.text().size()); !size)
            return size;
    }
    return {};
}

Status TextSteps::applyStep(const FormStep &step, const Ready &, SteppedText &text,
                            const TextFinder::Scratch &) const
{
    if (UnicodeForms::isSurelyIn(step.form, text.text()))
        return {};
    const UnicodeForms &forms = UnicodeForms::instance();
    SteppedText::Rewrite rewrite(text);
    const Status status = forEachPart(text, [&](std::uint32_t begin, const Part &part) -> Status {
        const std::string_view all = text.text().substr(begin, part.end - begin);
        if (part.state == State::Open)
            forms.convert(step.form, all,
                          {[&](std::size_t from, std::size_t to) { rewrite.keep(begin + from, begin + to); },
                           [&](std::string_view bytes, std::size_t at) { rewrite.put(bytes, begin + at); }});
        else
            rewrite.keep(begin, part.end);
        rewrite.endPart(part);
        return {};
    });
    text.take(std::move(rewrite));
    return status;
}

Status TextSteps::applyStep(const ReplaceStep &step, const Ready &ready, SteppedText &text,
                            const TextFinder::Scratch &scratch) const
{
    SteppedText::Rewrite rewrite(text);
    bool changed = false;
    std::size_t size = 0;
    const Status status = forEachPart(text, [&](std::uint32_t begin, const Part &part) -> Status {
        const std::string_view all = text.text().substr(begin, part.end - begin);
        std::size_t done = 0;
        while (part.state == State::Open && done < all.size()) {
            const auto match = ready.finder->find(all, done, scratch);
            if (!match)
                return tl::unexpected(match.error());
            if (!*match)
                break;
            rewrite.keep(begin + done, begin + (*match)->begin);
            rewrite.put(step.content, begin + (*match)->begin);
            size += (*match)->begin - done + step.content.size();
            if (Status fits = checkSize(size); !fits)
                return fits;
            done = (*match)->end;
            changed = true;
        }
        rewrite.keep(begin + done, part.end);
        size += all.size() - done;
        rewrite.endPart(part);
        return {};
    });
    if (status && changed)
        text.take(std::move(rewrite));
    return status;
}

Status TextSteps::applyStep(const PrependStep &step, const Ready &, SteppedText &text,
                            const TextFinder::Scratch &) const
{
    if (step.content.empty() || text.parts().empty())
        return {};
    SteppedText::Rewrite rewrite(text);
    std::size_t size = text.text().size();
    bool first = true;
    const Status status = forEachPart(text, [&](std::uint32_t begin, const Part &part) -> Status {
        const std::string_view all = text.text().substr(begin, part.end - begin);
        const bool whole = m_scope == Scope::WholeText;
        bool wanted = whole ? first : part.state == State::Open;
        if (step.where != PrependStep::Where::Always)
            wanted = wanted && !all.starts_with(step.content);
        if (step.where == PrependStep::Where::StartUnlessThere)
            wanted = wanted && text.originOf(begin) == 0;
        first = false;
        if (wanted) {
            size += step.content.size();
            if (Status fits = checkSize(size); !fits)
                return fits;
            rewrite.put(step.content, begin);
            if (part.state != State::Open)
                rewrite.endPart({0, State::Open, {}});
        }
        rewrite.keep(begin, part.end);
        rewrite.endPart(part);
        return {};
    });
    if (status)
        text.take(std::move(rewrite));
    return status;
}

Status TextSteps::applyStep(const StripStep &step, const Ready &, SteppedText &text,
                            const TextFinder::Scratch &) const
{
    SteppedText::Rewrite rewrite(text);
    const std::size_t count = text.parts().size();
    std::size_t index = 0;
    const Status status = forEachPart(text, [&](std::uint32_t begin, const Part &part) -> Status {
        const bool whole = m_scope == Scope::WholeText;
        const bool isFirst = index == 0;
        const bool isLast = ++index == count;
        std::string_view all = text.text().substr(begin, part.end - begin);
        if (part.state == State::Open && step.left && (!whole || isFirst)) {
            const std::size_t spaces = whiteSpaceAtStart(all);
            all.remove_prefix(spaces);
            begin += static_cast<std::uint32_t>(spaces);
        }
        if (part.state == State::Open && step.right && (!whole || isLast))
            all.remove_suffix(whiteSpaceAtEnd(all));
        rewrite.keep(begin, begin + all.size());
        rewrite.endPart(part);
        return {};
    });
    text.take(std::move(rewrite));
    return status;
}

Status TextSteps::applyStep(const SplitStep &step, const Ready &ready, SteppedText &text,
                            const TextFinder::Scratch &scratch) const
{
    const bool invert = step.matches == SplitStep::Matches::RestOfText;
    std::vector<Part> parts;
    parts.reserve(text.parts().size() + text.text().size() / 8);
    std::vector<Stretch> stretches;
    const Status status = forEachPart(text, [&](std::uint32_t begin, const Part &part) -> Status {
        if (part.state != State::Open) {
            parts.push_back(part);
            return {};
        }
        const std::string_view all = text.text().substr(begin, part.end - begin);
        stretches.clear();
        std::size_t done = 0;
        const auto add = [&](std::size_t end, bool isMatch) {
            if (end > done)
                stretches.push_back({begin + static_cast<std::uint32_t>(end), isMatch != invert});
            done = end;
        };
        for (std::size_t from = 0; from < all.size();) {
            const auto match = ready.finder->find(all, from, scratch, TextFinder::Empty::Find);
            if (!match)
                return tl::unexpected(match.error());
            if (!*match)
                break;
            add((*match)->begin, false);
            add((*match)->end, true);
            from = (*match)->end;
            if ((*match)->isEmpty() && from < all.size()) // such a one cuts, too
                from += decodeUtf8(all, from).length;
        }
        add(all.size(), false);
        addParts(stretches, step.behaviour, parts);
        return {};
    });
    if (status)
        text.setParts(std::move(parts));
    return status;
}

} // namespace tokenloupe
