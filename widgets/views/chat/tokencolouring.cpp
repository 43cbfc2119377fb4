// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chat/tokencolouring.h"

#include "widgets/theme/theme.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

/// Bits at which the tint is at its strongest.
constexpr double fullBits = 8.0;

} // namespace

double tintStrength(TokenColouring colouring, const StepRecord &record)
{
    const auto share = [](double bits) { return std::clamp(bits / fullBits, 0.0, 1.0); };
    switch (colouring) {
    case TokenColouring::Surprise:
        return record.pRaw > 0.0 ? share(-std::log2(record.pRaw)) : 1.0;
    case TokenColouring::Probability:
        return std::clamp(record.pRaw, 0.0, 1.0);
    case TokenColouring::Entropy:
        return share(record.entropyBits);
    case TokenColouring::Rank:
        return share(std::log2(double(record.rank) + 1.0));
    case TokenColouring::None:
        break;
    }
    return 0.0;
}

QColor tintColor(TokenColouring colouring, const StepRecord &record)
{
    const double strength = tintStrength(colouring, record);
    if (strength < 0.02)
        return {};
    const ThemeColors &colors = Theme::instance().colors();
    return blended(colors.panel,
                   colouring == TokenColouring::Probability ? colors.probability : colors.surprise, strength);
}

QString colouringName(TokenColouring colouring)
{
    switch (colouring) {
    case TokenColouring::Surprise:
        return QCoreApplication::translate("TokenColouring", "surprise");
    case TokenColouring::Probability:
        return QCoreApplication::translate("TokenColouring", "probability");
    case TokenColouring::Entropy:
        return QCoreApplication::translate("TokenColouring", "entropy");
    case TokenColouring::Rank:
        return QCoreApplication::translate("TokenColouring", "chosen rank");
    case TokenColouring::None:
        return QCoreApplication::translate("TokenColouring", "nothing");
    }
    return {};
}

} // namespace tokenloupe
