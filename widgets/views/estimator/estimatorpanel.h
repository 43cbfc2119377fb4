// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

#include <QSettings>
#include <functional>

class QBoxLayout;
class QScrollArea;
class QStackedWidget;

namespace tokenloupe {

class CurvesView;
class EstimateForm;
class EstimatorModel;
class FitTableView;
class MessageBar;
class SegmentTabs;
class SummaryView;
class TextbookView;
class VerdictView;

/// "Will it fit?": whether a model fits a card, at which context, batch and precision, and how fast it can be
/// at most, before anything is loaded. The open model is the subject until another is chosen. Wide: inputs
/// beside the results; narrow: the verdict stays on top, inputs and results scroll below it.
class EstimatorPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit EstimatorPanel(InspectorContext &context, QWidget *parent = nullptr);
    ~EstimatorPanel() override;

    EstimatorModel &model() { return *m_model; }
    void openHeader(const QString &path); ///< of a GGUF file or a config.json; only the header is read

protected:
    void refresh() override;
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    bool eventFilter(QObject *watched, QEvent *event) override;
    void dragEnterEvent(QDragEnterEvent *event) override;
    void dropEvent(QDropEvent *event) override;

private:
    enum class Arrangement { None, Wide, Narrow };
    void createResults();
    void addPage(const QString &title, QWidget *page);
    void arrange();
    void chooseFile(const std::function<void(const QString &)> &take);
    void showFailure(const QString &what, const QString &why, const QString &advice);
    void fitNarrowPage();
    void take(std::uint64_t context, std::uint64_t batch, const std::string &weightType);

    QSettings m_settings;
    EstimatorModel *m_model = nullptr;
    MessageBar *m_message = nullptr;
    QBoxLayout *m_body = nullptr; // wide: inputs, results; narrow: verdict, scroll
    QScrollArea *m_inputs = nullptr;
    EstimateForm *m_form = nullptr;
    QWidget *m_right = nullptr; // results
    QBoxLayout *m_rightLayout = nullptr;
    QScrollArea *m_narrow = nullptr;
    QBoxLayout *m_narrowLayout = nullptr;
    VerdictView *m_verdict = nullptr;
    QWidget *m_details = nullptr; // tabs and their pages
    SegmentTabs *m_tabs = nullptr;
    QStackedWidget *m_pages = nullptr;
    SummaryView *m_summary = nullptr;
    CurvesView *m_curves = nullptr;
    FitTableView *m_fits = nullptr;
    TextbookView *m_textbook = nullptr;
    Arrangement m_arrangement = Arrangement::None;
    bool m_errorShown = false; // the message is about the present inputs
};

} // namespace tokenloupe
