// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/estimatorpanel.h"

#include "widgets/controls/messagebar.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/estimatormodel.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/curvesview.h"
#include "widgets/views/estimator/estimateform.h"
#include "widgets/views/estimator/fittableview.h"
#include "widgets/views/estimator/summaryview.h"
#include "widgets/views/estimator/textbookview.h"
#include "widgets/views/estimator/verdictview.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMimeData>
#include <QScrollArea>
#include <QScrollBar>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

constexpr int leastWide = 580;   // from this width on inputs and results lie side by side
constexpr int leastInputs = 264; // their width then, and in a panel with much room
constexpr int mostInputs = 300;
constexpr int narrowPage = 380;

std::filesystem::path ownCardsFile()
{
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
    return std::filesystem::path(folder.toStdString()) / "cards.json";
}

// A scroll area that looks like its surroundings.
QScrollArea *makeScrollArea(QWidget *widget)
{
    auto *area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->viewport()->setAutoFillBackground(false);
    area->setWidget(widget);
    widget->setAutoFillBackground(false);
    return area;
}

} // namespace

EstimatorPanel::EstimatorPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Estimator"), parent)
{
    const Theme &theme = Theme::instance();
    setAcceptDrops(true);
    m_model = new EstimatorModel(context.host, ownCardsFile(), this);
    m_model->hold();
    m_message = new MessageBar(this);
    content()->addWidget(m_message);
    m_form = new EstimateForm(*m_model);
    m_form->installEventFilter(this); // it grows while a card is edited
    m_inputs = makeScrollArea(m_form);
    m_verdict = new VerdictView;
    createResults();
    m_right = new QWidget;
    m_rightLayout = new QVBoxLayout(m_right);
    m_rightLayout->setContentsMargins(0, 0, 0, 0);
    m_rightLayout->setSpacing(theme.scaled(4));
    auto *narrowContent = new QWidget;
    m_narrowLayout = new QVBoxLayout(narrowContent);
    m_narrowLayout->setContentsMargins(0, 0, 0, 0);
    m_narrowLayout->setSpacing(theme.scaled(8));
    m_narrow = makeScrollArea(narrowContent);
    m_body = new QBoxLayout(QBoxLayout::LeftToRight);
    m_body->setSpacing(theme.scaled(16));
    content()->addLayout(m_body, 1);
    arrange();

    connect(m_form, &EstimateForm::failed, this, &EstimatorPanel::showFailure);
    connect(m_form, &EstimateForm::openModelRequested, this,
            [this] { chooseFile([this](const QString &path) { openHeader(path); }); });
    connect(m_form, &EstimateForm::openDraftRequested, this, [this] {
        chooseFile([this](const QString &path) { m_model->chooseDraft({ShapeOrigin::File, path}); });
    });
    connect(m_model, &EstimatorModel::failed, this, &EstimatorPanel::showFailure);
    connect(m_model, &EstimatorModel::resultChanged, this, &EstimatorPanel::scheduleRefresh);
    connect(m_model, &EstimatorModel::inputsChanged, this, [this] {
        saveInputs(m_settings, m_model->inputs());
        scheduleRefresh();
    });
    m_model->loadOwnCards();
    QStringList missing;
    const EstimatorInputs inputs = restoreInputs(m_settings, m_model->catalogue(), missing);
    m_tabs->setCurrentIndex(m_settings.value(QStringLiteral("estimator/tab"), 0).toInt());
    m_model->setInputs(inputs);
    if (!missing.isEmpty())
        showFailure(tr("Not in the catalogue any more: %1").arg(missing.join(QStringLiteral(", "))), {},
                    tr("Choose another card."));
    refresh();
}

EstimatorPanel::~EstimatorPanel() = default;

