// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>
#include <cstdint>
#include <vector>

namespace tokenloupe {

/// Bytes that one token takes in one layer.
struct LayerBytes
{
    std::uint64_t keys = 0;
    std::uint64_t values = 0;
    bool operator==(const LayerBytes &) const = default;
};

/// One thin bar a layer, keys below values: at a look, whether all layers cost the same.
class LayerBars : public QWidget
{
    Q_OBJECT

public:
    explicit LayerBars(QWidget *parent = nullptr);

    void setLayers(std::vector<LayerBytes> layers, std::uint64_t tokens);
    int layerAt(const QPoint &pos) const; ///< -1: none
    QString textOf(int layer) const;
    QSize sizeHint() const override;

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    std::vector<LayerBytes> m_layers;
    std::uint64_t m_tokens = 0;
};

} // namespace tokenloupe
