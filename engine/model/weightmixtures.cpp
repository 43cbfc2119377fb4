// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/weightmixtures.h"

#include <algorithm>

namespace tokenloupe {

namespace {

enum class Mix : std::uint8_t {
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q2_K_S,
    Q3_K_S,
    Q3_K_M,
    Q3_K_L,
    Q4_K_S,
    Q4_K_M,
    Q5_K_S,
    Q5_K_M,
    Q6_K,
    IQ1_S,
    IQ1_M,
    IQ2_XXS,
    IQ2_XS,
    IQ2_S,
    IQ2_M,
    IQ3_XXS,
    IQ3_XS,
    IQ3_S,
    IQ3_M,
    IQ4_XS,
    IQ4_NL,
    TQ1_0,
    TQ2_0,
    MXFP4_MOE
};

struct MixRow
{
    std::string_view name;
    Mix mix;
    std::string_view base; ///< what most matrices get
};
constexpr MixRow rows[] = {
    {"Q8_0", Mix::Q8_0, "Q8_0"},
    {"Q6_K", Mix::Q6_K, "Q6_K"},
    {"Q5_K_M", Mix::Q5_K_M, "Q5_K"},
    {"Q5_K_S", Mix::Q5_K_S, "Q5_K"},
    {"Q5_1", Mix::Q5_1, "Q5_1"},
    {"Q5_0", Mix::Q5_0, "Q5_0"},
    {"Q4_K_M", Mix::Q4_K_M, "Q4_K"},
    {"Q4_K_S", Mix::Q4_K_S, "Q4_K"},
    {"Q4_1", Mix::Q4_1, "Q4_1"},
    {"Q4_0", Mix::Q4_0, "Q4_0"},
    {"IQ4_NL", Mix::IQ4_NL, "IQ4_NL"},
    {"IQ4_XS", Mix::IQ4_XS, "IQ4_XS"},
    {"MXFP4_MOE", Mix::MXFP4_MOE, "MXFP4"},
    {"Q3_K_L", Mix::Q3_K_L, "Q3_K"},
    {"Q3_K_M", Mix::Q3_K_M, "Q3_K"},
    {"Q3_K_S", Mix::Q3_K_S, "Q3_K"},
    {"IQ3_M", Mix::IQ3_M, "IQ3_S"},
    {"IQ3_S", Mix::IQ3_S, "IQ3_S"},
    {"IQ3_XS", Mix::IQ3_XS, "IQ3_S"},
    {"IQ3_XXS", Mix::IQ3_XXS, "IQ3_XXS"},
    {"Q2_K", Mix::Q2_K, "Q2_K"},
    {"Q2_K_S", Mix::Q2_K_S, "Q2_K"},
    {"IQ2_M", Mix::IQ2_M, "IQ2_S"},
    {"IQ2_S", Mix::IQ2_S, "IQ2_XS"},
    {"IQ2_XS", Mix::IQ2_XS, "IQ2_XS"},
    {"IQ2_XXS", Mix::IQ2_XXS, "IQ2_XXS"},
    {"TQ2_0", Mix::TQ2_0, "TQ2_0"},
    {"TQ1_0", Mix::TQ1_0, "TQ1_0"},
    {"IQ1_M", Mix::IQ1_M, "IQ1_M"},
    {"IQ1_S", Mix::IQ1_S, "IQ1_S"},
};

const MixRow *rowOf(std::string_view name)
{
    const auto row = std::find_if(std::begin(rows), std::end(rows),
                                  [name](const MixRow &known) { return known.name == name; });
    return row == std::end(rows) ? nullptr : row;
}

bool isOneOf(Mix mix, std::initializer_list<Mix> some)
{
    return std::find(some.begin(), some.end(), mix) != some.end();
}

/// Chooses the type of one matrix. The layers near both ends and every third between them are those where
/// coarse values of "down" and "value" matrices cost most.
class MixRule
{
public:
    MixRule(const MixRow &row, const WeightContext &context, const WeightPlace &place)
        : m_row(row)
        , m_mix(row.mix)
        , m_context(context)
        , m_place(place)
    {}

