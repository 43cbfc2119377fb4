// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/idtokenizer.h"

namespace tokenloupe {

IdTokenizer::IdTokenizer(VocabularyData data)
    : Tokenizer(std::move(data))
{
    m_bytes.resize(m_data.texts.size());
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
