// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/steppedtext.h"

#include "engine/base/utf8.h"

namespace tokenloupe {

SteppedText::SteppedText(std::string_view text, std::uint32_t begin)
    : m_input(text)
    , m_begin(begin)
{
    const auto size = static_cast<std::uint32_t>(text.size());
    if (isValidUtf8(text)) {
        if (size > 0)
            m_parts.push_back({size, State::Open, {}});
        return;
    }
    for (std::uint32_t i = 0; i < size;) {
        const Utf8Unit unit = decodeUtf8(text, i);
        i += unit.length;
        const State state = unit.valid ? State::Open : State::Broken;
        if (!m_parts.empty() && m_parts.back().state == state)
            m_parts.back().end = i;
        else
            m_parts.push_back({i, state, {}});
    }
}

SteppedText::Rewrite::Rewrite(const SteppedText &old)
    : m_old(old)
{
    m_text.reserve(old.text().size() + old.text().size() / 2);
    m_origins.reserve(m_text.capacity() + 1);
}

void SteppedText::Rewrite::keep(std::size_t begin, std::size_t end)
{
    m_text += m_old.text().substr(begin, end - begin);
    for (std::size_t i = begin; i < end; ++i)
        m_origins.push_back(m_old.originOf(i));
}

void SteppedText::Rewrite::put(std::string_view bytes, std::size_t at)
{
    m_text += bytes;
    m_origins.insert(m_origins.end(), bytes.size(), m_old.originOf(at));
}

void SteppedText::Rewrite::endPart(const Part &like)
{
    const auto end = static_cast<std::uint32_t>(m_text.size());
    if (end > (m_parts.empty() ? 0 : m_parts.back().end))
        m_parts.push_back({end, like.state, like.token});
}

void SteppedText::take(Rewrite &&rewrite)
{
    rewrite.m_origins.push_back(originOf(text().size()));
    m_text = std::move(rewrite.m_text);
    m_origins = std::move(rewrite.m_origins);
    m_parts = std::move(rewrite.m_parts);
}

} // namespace tokenloupe
