// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/tokentext.h"

#include "widgets/theme/numbers.h"

#include <QCoreApplication>

namespace tokenloupe {

namespace {

QString kindName(TokenKind kind)
{
    switch (kind) {
    case TokenKind::Normal:
        return QCoreApplication::translate("TokenKind", "normal");
    case TokenKind::Unknown:
        return QCoreApplication::translate("TokenKind", "unknown");
    case TokenKind::Control:
        return QCoreApplication::translate("TokenKind", "control");
    case TokenKind::UserDefined:
        return QCoreApplication::translate("TokenKind", "user-defined");
    case TokenKind::Unused:
        return QCoreApplication::translate("TokenKind", "unused");
    case TokenKind::Byte:
        return QCoreApplication::translate("TokenKind", "byte");
    }
    return {};
}

} // namespace

QString tokenDescription(const Tokenizer &tokenizer, TokenId id)
{
    const std::string_view bytes = tokenizer.bytes(id);
    const auto shown = static_cast<qsizetype>(std::min<std::size_t>(bytes.size(), 32));
    QString hex = QString::fromLatin1(QByteArray(bytes.data(), shown).toHex(' ').toUpper());
    if (bytes.size() > 32)
        hex += QStringLiteral(" …");
    return QCoreApplication::translate("TokenKind", "token %1 · %2 · %3: %4")
        .arg(id.value())
        .arg(kindName(tokenizer.kind(id)),
             counted(bytes.size(), QCoreApplication::translate("TokenKind", "byte"),
                     QCoreApplication::translate("TokenKind", "bytes")),
             hex);
}

QString tokensText(const Tokenizer &tokenizer, std::span<const TokenId> ids, int first, int last)
{
    std::string text;
    for (int i = std::max(first, 0); i <= last && i < static_cast<int>(ids.size()); ++i)
        text += tokenizer.bytes(ids[std::size_t(i)]);
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace tokenloupe
