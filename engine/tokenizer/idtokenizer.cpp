// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/idtokenizer.h"

namespace tokenloupe {

IdTokenizer::IdTokenizer(std::shared_ptr<const VocabularyData> data)
    : Tokenizer(std::move(data))
{
    for (std::uint32_t i = 0; i < size(); ++i)
        m_bytes.push_back({});
}

Result<std::vector<EncodedToken>> IdTokenizer::encode(std::string_view text,
                                                      const EncodeOptions & /*options*/) const
{
    if (text.empty())
        return std::vector<EncodedToken>();
    return makeError(ErrorCode::Unsupported, "split the text",
                     "the model came without a tokenizer; only token ids can be given");
}

} // namespace tokenloupe