    std::string_view type() const;

private:
    bool isFirstEighth() const { return m_place.index < m_place.among / 8; }
    bool wantsMoreBits() const
    {
        const std::uint32_t eighth = m_place.among / 8;
        return m_place.index < eighth || m_place.index >= 7 * m_place.among / 8 ||
               (m_place.index - eighth) % 3 == 2;
    }
    bool isGrouped() const { return m_context.queriesPerKey >= 4; }
    bool hasEightExperts() const { return m_context.experts == 8; }
    bool isFalcon() const { return m_context.architecture == "falcon"; }
    bool isTiny() const ///< the 1 and 2 bit mixtures, which share rules of their own
    {
        return isOneOf(m_mix, {Mix::IQ1_S, Mix::IQ1_M, Mix::IQ2_XXS, Mix::IQ2_XS, Mix::IQ2_S, Mix::IQ2_M});
    }
    bool isUpperTiny() const { return isOneOf(m_mix, {Mix::IQ2_S, Mix::IQ2_M}); }

    std::string_view outputType() const;
    std::string_view embeddingType() const;
    std::string_view tinyType() const;
    std::string_view valueType() const;
    std::string_view downType() const;
    std::string_view attentionOutputType() const;
    std::string_view fusedType() const;

    const MixRow &m_row;
    Mix m_mix;
    const WeightContext &m_context;
    const WeightPlace &m_place;
};

std::string_view MixRule::outputType() const
{
    if (isFalcon() || m_mix == Mix::Q8_0 || m_mix == Mix::MXFP4_MOE)
        return "Q8_0";
    return isTiny() || m_mix == Mix::IQ3_XXS ? "Q5_K" : "Q6_K";
}

std::string_view MixRule::embeddingType() const
{
    if (isUpperTiny() || m_mix == Mix::IQ3_XXS)
        return "IQ3_S";
    if (isTiny())
        return "Q2_K";
    return isOneOf(m_mix, {Mix::TQ1_0, Mix::TQ2_0}) ? "Q4_K" : m_row.base;
}

std::string_view MixRule::tinyType() const
{
    const std::string_view better = isUpperTiny() ? "IQ3_S" : "Q2_K";
    if (m_place.role == "attn_v")
        return isGrouped() || m_context.experts >= 4 ? "Q4_K" : better;
    if (m_place.role == "attn_k" && hasEightExperts())
        return "Q4_K";
    if (m_place.role.starts_with("ffn_down"))
        return isFirstEighth() ? better : m_row.base;
    if (m_place.role == "attn_output") {
        if (hasEightExperts())
            return "Q5_K";
        if (isOneOf(m_mix, {Mix::IQ1_S, Mix::IQ1_M}))
            return "IQ2_XXS";
        return isUpperTiny() ? "IQ3_S" : m_row.base;
    }
    return m_row.base;
}

std::string_view MixRule::valueType() const
{
    if (hasEightExperts())
        return "Q8_0";
    std::string_view type = m_row.base;
    switch (m_mix) {
    case Mix::Q2_K:
        type = isGrouped() ? "Q4_K" : "Q3_K";
        break;
    case Mix::Q2_K_S:
    case Mix::IQ3_XS:
    case Mix::IQ3_S:
        type = isGrouped() ? "Q4_K" : m_row.base;
        break;
    case Mix::IQ3_XXS:
        type = isGrouped() ? "Q4_K" : m_row.base;
        break;
    case Mix::IQ3_M:
        type = "Q4_K";
        break;
    case Mix::Q3_K_M:
        type = m_place.index < 2 ? "Q5_K" : "Q4_K";
        break;
    case Mix::Q3_K_L:
        type = "Q5_K";
        break;
    case Mix::IQ4_NL:
    case Mix::IQ4_XS:
        type = isGrouped() ? "Q5_K" : m_row.base;
        break;
    case Mix::Q4_K_M:
    case Mix::Q5_K_M:
        type = wantsMoreBits() ? "Q6_K" : m_row.base;
        break;
    case Mix::Q4_K_S:
        type = m_place.index < 4 ? "Q5_K" : m_row.base;
        break;
    default:
        break;
    }
    return m_context.isLarge && (type == "Q3_K" || type == "Q4_K") ? std::string_view("Q5_K") : type;
}

std::string_view MixRule::downType() const
{
    switch (m_mix) {
    case Mix::Q2_K:
        return "Q3_K";
    case Mix::Q2_K_S:
        return isFirstEighth() ? "Q4_K" : m_row.base;
    case Mix::Q3_K_M:
        if (m_place.index < m_place.among / 16)
            return "Q5_K";
        return !isFalcon() || wantsMoreBits() ? "Q4_K" : "Q3_K";
    case Mix::IQ3_M:
        return isFirstEighth() || (hasEightExperts() && wantsMoreBits()) ? "Q4_K" : m_row.base;
    case Mix::Q3_K_L:
        return isFalcon() ? "Q4_K" : "Q5_K";
    case Mix::Q4_K_M:
        if (!isFalcon())
            return wantsMoreBits() ? "Q6_K" : "Q4_K";
        if (m_place.index < m_place.among / 16)
            return "Q6_K";
        return wantsMoreBits() ? "Q5_K" : "Q4_K";
    case Mix::Q5_K_M:
        return wantsMoreBits() ? "Q6_K" : m_row.base;
    case Mix::Q4_K_S:
        return !isFalcon() && isFirstEighth() ? "Q5_K" : m_row.base;
    default:
        return m_row.base;
    }
}

std::string_view MixRule::attentionOutputType() const
{
    if (isFalcon())
        return m_mix == Mix::Q3_K_L ? "Q4_K" : m_row.base;
    if (hasEightExperts())
        return isOneOf(m_mix, {Mix::Q2_K, Mix::IQ3_XS, Mix::IQ3_XXS, Mix::Q3_K_S, Mix::Q3_K_M, Mix::IQ4_NL,
                               Mix::Q4_K_S, Mix::Q4_K_M, Mix::IQ3_S, Mix::IQ3_M, Mix::IQ4_XS})
                   ? std::string_view("Q5_K")
                   : m_row.base;
    switch (m_mix) {
    case Mix::Q2_K:
        return "Q3_K";
    case Mix::IQ3_XXS:
        return "IQ3_S";
    case Mix::Q3_K_M:
    case Mix::IQ3_M:
        return "Q4_K";
    case Mix::Q3_K_L:
        return "Q5_K";
    default:
        return m_row.base;
    }
}

std::string_view MixRule::fusedType() const
{
    if (isOneOf(m_mix, {Mix::Q3_K_M, Mix::Q3_K_L, Mix::IQ3_M}))
        return "Q4_K";
    if (m_mix == Mix::Q4_K_M)
        return "Q5_K";
    return m_mix == Mix::Q5_K_M ? "Q6_K" : m_row.base;
}

std::string_view MixRule::type() const
{
    const std::string_view role = m_place.role;
    if (role == "output" || (role == "token_embd" && !m_context.hasOutput))
        return outputType();
    if (m_mix == Mix::MXFP4_MOE)
        return role.ends_with("_exps") ? "MXFP4" : "Q8_0";
    if (role == "token_embd")
        return embeddingType();
    if (isTiny())
        return tinyType();
    if (role == "attn_v")
        return valueType();
    if (role == "attn_k" && hasEightExperts())
        return "Q8_0";
    if (role == "attn_k" || role == "attn_q") {
        if (m_mix == Mix::IQ3_XS)
            return "IQ3_XXS";
        return m_mix == Mix::IQ3_XXS ? "IQ2_S" : m_row.base;
    }
    if (role.starts_with("ffn_down"))
        return downType();
    if (role == "attn_output")
        return attentionOutputType();
    if (role == "attn_qkv")
        return fusedType();
    if (m_mix == Mix::IQ3_XS && (role.starts_with("ffn_gate") || role.starts_with("ffn_up")))
        return isFirstEighth() || m_place.index >= 7 * m_place.among / 8 ? m_row.base : "IQ3_XXS";
    return m_row.base;
}

/// What takes the place of a type whose blocks the rows do not fill.
std::string_view smallBlockType(std::string_view type)
{
    if (type == "Q4_K" || type == "TQ1_0" || type == "TQ2_0")
        return type == "Q4_K" ? "Q5_0" : "Q4_0";
    if (type == "Q5_K")
        return "Q5_1";
    if (type == "Q6_K")
        return "Q8_0";
    return "IQ4_NL";
}

} // namespace

bool isMixture(std::string_view name)
{
    return rowOf(name) != nullptr;
}

std::vector<std::string_view> mixtureNames()
{
    std::vector<std::string_view> names;
    for (const MixRow &row : rows)
        names.push_back(row.name);
    return names;
}

std::string_view mixtureType(std::string_view mixture, const WeightContext &context, const WeightPlace &place,
                             std::uint64_t columns)
{
    const MixRow *row = rowOf(mixture);
    if (!row)
        return "F16";
    const auto fits = [columns](std::string_view type) {
        const auto known = tensorTypeNamed(type);
        return known && columns % traitsOf(*known).blockValues == 0;
    };
    std::string_view type = MixRule(*row, context, place).type();
    if ((place.role == "output" || place.role == "token_embd") && !fits(row->base) &&
        (place.role == "output" || !context.hasOutput))
        type = "Q8_0";
    if (!fits(type))
        type = smallBlockType(type);
    return fits(type) ? type : "F16";
}

} // namespace tokenloupe
