// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/layersview.h"

#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/labelledbars.h"
#include "widgets/views/kvcache/layerbars.h"
#include "widgets/views/kvcache/sectionheading.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

QLabel *makeNote()
{
    auto *note = new QLabel;
    note->setTextFormat(Qt::PlainText);
    note->setWordWrap(true);
    note->setFont(Theme::instance().font(TextRole::Small));
    note->setForegroundRole(QPalette::PlaceholderText);
    return note;
}

// "512", or "128 to 4096" when layers differ; empty without windows.
QString windowText(const KvShape &shape)
{
    std::uint32_t least = 0;
    std::uint32_t most = 0;
    for (const KvLayerShape &layer : shape.layers) {
        if (layer.window == 0)
            continue;
        least = least == 0 ? layer.window : std::min(least, layer.window);
        most = std::max(most, layer.window);
    }
    if (most == 0)
        return {};
    return least == most ? formatCount(most)
                         : LayersView::tr("%1 to %2").arg(formatCount(least), formatCount(most));
}

} // namespace

LayersView::LayersView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.scaled(4));
    m_layersHeading = new SectionHeading(tr("Layers"));
    m_layers = new LayerBars;
    m_layersKey = makeNote();
    m_variantsHeading = new SectionHeading(tr("Attention kinds"));
    m_variantsHeading->setSummary(tr("bytes of a token"));
    m_variants = new LabelledBars(tr("Bytes of a token under four kinds of attention"));
    m_variantsNote = makeNote();
    column->addWidget(m_layersHeading);
    column->addWidget(m_layers);
    column->addWidget(m_layersKey);
    column->addSpacing(theme.scaled(8));
    column->addWidget(m_variantsHeading);
    column->addWidget(m_variants);
    column->addWidget(m_variantsNote);
    column->addStretch(1);
    setVariants({});
}

void LayersView::setShape(const KvShape &shape, std::uint64_t tokens)
{
    std::vector<LayerBytes> layers;
    std::size_t windowed = 0;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer) {
        layers.push_back(
            {shape.keyBytesPerToken(layer), shape.valueBytesPerToken(layer), shape.layers[layer].window});
        windowed += shape.layers[layer].window > 0 ? 1 : 0;
    }
    const auto [least, most] =
        std::minmax_element(layers.begin(), layers.end(), [](const LayerBytes &a, const LayerBytes &b) {
            return a.keys + a.values < b.keys + b.values;
        });
    QString summary = counted(layers.size(), tr("layer"), tr("layers"));
    if (!layers.empty()) {
        const bool equal = least->keys + least->values == most->keys + most->values;
        summary += equal ? tr(" · %1 a token each").arg(formatBytes(most->keys + most->values))
                         : tr(" · %1 to %2 a token")
                               .arg(formatBytes(least->keys + least->values),
                                    formatBytes(most->keys + most->values));
    }
    m_layersHeading->setSummary(summary);
    QString key =
        layers.empty()
            ? QString()
            : tr("Below keys, %1; above values, %2.").arg(formatBytes(most->keys), formatBytes(most->values));
    if (windowed > 0)
        key += tr(" Underlined: %1 with window %2.")
                   .arg(counted(windowed, tr("layer"), tr("layers")), windowText(shape));
    m_layersKey->setText(key);
    m_layers->setLayers(std::move(layers), tokens);
}

void LayersView::setVariants(const std::vector<AttentionVariant> &variants)
{
    std::vector<LabelledBar> bars;
    QString own;
    for (const AttentionVariant &variant : variants) {
        const QString name = QString::fromStdString(variant.name);
        bars.push_back(
            {name, static_cast<double>(variant.bytesPerToken),
             tr("%1 · ×%2").arg(formatBytes(variant.bytesPerToken), formatSignificant(variant.ratio, 2)),
             QString::fromStdString(variant.how), variant.isOwn});
        if (variant.isOwn)
            own = name;
    }
    m_variants->setVisible(!bars.empty());
    m_variantsNote->setText(
        bars.empty()
            ? tr("Open a model: what the kinds of attention would take for its width is compared here.")
        : own.isEmpty() ? tr("× against multi-head.")
                        : tr("× against multi-head. Marked: what this model uses, %1.").arg(own));
    m_variants->setBars(std::move(bars));
}

QString LayersView::summary() const
{
    return m_layersHeading->summary();
}

} // namespace tokenloupe
