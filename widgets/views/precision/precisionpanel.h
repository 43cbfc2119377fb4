// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/comparisonstore.h"
#include "widgets/models/inspectorcontext.h"

#include <QTimer>
#include <optional>

class QPushButton;
class QStackedWidget;

namespace tokenloupe {

class ElidedLabel;
class ProgressStrip;
class SegmentTabs;
class StepComparisonView;
class TextComparisonView;

/// Exact and fast side by side, at the selected step and over the whole text. Computed on request, in the
/// engine thread; what was computed stays until the text changes.
class PrecisionPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit PrecisionPanel(InspectorContext &context, QWidget *parent = nullptr);

    void compareStep(); ///< brings that page to the front and computes what is not there
    void compareText();
    const ComparisonStore &store() const { return *m_store; }

protected:
    void refresh() override;

private:
    enum Page { StepPage, TextPage };
    /// What is looked at: a position of a run's text.
    struct Place
    {
        const Run *run = nullptr;
        std::optional<std::uint32_t> position; ///< none: no step yet
    };
    Place place() const;
    /// Why nothing can be compared now; empty: it can.
    QString blockedBy() const;
    QString noteFor(const Place &place) const;
    void request(ComparedPositions positions);
    void refreshStep(const Place &place);
    void refreshText(const Place &place);
    void refreshRequest(const Place &place);
    void showProgress();
    void selectPosition(int position);

    InspectorContext m_context;
    ComparisonStore *m_store = nullptr;
    SegmentTabs *m_tabs = nullptr;
    QStackedWidget *m_pages = nullptr;
    StepComparisonView *m_step = nullptr;
    TextComparisonView *m_text = nullptr;
    ElidedLabel *m_note = nullptr;
    QPushButton *m_compare = nullptr;
    ProgressStrip *m_progress = nullptr;
    QTimer m_poll;
    std::optional<std::uint32_t> m_promptPosition; // clicked, where no step is
};

} // namespace tokenloupe
