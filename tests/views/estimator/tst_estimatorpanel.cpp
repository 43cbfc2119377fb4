// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/celltable.h"
#include "widgets/controls/messagebar.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/models/estimatormodel.h"
#include "widgets/models/fittablemodel.h"
#include "widgets/models/gpulistmodel.h"
#include "widgets/plots/capacityplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/contextfield.h"
#include "widgets/views/estimator/estimatorpanel.h"
#include "widgets/views/estimator/howtable.h"
#include "widgets/views/estimator/searchcombo.h"
#include "widgets/views/estimator/verdictview.h"

#include <QApplication>
#include <QDoubleSpinBox>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSlider>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTest>
#include <QToolButton>

using namespace tokenloupe;

class TestEstimatorPanel : public QObject
{
    Q_OBJECT

    static constexpr int patience = 30'000;
    QTemporaryDir m_folder;

    QString writeFile(const QString &name, const QByteArray &content)
    {
        QFile file(m_folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("cannot write a test file");
        return file.fileName();
    }
    static bool settle(EstimatorPanel &panel)
    {
        const bool settled = QTest::qWaitFor([&panel] { return !panel.model().isBusy(); }, patience);
        QCoreApplication::processEvents(); // the refresh that the result asked for
        return settled;
    }
    /// The panel on screen with the model of eight thousand million parameters and no settings but these.
    bool start(EstimatorPanel &panel, const QSize &size = {900, 700})
    {
        panel.resize(size);
        panel.show();
        panel.openHeader(writeFile(QStringLiteral("config.json"), test::eightBillionConfig));
        return QTest::qWaitForWindowActive(&panel) && settle(panel);
    }
    template <class Widget>
    static Widget *named(EstimatorPanel &panel, const char *name)
    {
        for (Widget *widget : panel.findChildren<Widget *>())
            if (widget->accessibleName() == QLatin1String(name))
                return widget;
        qFatal("no widget is called %s", name);
    }
    static void enter(SearchCombo *combo, const char *text)
    {
        combo->setFocus();
        combo->lineEdit()->selectAll();
        QTest::keyClicks(combo->lineEdit(), QLatin1String(text));
        QTest::keyClick(combo->lineEdit(), Qt::Key_Return);
    }
    static QString sentence(EstimatorPanel &panel) { return panel.findChild<VerdictView *>()->sentence(); }
    static void drop(EstimatorPanel &panel, const QString &path)
    {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(path)});
        QDragEnterEvent enterEvent({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&panel, &enterEvent);
        QVERIFY(enterEvent.isAccepted());
        QDropEvent dropEvent({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&panel, &dropEvent);
    }

private Q_SLOTS:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_folder.path());
        QCoreApplication::setOrganizationName(QStringLiteral("TokenloupeTests"));
        QCoreApplication::setApplicationName(QStringLiteral("tst_estimatorpanel"));
        Theme::instance().install();
    }
    void init()
    {
        QTest::failOnWarning(test::anyWarning());
        QSettings().clear();
        QFile::remove(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
                      QStringLiteral("/cards.json"));
    }

    void withoutAModelItSaysWhatToDo()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        panel.resize(900, 700);
        panel.show();
        QVERIFY(settle(panel));
        QVERIFY2(sentence(panel).contains(QStringLiteral("drop a GGUF")), qPrintable(sentence(panel)));
        QVERIFY(!panel.findChild<SegmentTabs *>()->isVisible());
        QVERIFY(panel.summary().isEmpty());
    }

    void theOpenModelIsTheSubject()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        panel.resize(900, 700);
        panel.show();
        QVERIFY(fixture.openTinyModel());
        QVERIFY(settle(panel));
        QVERIFY2(sentence(panel).startsWith(QStringLiteral("Fits this machine")),
                 qPrintable(sentence(panel)));
        QVERIFY(panel.summary().startsWith(QStringLiteral("fits · ")));
        QVERIFY(named<SearchCombo>(panel, "Model")->currentText().contains(QStringLiteral("loaded")));
    }

    void choosingACardAndTypingAContextAnswers()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        enter(named<SearchCombo>(panel, "Weight type"), "Q4_K_M");
        enter(named<SearchCombo>(panel, "Add a card"), "RTX 4090");
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().request.weightType, std::string("Q4_K_M"));
        QVERIFY2(sentence(panel).startsWith(QStringLiteral("Fits RTX 4090: ")), qPrintable(sentence(panel)));
        auto *context = named<QSpinBox>(panel, "Context in tokens");
        context->setFocus();
        context->selectAll();
        QTest::keyClicks(context, QStringLiteral("1000000"));
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().request.contextTokens, 1000000U);
        QCOMPARE(context->text(), QStringLiteral("1000000")); // nothing came between the digits
        QVERIFY2(sentence(panel).startsWith(QStringLiteral("Does not fit RTX 4090")),
                 qPrintable(sentence(panel)));
        QVERIFY(panel.summary().startsWith(QStringLiteral("does not fit")));
        // the numbers of the sentence are the engine's own
        const Estimate &estimate = *panel.model().result()->estimate;
        QVERIFY(sentence(panel).contains(formatBytes(estimate.totalBytes)));
        QVERIFY(sentence(panel).contains(formatBytes(estimate.capacityBytes)));
        const auto *bar = panel.findChild<VerdictView *>()->findChild<StackedBar *>();
        QCOMPARE(bar->segments().size(), estimate.parts.size());
    }

    void theSliderGoesByPowersOfTwo()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        auto *slider = named<QSlider>(panel, "Context, powers of two");
        QCOMPARE(1LL << slider->maximum(), 4LL * 131072);
        slider->setFocus();
        QCOMPARE(slider->value(), 12); // 4096
        QTest::keyClick(slider, Qt::Key_Right);
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().result()->request.contextTokens, 8192U);
        QCOMPARE(named<QSpinBox>(panel, "Context in tokens")->value(), 8192);
    }

    void aClickInTheTableSetsTheInputs()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        enter(named<SearchCombo>(panel, "Add a card"), "RTX 4090");
        QVERIFY(settle(panel));
        auto *tabs = panel.findChild<SegmentTabs *>();
        QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(2).center());
        auto *table = named<CellTable>(panel, "What fits, by weight type and context");
        QVERIFY(table->isVisible());
        const QModelIndex cell = table->model()->index(2, 2);
        const QString type = cell.data(FitTableModel::WeightTypeRole).toString();
        const quint64 context = cell.data(FitTableModel::ContextRole).toULongLong();
        QVERIFY(context != panel.model().inputs().request.contextTokens);
        table->scrollTo(cell);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(cell).center());
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().request.weightType, type.toStdString());
        QCOMPARE(panel.model().inputs().request.contextTokens, context);
        QCOMPARE(named<QSpinBox>(panel, "Context in tokens")->value(), int(context));
        QCOMPARE(named<SearchCombo>(panel, "Weight type")->currentData().toString(), type);
        // and by keyboard: one to the right
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Right);
        QTest::keyClick(table, Qt::Key_Return);
        QVERIFY(settle(panel));
        QVERIFY(panel.model().inputs().request.contextTokens > context);
    }

    void aBrokenFileIsNamedAndTheInputsStay()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        const QString before = sentence(panel);
        const QString broken = writeFile(QStringLiteral("broken.json"), R"({"model_type": "llama", )");
        auto *button = named<QToolButton>(panel, "Model: open a file's header");
        QTest::mouseClick(button, Qt::LeftButton);
        auto *dialog = panel.findChild<QFileDialog *>();
        QVERIFY(dialog);
        QVERIFY(dialog->isVisible());
        dialog->setDirectory(m_folder.path());
        auto *name = dialog->findChild<QLineEdit *>(QStringLiteral("fileNameEdit"));
        QVERIFY(name);
        name->setText(broken);
        QTest::keyClick(name, Qt::Key_Return);
        QVERIFY(settle(panel));
        const auto *message = panel.findChild<MessageBar *>();
        QVERIFY(message->isVisible());
        QVERIFY2(message->message().what.contains(QStringLiteral("broken.json")),
                 qPrintable(message->message().what));
        QVERIFY(!message->message().why.isEmpty());
        QVERIFY(!message->message().advice.isEmpty());
        QCOMPARE(sentence(panel), before);
        QVERIFY(named<SearchCombo>(panel, "Model")->currentText().endsWith(QStringLiteral("config.json")));
    }

    void aDroppedFileIsAskedAbout()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        panel.resize(900, 700);
        panel.show();
        QVERIFY(settle(panel));
        drop(panel, QString::fromStdString(test::writeTinyModel(m_folder.path().toStdString()).string()));
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().model.origin, ShapeOrigin::File);
        QCOMPARE(panel.model().shape()->layers, 2U);
        QVERIFY(sentence(panel).startsWith(QStringLiteral("Fits")));
        QVERIFY(!fixture.host.status().model); // it was not loaded
    }

    void unknownNamesAreSaid()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        const auto *message = panel.findChild<MessageBar *>();
        enter(named<SearchCombo>(panel, "Add a card"), "RTX 9999");
        QVERIFY(message->isVisible());
        QVERIFY(message->message().what.contains(QStringLiteral("RTX 9999")));
        enter(named<SearchCombo>(panel, "Weight type"), "Q17");
        QVERIFY(message->message().what.contains(QStringLiteral("Q17")));
        enter(named<SearchCombo>(panel, "Model"), "Zebra");
        QVERIFY(message->message().what.contains(QStringLiteral("Zebra")));
        QCOMPARE(panel.model().inputs().request.weightType, std::string("stored"));
    }

    void aBuiltInShapeIsFoundByAPartOfItsName()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        enter(named<SearchCombo>(panel, "Model"), "Llama-3.1-8B");
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().model.origin, ShapeOrigin::BuiltIn);
        QCOMPARE(panel.model().shape()->layers, 32U);
        enter(named<SearchCombo>(panel, "Add a card"), "RTX 4090");
        enter(named<SearchCombo>(panel, "Draft model"), "Llama-3.2-1B");
        QVERIFY(settle(panel));
        QVERIFY(panel.model().result()->request.draft);
        const auto &parts = panel.model().result()->estimate->parts;
        QVERIFY(std::any_of(parts.begin(), parts.end(), [](const EstimatePart &part) {
            return part.title.find("raft") != std::string::npos;
        }));
    }

    void severalCardsAreSplitEditedAndRemoved()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        auto *add = named<SearchCombo>(panel, "Add a card");
        enter(add, "RTX 4090");
        enter(add, "RTX 3090");
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().result()->estimate->devices.size(), std::size_t(2));
        auto *shares = named<CellTable>(panel, "What each card gets");
        QVERIFY(shares->isVisible());
        QCOMPARE(shares->model()->rowCount(), 2);
        auto *table = named<CellTable>(panel, "Chosen cards");
        table->setCurrentIndex(table->model()->index(1, 0));
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Return);
        auto *memory = named<QDoubleSpinBox>(panel, "Memory of the card in GiB");
        QVERIFY(memory->isVisible());
        memory->setFocus();
        memory->selectAll();
        QTest::keyClicks(memory, QStringLiteral("48"));
        QTest::mouseClick(named<QPushButton>(panel, "Save as a card of your own"), Qt::LeftButton);
        QVERIFY(settle(panel));
        QVERIFY(!memory->isVisible());
        const Gpu own = panel.model().inputs().request.devices[1];
        QCOMPARE(own.memoryBytes, std::uint64_t(48) << 30);
        QVERIFY(own.name.find("mine") != std::string::npos);
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Delete);
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().request.devices.size(), std::size_t(1));
        QVERIFY(!shares->isVisible());
        // the next start knows the card
        test::ViewFixture other;
        EstimatorPanel again(other.context);
        QVERIFY(again.model().catalogue().find(own.name));
    }

    void inputsComeBackAtTheNextStart()
    {
        test::ViewFixture fixture;
        {
            EstimatorPanel panel(fixture.context);
            QVERIFY(start(panel));
            enter(named<SearchCombo>(panel, "Add a card"), "RTX 4090");
            auto *batch = named<QSpinBox>(panel, "Batch: sequences at the same time");
            batch->setFocus();
            batch->selectAll();
            QTest::keyClicks(batch, QStringLiteral("5"));
            QVERIFY(settle(panel));
        }
        EstimatorPanel panel(fixture.context);
        panel.resize(900, 700);
        panel.show();
        QVERIFY(settle(panel));
        QCOMPARE(panel.model().inputs().request.batch, 5U);
        QCOMPARE(panel.model().inputs().model.origin, ShapeOrigin::File);
        QVERIFY(sentence(panel).contains(QStringLiteral("RTX 4090")));
    }

    void theArithmeticOfTheSelectedPartIsShown()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        const Estimate &estimate = *panel.model().result()->estimate;
        HowTable *parts = nullptr;
        for (HowTable *table : panel.findChildren<HowTable *>())
            if (table->table()->accessibleName() == QLatin1String("Parts of the memory needed"))
                parts = table;
        QVERIFY(parts);
        QVERIFY(parts->shownText().startsWith(QString::fromStdString(estimate.parts[0].how)));
        parts->table()->setFocus();
        QTest::keyClick(parts->table(), Qt::Key_Down);
        QVERIFY(parts->shownText().startsWith(QString::fromStdString(estimate.parts[1].how)));
    }

    void itIsUsableAtEverySize_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("narrow") << QSize(420, 800);
        QTest::newRow("small") << QSize(640, 560);
        QTest::newRow("usual") << QSize(900, 700);
    }

    void itIsUsableAtEverySize()
    {
        QFETCH(const QSize, size);
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel, size));
        enter(named<SearchCombo>(panel, "Add a card"), "RTX 4090");
        QTest::keyClick(named<CellTable>(panel, "Chosen cards"), Qt::Key_Return);
        QVERIFY(settle(panel));
        QVERIFY(named<QDoubleSpinBox>(panel, "Memory bandwidth in GB/s")->isVisible());
        QCOMPARE(panel.size(), size); // nothing forces it wider
        const auto *verdict = panel.findChild<VerdictView *>();
        QVERIFY(verdict->isVisible());
        QVERIFY(panel.rect().contains(QRect(verdict->mapTo(&panel, QPoint()), verdict->size())));
        // nothing sticks out sideways of what scrolls it
        for (const QScrollArea *area : panel.findChildren<QScrollArea *>())
            if (area->isVisible())
                QVERIFY2(area->widget()->minimumSizeHint().width() <= area->viewport()->width() + 1,
                         qPrintable(QStringLiteral("%1 wants %2 in %3")
                                        .arg(QLatin1String(area->widget()->metaObject()->className()))
                                        .arg(area->widget()->minimumSizeHint().width())
                                        .arg(area->viewport()->width())));
        for (CapacityPlot *plot : panel.findChildren<CapacityPlot *>())
            QVERIFY(plot->width() <= panel.width());
    }

    void itCanBeWalkedByKeyboard()
    {
        test::ViewFixture fixture;
        EstimatorPanel panel(fixture.context);
        QVERIFY(start(panel));
        named<SearchCombo>(panel, "Model")->setFocus();
        QSet<QWidget *> seen;
        for (int i = 0; i < 60; ++i) {
            QWidget *focus = QApplication::focusWidget();
            QVERIFY(focus);
            QVERIFY2(!focus->accessibleName().isEmpty() || qobject_cast<QLineEdit *>(focus),
                     focus->metaObject()->className());
            if (seen.contains(focus))
                break;
            seen.insert(focus);
            QTest::keyClick(focus, Qt::Key_Tab);
        }
        QVERIFY(seen.contains(named<QSpinBox>(panel, "Context in tokens")));
        QVERIFY(seen.contains(panel.findChild<SegmentTabs *>()));
        QVERIFY(seen.contains(named<CellTable>(panel, "Parts of the memory needed")));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestEstimatorPanel)
#include "tst_estimatorpanel.moc"
