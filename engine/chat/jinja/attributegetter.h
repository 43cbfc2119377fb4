// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/value.h"

#include <vector>

namespace tokenloupe::jinja {

class Evaluator;

enum class KeyCase { AsIs, Folded };

/// What filters take as `attribute`: "name", "a.b.0" or a number; nothing for the item itself.
class AttributeGetter
{
public:
    /// `attribute` may be null. With `otherwise`: in place of what is undefined.
    AttributeGetter(Evaluator &evaluator, const Value *attribute, const Value *otherwise = nullptr);

    Value get(const Value &item) const;
    /// For sorting and comparing: strings in lower case when folded.
    Value key(const Value &item, KeyCase keyCase) const;

private:
    Evaluator &m_evaluator;
    std::vector<Value> m_parts;
    const Value *m_otherwise;
};

} // namespace tokenloupe::jinja
