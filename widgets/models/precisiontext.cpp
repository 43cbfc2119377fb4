// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/precisiontext.h"

#include "engine/compute/packedweights.h"
#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <QStringList>

namespace tokenloupe {

namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("tokenloupe::Precision", text);
}

} // namespace

QString precisionTitle(Precision precision)
{
    return precision == Precision::Fast ? tr("fast") : tr("exact");
}

QString precisionSummary(Precision precision)
{
    return precision == Precision::Fast
               ? tr("Activations are rounded to 15 bits and multiplied in integers, over weights that are "
                    "laid out anew.")
               : tr("Activations are float32; nothing is rounded beyond the file's own weights.");
}

QString weightKernelsText(const Model &model, Precision precision)
{
    QStringList integers, floats;
    for (const WeightTypeUse &use : weightTypeUses(model)) {
        const QString text =
            QString(QString::fromLatin1(traitsOf(use.type).name) + QLatin1Char(' ') + formatBytes(use.bytes));
        (precision == Precision::Fast && use.isPackable ? integers : floats) << text;
    }
    QStringList parts;
    if (!integers.isEmpty())
        parts << tr("integers: %1").arg(integers.join(QStringLiteral(", ")));
    if (!floats.isEmpty())
        parts << tr("exact kernels: %1").arg(floats.join(QStringLiteral(", ")));
    return parts.join(QStringLiteral(" · "));
}

} // namespace tokenloupe
