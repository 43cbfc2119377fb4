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
    std::uint32_t window = 0; ///< tokens that the layer sees; 0: all
    bool operator==(const LayerBytes &) const = default;
};

/// One thin bar a layer, keys below values: at a look, whether all layers cost the same. A line under a bar
/// marks a layer with a window. Left and Right walk the layers and say what hovering tells.
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
    void keyPressEvent(QKeyEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;

private:
    bool hasWindows() const;
    void setCurrent(int layer);

    int m_current = -1; ///< the keyboard's
    std::vector<LayerBytes> m_layers;
    std::uint64_t m_tokens = 0;
};

} // namespace tokenloupe