void EstimatorPanel::createResults()
{
    m_details = new QWidget;
    auto *layout = new QVBoxLayout(m_details);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_tabs = new SegmentTabs(tr("Results of the estimate"));
    m_pages = new QStackedWidget;
    layout->addWidget(m_tabs);
    layout->addWidget(m_pages, 1);
    m_summary = new SummaryView;
    m_curves = new CurvesView;
    m_fits = new FitTableView;
    m_textbook = new TextbookView;
    addPage(tr("Summary"), makeScrollArea(m_summary));
    addPage(tr("Curves"), m_curves);
    addPage(tr("Table"), m_fits);
    addPage(tr("Textbook"), makeScrollArea(m_textbook));
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int index) {
        m_pages->setCurrentIndex(index);
        m_settings.setValue(QStringLiteral("estimator/tab"), index);
        fitNarrowPage();
    });
    connect(m_curves, &CurvesView::contextPicked, this, [this](quint64 tokens) { take(tokens, 0, {}); });
    connect(m_curves, &CurvesView::batchPicked, this, [this](quint64 sequences) { take(0, sequences, {}); });
    connect(m_fits, &FitTableView::picked, this,
            [this](const QString &type, quint64 tokens) { take(tokens, 0, type.toStdString()); });
}

void EstimatorPanel::addPage(const QString &title, QWidget *page)
{
    m_tabs->addTab(title);
    m_pages->addWidget(page);
}

// What is 0 or empty stays as it is.
void EstimatorPanel::take(std::uint64_t context, std::uint64_t batch, const std::string &weightType)
{
    EstimateRequest request = m_model->inputs().request;
    if (context > 0)
        request.contextTokens = context;
    if (batch > 0)
        request.batch = batch;
    if (!weightType.empty())
        request.weightType = weightType;
    m_model->setRequest(request);
}

void EstimatorPanel::openHeader(const QString &path)
{
    m_model->chooseModel({ShapeOrigin::File, path});
}

void EstimatorPanel::chooseFile(const std::function<void(const QString &)> &take)
{
    auto *dialog = new QFileDialog(this, tr("Open a model's header"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({tr("Models (*.gguf *.json)"), tr("All files (*)")});
    const QString folder = m_settings.value(QStringLiteral("estimator/folder")).toString();
    if (!folder.isEmpty())
        dialog->setDirectory(folder);
    connect(dialog, &QFileDialog::fileSelected, this, [this, take](const QString &path) {
        m_settings.setValue(QStringLiteral("estimator/folder"), QFileInfo(path).path());
        take(path);
    });
    dialog->open();
}

void EstimatorPanel::dragEnterEvent(QDragEnterEvent *event)
{
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.first().isLocalFile())
        event->acceptProposedAction();
}

void EstimatorPanel::dropEvent(QDropEvent *event)
{
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.isEmpty())
        return;
    openHeader(urls.first().toLocalFile());
    event->acceptProposedAction(); // here a file is only asked about, not loaded
}

void EstimatorPanel::showFailure(const QString &what, const QString &why, const QString &advice)
{
    m_errorShown = false;
    m_message->showMessage({MessageKind::Error, what, why, advice, {}, {}});
}

void EstimatorPanel::showEvent(QShowEvent *event)
{
    m_model->release();
    LivePanel::showEvent(event);
}

void EstimatorPanel::hideEvent(QHideEvent *event)
{
    m_model->hold();
    LivePanel::hideEvent(event);
}

void EstimatorPanel::resizeEvent(QResizeEvent *event)
{
    LivePanel::resizeEvent(event);
    arrange();
}

bool EstimatorPanel::eventFilter(QObject *watched, QEvent *event)
{
    if (watched == m_form && event->type() == QEvent::LayoutRequest)
        fitNarrowPage();
    return LivePanel::eventFilter(watched, event);
}

