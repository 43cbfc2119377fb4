// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvshape.h"
#include "engine/estimate/estimate.h"

#include <QWidget>
#include <vector>

class QLabel;

namespace tokenloupe {

class LabelledBars;
class LayerBars;
class SectionHeading;

/// What a token costs: keys and values of every layer, and beside the model's own kind of attention what the
/// other kinds would take for a model of its width.
class LayersView : public QWidget
{
    Q_OBJECT

public:
    explicit LayersView(QWidget *parent = nullptr);

    void setShape(const KvShape &shape, std::uint64_t tokens);
    void setVariants(const std::vector<AttentionVariant> &variants); ///< none: not known for this model
    const LayerBars *layers() const { return m_layers; }
    const LabelledBars *variants() const { return m_variants; }
    QString summary() const;

private:
    SectionHeading *m_layersHeading = nullptr;
    LayerBars *m_layers = nullptr;
    QLabel *m_layersKey = nullptr;
    SectionHeading *m_variantsHeading = nullptr;
    LabelledBars *m_variants = nullptr;
    QLabel *m_variantsNote = nullptr;
};

} // namespace tokenloupe
