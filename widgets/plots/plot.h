// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <QTimer>
#include <QWidget>
#include <memory>

class QCustomPlot;
class QMenu;
class QTextStream;

namespace tokenloupe {

class PlotAnnotations;

/// Part of an axis, in its own units.
struct PlotRange
{
    double from = 0.0;
    double to = 1.0;
    bool operator==(const PlotRange &) const = default;
};

/// What all charts share: theme colours, light grid, units at the axes, margins that do not depend on the
/// numbers. Wheel (or + and -) zooms the x axis at the cursor, drag (or Alt with an arrow key) pans, double
/// click (or 0) resets; the cursor reads values; the context menu saves PNG, PDF or CSV and copies. Drawn
/// plain while data comes in and antialiased when it rests. All drawing is queued: several changes in one
/// turn cost one replot.
class Plot : public QWidget
{
    Q_OBJECT

public:
    ~Plot() override;

    void resetView();
    bool isZoomed() const { return m_zoomed; }
    PlotRange visibleX() const;
    PlotRange visibleY() const;
    /// What the cursor would read there (in this widget's coordinates); empty: nothing.
    QString readoutAt(const QPoint &pos) const;
    QString csv() const;
    /// By the file name's suffix: png, pdf, csv.
    Status saveAs(const QString &path) const;
    void copyImage() const;
    void copyValues() const;
    /// Widget position of a point of the chart, and back.
    QPointF pixelAt(double x, double y) const;
    QPointF valueAt(const QPointF &pixel) const;
    QRect plotArea() const;
    std::unique_ptr<QMenu> contextMenu();
    void replotNow(); ///< what is queued, at once (export, tests)

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void clicked(double x, double y);
    void viewChanged();
    void saveFailed(const QString &message);

protected:
    Plot(const QString &accessibleName, const QString &xUnit, const QString &yUnit, QWidget *parent);

    /// The range that resetView() shows; and the widest that zooming out goes to.
    virtual PlotRange fullX() const = 0;
    virtual PlotRange widestX() const { return fullX(); }
    virtual PlotRange fullY(const PlotRange &visible) const = 0;
    virtual void applyColors() = 0;
    virtual QString readout(double x, double y) const = 0;
    virtual void writeCsv(QTextStream &out) const = 0;

    QCustomPlot *chart() const { return m_chart; }
    PlotAnnotations *annotations() const { return m_annotations; }
    /// Call after the data changed: keeps a zoomed view, else shows all; queues the replot.
    void dataChanged();
    void replotLater();
    void finishConstruction(); ///< at the end of a derived constructor

    bool eventFilter(QObject *watched, QEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void contextMenuEvent(QContextMenuEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;
    void showEvent(QShowEvent *event) override;

private:
    void applyTheme();
    void applyMargins();
    void showAll();
    void setVisibleX(PlotRange range);
    void zoom(double factor, double around);
    void pan(double share);
    void setAntialiasing(Qt::CheckState state);
    void hover(const QPoint &pos);
    void saveWithDialog(const QString &suffix, const QString &filter);

    QCustomPlot *m_chart = nullptr;
    PlotAnnotations *m_annotations = nullptr; ///< owned by the chart
    QTimer m_rest;
    QPoint m_pressed;
    PlotRange m_pressedRange;
    bool m_zoomed = false;
    bool m_dragging = false;
    bool m_down = false;
};

} // namespace tokenloupe