void EstimatorPanel::arrange()
{
    const Theme &theme = Theme::instance();
    const int wide = theme.scaled(leastWide);
    const Arrangement wanted = width() >= wide ? Arrangement::Wide : Arrangement::Narrow;
    if (wanted == Arrangement::Wide)
        m_inputs->setFixedWidth(
            qBound(theme.scaled(leastInputs), width() * 36 / 100, theme.scaled(mostInputs)));
    if (wanted == m_arrangement)
        return;
    m_arrangement = wanted;
    QWidget *focused = QApplication::focusWidget(); // moving widgets takes the focus away
    if (wanted == Arrangement::Wide) {
        m_body->setDirection(QBoxLayout::LeftToRight);
        m_inputs->setMinimumHeight(0);
        m_inputs->setMaximumHeight(QWIDGETSIZE_MAX);
        m_details->setMinimumHeight(0);
        m_rightLayout->addWidget(m_verdict);
        m_rightLayout->addWidget(m_details, 1);
        m_body->addWidget(m_inputs);
        m_body->addWidget(m_right, 1);
        m_narrow->hide();
        m_body->removeWidget(m_narrow);
        m_right->show();
    } else {
        m_body->setDirection(QBoxLayout::TopToBottom);
        m_inputs->setMinimumWidth(0);
        m_inputs->setMaximumWidth(QWIDGETSIZE_MAX);
        m_right->hide();
        m_body->removeWidget(m_right);
        m_narrowLayout->addWidget(m_inputs);
        m_narrowLayout->addWidget(m_details, 1);
        m_body->addWidget(m_verdict);
        m_body->addWidget(m_narrow, 1);
        m_narrow->show();
        fitNarrowPage();
    }
    if (focused && isAncestorOf(focused))
        focused->setFocus();
}

// Narrow, everything is as high as it wants to be and one bar scrolls it all.
void EstimatorPanel::fitNarrowPage()
{
    if (m_arrangement != Arrangement::Narrow)
        return;
    const Theme &theme = Theme::instance();
    m_inputs->setFixedHeight(m_form->sizeHint().height() + 2);
    int page = theme.scaled(narrowPage);
    if (const auto *area = qobject_cast<QScrollArea *>(m_pages->currentWidget())) {
        QWidget *inside = area->widget();
        const int width = m_pages->width();
        page = std::max(page, inside->hasHeightForWidth() || inside->layout()->hasHeightForWidth()
                                  ? inside->layout()->totalHeightForWidth(width)
                                  : inside->sizeHint().height());
    }
    m_details->setMinimumHeight(m_tabs->sizeHint().height() + page);
}

void EstimatorPanel::refresh()
{
    const EstimatorResultPtr result = m_model->result();
    if (!result->estimate) {
        setSummary({});
        m_details->setEnabled(false);
        m_details->setVisible(false);
        if (result->error.isEmpty()) {
            m_verdict->setHint(m_model->isBusy()
                                   ? tr("Computing…")
                                   : tr("Choose a model, drop a GGUF file or a config.json here, or open a "
                                        "model (Ctrl+O). Only the header is read."));
        } else {
            m_verdict->setHint(tr("No estimate with these inputs"));
            m_message->showMessage({MessageKind::Error,
                                    tr("This cannot be estimated"),
                                    result->error,
                                    tr("Change the setting that it names; all inputs keep their values."),
                                    {},
                                    {}});
            m_errorShown = true;
        }
        return;
    }
    if (m_errorShown) { // it was about inputs that are not there any more
        m_message->hide();
        m_errorShown = false;
    }
    const Estimate &estimate = *result->estimate;
    m_details->setVisible(true);
    m_details->setEnabled(true);
    m_verdict->setResult(result);
    m_summary->setResult(result);
    m_curves->setResult(result);
    m_fits->setResult(result);
    m_textbook->setResult(result);
    setSummary(
        QStringList{estimate.fits ? tr("fits") : tr("does not fit"),
                    tr("%1 of %2").arg(formatBytes(estimate.totalBytes), formatBytes(estimate.capacityBytes))}
            .join(QStringLiteral(" · ")));
    fitNarrowPage();
}

} // namespace tokenloupe
