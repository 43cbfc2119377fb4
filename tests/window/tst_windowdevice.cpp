// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/window/devicewindow.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/kvcache/kvcachepanel.h"
#include "widgets/views/memory/memorypanel.h"
#include "widgets/views/precision/precisionpanel.h"
#include "widgets/views/timeline/stepdetails.h"
#include "widgets/views/timeline/timelinepanel.h"

#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QTest>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

double sumOf(const StackedBar &bar)
{
    double sum = 0.0;
    for (const BarSegment &segment : bar.segments())
        sum += segment.value;
    return sum;
}

} // namespace

/// The window on a device: choosing it, what panels say of it, and what happens when it is not there.
class TestWindowDevice : public QObject
{
    Q_OBJECT

    QTemporaryDir m_settings;

private Q_SLOTS:
    void initTestCase()
    {
        WindowFixture::useOwnSettings(m_settings);
        Theme::instance().install();
    }
    void init()
    {
        QTest::failOnWarning(test::anyWarning());
        WindowFixture::clearSettings();
        QSettings().setValue(QStringLiteral("engine/context"), 256);
        QSettings().setValue(QStringLiteral("engine/batch"), 32);
        Theme::instance().setMode(ThemeMode::Light);
        cudahost::reset(card());
    }
    void cleanup()
    {
        cudahost::checkMemory();
        for (const std::string &fault : cudahost::takeFaults())
            QFAIL(fault.c_str());
    }

    void isChosenFromTheMenuAndRemembered()
    {
        {
            DeviceWindow fixture;
            QVERIFY(fixture.openTiny());
            QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cpu);
            QVERIFY(fixture.chooseInMenu(QStringLiteral("CUDA device")));
            QTRY_COMPARE_WITH_TIMEOUT(fixture.inspector().host.status().session.backend, BackendKind::Cuda,
                                      WindowFixture::patience);
            QVERIFY(fixture.waitFor(EngineState::Idle));
            QVERIFY(!fixture.message().isVisible());
            QVERIFY(fixture.deviceButton().text().startsWith(QStringLiteral("CUDA device")));
            QVERIFY(fixture.say(QStringLiteral("hello"), 3));
            QCOMPARE(fixture.run()->start.arithmetic.device,
                     fixture.inspector().host.status().device.toStdString());
        }
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cuda);
        QVERIFY(fixture.inspector().host.status().fallbackReason.isEmpty());
        // And back.
        QVERIFY(fixture.chooseInMenu(QStringLiteral("CPU")));
        QTRY_COMPARE_WITH_TIMEOUT(fixture.inspector().host.status().session.backend, BackendKind::Cpu,
                                  WindowFixture::patience);
        QTRY_COMPARE(QSettings().value(QStringLiteral("engine/backend")).toString(), QStringLiteral("cpu"));
    }

    void isChosenInTheDialog()
    {
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        EngineSettingsDialog *dialog = fixture.openDialog();
        QVERIFY(dialog);
        auto *devices = fixture.field<QComboBox>(*dialog, QStringLiteral("Device"));
        QAbstractItemModelTester tester(devices->model());
        QTRY_COMPARE(devices->count(), 2);
        QVERIFY2(devices->itemText(1).endsWith(formatBytes(std::uint64_t(1) << 30)),
                 qPrintable(devices->itemText(1)));
        auto *apply = fixture.button(*dialog, QStringLiteral("Apply"));
        QVERIFY(!apply->isEnabled());
        devices->setFocus();
        QTest::keyClick(devices, Qt::Key_Down);
        QCOMPARE(devices->currentIndex(), 1);
        QVERIFY(apply->isEnabled());
        QSignalSpy applied(dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(apply, Qt::LeftButton);
        QVERIFY(applied.wait(WindowFixture::patience));
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cuda);
        QCOMPARE(QSettings().value(QStringLiteral("engine/backend")).toString(), QStringLiteral("cuda"));
        QVERIFY(!apply->isEnabled());
        QCOMPARE(devices->currentIndex(), 1);
        // Precision alone stays on the device.
        auto *precision = fixture.field<QComboBox>(*dialog, QStringLiteral("Precision"));
        precision->setFocus();
        QTest::keyClick(precision, precision->currentIndex() == 0 ? Qt::Key_Down : Qt::Key_Up);
        QTest::mouseClick(apply, Qt::LeftButton);
        QVERIFY(applied.wait(WindowFixture::patience));
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cuda);
    }

    void aPartOfTheLayersIsChosenInTheDialogAndRemembered()
    {
        {
            DeviceWindow fixture;
            QVERIFY(fixture.openTiny());
            EngineSettingsDialog *dialog = fixture.openDialog();
            QVERIFY(dialog);
            auto *devices = fixture.field<QComboBox>(*dialog, QStringLiteral("Device"));
            auto *layers = fixture.field<QSpinBox>(*dialog, QStringLiteral("Layers on the device"));
            auto *threads = fixture.field<QSpinBox>(*dialog, QStringLiteral("Threads"));
            auto *apply = fixture.button(*dialog, QStringLiteral("Apply"));
            QTRY_COMPARE(devices->count(), 2);
            QVERIFY(!layers->isEnabled()); // the CPU has them all
            QCOMPARE(layers->text(), QStringLiteral("2 of 2"));
            devices->setFocus();
            QTest::keyClick(devices, Qt::Key_Down);
            QVERIFY(layers->isEnabled() && !threads->isEnabled());
            QTest::keyClick(devices, Qt::Key_Tab);
            QCOMPARE(dialog->focusWidget(), layers);
            QTest::keyClick(layers, Qt::Key_Down);
            QCOMPARE(layers->text(), QStringLiteral("1 of 2"));
            QVERIFY(threads->isEnabled());
            QVERIFY(layers->width() >= layers->sizeHint().width());
            QSignalSpy applied(dialog, &EngineSettingsDialog::applied);
            QTest::mouseClick(apply, Qt::LeftButton);
            QVERIFY(applied.wait(WindowFixture::patience));
            const EngineStatus &status = fixture.inspector().host.status();
            QCOMPARE(status.session.backend, BackendKind::Cuda);
            QCOMPARE(status.deviceLayers, std::optional(1U));
            QCOMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 1U);
            QVERIFY(!apply->isEnabled());
            QCOMPARE(layers->value(), 1);
            QVERIFY2(fixture.deviceButton().text().startsWith(QStringLiteral("1 of 2 layers on CUDA device")),
                     qPrintable(fixture.deviceButton().text()));
            QVERIFY(fixture.deviceButton().toolTip().contains(QStringLiteral("the rest on the CPU")));
            QVERIFY(!fixture.message().isVisible());
            dialog->close();
            QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        }
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        QCOMPARE(fixture.inspector().host.status().deviceLayers, std::optional(1U));
        // All of them again, from the menu.
        QVERIFY(fixture.chooseInMenu(QStringLiteral("all layers")));
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.inspector().host.status().deviceLayers, WindowFixture::patience);
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cuda);
        QTRY_COMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 0U);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QVERIFY(fixture.chooseInMenu(QStringLiteral("1 of 2 layers")));
        QTRY_COMPARE_WITH_TIMEOUT(fixture.inspector().host.status().deviceLayers, std::optional(1U),
                                  WindowFixture::patience);
        QTRY_COMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 1U);
    }

    void missingItFallsBackAndSaysWhy_data()
    {
        QTest::addColumn<int>("driver");
        QTest::addColumn<int>("devices");
        QTest::addColumn<int>("major");
        QTest::addColumn<QString>("reason");
        QTest::newRow("no driver") << 0 << 1 << 9 << QStringLiteral("no NVIDIA driver");
        QTest::newRow("old driver") << 12020 << 1 << 9 << QStringLiteral("driver too old: 12.2, 13.0 needed");
        QTest::newRow("no device") << 13000 << 0 << 9 << QStringLiteral("no device");
        QTest::newRow("old device") << 13000 << 1 << 6
                                    << QStringLiteral("compute capability 6.0 is not supported");
    }
    void missingItFallsBackAndSaysWhy()
    {
        QFETCH(int, driver);
        QFETCH(int, devices);
        QFETCH(int, major);
        QFETCH(QString, reason);
        cudahost::Settings settings = card();
        settings.driverVersion = driver;
        settings.devices = devices;
        settings.computeMajor = major;
        cudahost::reset(settings);
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cpu);
        QTRY_VERIFY(fixture.message().isVisible());
        QCOMPARE(fixture.message().message().what, QStringLiteral("The model runs on the CPU."));
        QVERIFY2(fixture.message().message().why.contains(reason),
                 qPrintable(fixture.message().message().why));
        // The menu says it too, where it cannot be chosen.
        QMenu *menu = fixture.openMenu();
        QTRY_VERIFY(!fixture.inspector().host.devices().problem.empty() ||
                    !fixture.inspector().host.devices().devices.empty());
        menu->close();
        menu = fixture.openMenu();
        const auto actions = menu->actions();
        const auto entry = std::find_if(actions.begin(), actions.end(), [&](const QAction *action) {
            return action->toolTip().contains(reason);
        });
        QVERIFY(entry != actions.end());
        QVERIFY(!(*entry)->isEnabled());
        QVERIFY(menu->toolTipsVisible());
        menu->close();
        // It works, and the wish is not forgotten.
        QVERIFY(fixture.say(QStringLiteral("hello"), 2));
        QCOMPARE(QSettings().value(QStringLiteral("engine/backend")).toString(), QStringLiteral("cuda"));
    }

    void theMemoryPanelCountsTheDevice()
    {
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        fixture.dock("memory")->show();
        fixture.dock("memory")->raise();
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        auto *panel = fixture.panel<MemoryPanel>();
        auto *bar = fixture.bar(*panel, QStringLiteral("Memory of the device"));
        QTRY_VERIFY(bar && bar->isVisible());
        const EngineStatus &status = fixture.inspector().host.status();
        const auto valueOf = [&](const QString &name) {
            for (const BarSegment &segment : bar->segments()) {
                if (segment.name == name)
                    return segment.value;
            }
            return -1.0;
        };
        // The panel is shown at its own pace: what came last is there a little later.
        QTRY_VERIFY(valueOf(QStringLiteral("Scratch")) > 0.0);
        QCOMPARE(valueOf(QStringLiteral("CUDA context")), double(contextBytes));
        QCOMPARE(valueOf(QStringLiteral("Weights")), double(status.deviceNeeds->weightBytes));
        QCOMPARE(valueOf(QStringLiteral("KV pool")), double(status.plan.bytesOf(MemoryPart::KvCache)));
        QVERIFY(valueOf(QStringLiteral("cuBLAS")) > 0.0);
        // But for what nobody plans: a pass's inputs, some constants.
        const auto unplanned = [&] { return double(status.deviceMemory->usedBytes()) - sumOf(*bar); };
        QTRY_VERIFY2(unplanned() >= 0.0 && unplanned() < 64.0 * 1024.0,
                     qPrintable(QString::number(unplanned())));
        QCOMPARE(status.deviceMemory->usedBytes(), contextBytes + cudahost::allocatedBytes());
        QVERIFY2(panel->summary().contains(formatBytes(std::uint64_t(1) << 30)),
                 qPrintable(panel->summary()));
        // What is on the host is beside it, and not what is on the device.
        auto *here = fixture.bar(*panel, QStringLiteral("Planned memory in use"));
        for (const BarSegment &segment : here->segments())
            QVERIFY(segment.name != QLatin1String("KV pool") && segment.name != QLatin1String("Weights"));
    }

    void theMemoryPanelCountsBothSides()
    {
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        QSettings().setValue(QStringLiteral("engine/deviceLayers"), 1);
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        fixture.dock("memory")->show();
        fixture.dock("memory")->raise();
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        auto *panel = fixture.panel<MemoryPanel>();
        const MemoryPlan &plan = fixture.inspector().host.status().plan;
        const auto valueOf = [](const StackedBar *bar, const QString &name) {
            for (const BarSegment &segment : bar->segments()) {
                if (segment.name == name)
                    return segment.value;
            }
            return -1.0;
        };
        auto *there = fixture.bar(*panel, QStringLiteral("Memory of the device"));
        auto *here = fixture.bar(*panel, QStringLiteral("Planned memory in use"));
        QTRY_VERIFY(there && there->isVisible() && valueOf(there, QStringLiteral("Scratch")) > 0.0);
        QCOMPARE(valueOf(there, QStringLiteral("Weights")),
                 double(plan.bytesOf(MemoryPart::Weights, MemoryPlace::Device)));
        QCOMPARE(valueOf(here, QStringLiteral("Weights")),
                 double(plan.bytesOf(MemoryPart::Weights, MemoryPlace::Host)));
        QCOMPARE(valueOf(there, QStringLiteral("KV pool")),
                 double(plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Device)));
        const double pool = double(plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Host));
        QTRY_VERIFY(valueOf(here, QStringLiteral("KV pool")) > 0.0);
        QVERIFY(valueOf(here, QStringLiteral("KV pool")) <= pool);
        QVERIFY(valueOf(here, QStringLiteral("Runtime")) > 0.0);
        auto *title = fixture.field<QLabel>(*panel, QStringLiteral("Device"));
        QVERIFY2(title->text().startsWith(QStringLiteral("1 of 2 layers")), qPrintable(title->text()));
        // A step that is looked at later.
        fixture.inspector().selection.select({fixture.run()->start.run, StepIndex(1)});
        QTRY_VERIFY(valueOf(here, QStringLiteral("KV pool")) > 0.0);
        const double atStep = double(fixture.run()->steps[1].kvBytes);
        QTRY_VERIFY(std::abs(valueOf(here, QStringLiteral("KV pool")) - atStep / 2.0) < 1.0);
    }

    void theTimelineTimesOperations()
    {
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        fixture.dock("timeline")->show();
        fixture.dock("timeline")->raise();
        auto *panel = fixture.panel<TimelinePanel>();
        auto *details = panel->findChild<StepDetails *>();
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        QTRY_VERIFY2(details->text().startsWith(QStringLiteral("read ")), qPrintable(details->text()));
        QVERIFY2(details->text().contains(QStringLiteral(" % of ")), qPrintable(details->text()));
        QVERIFY(!details->text().contains(QStringLiteral("attention")));
        QToolButton *times = fixture.toolButton(QStringLiteral("Kernel times"));
        QVERIFY(times && times->isVisible());
        QTest::mouseClick(times, Qt::LeftButton);
        QTRY_COMPARE(fixture.inspector().host.status().operationTimes, Measuring::On);
        QVERIFY(fixture.say(QStringLiteral("again"), 3));
        for (const char *name : {"products", "attention", "norm", "head", "copy", "rotary, store"})
            QTRY_VERIFY2(details->text().contains(QString::fromLatin1(name)), qPrintable(details->text()));
        auto *bar = fixture.bar(*details, QStringLiteral("Kernel times of the step"));
        QCOMPARE(bar->segments().size(), operationCount);
        const StepRecord &step = fixture.run()->steps.back();
        QVERIFY(step.operations.isMeasured());
        QTRY_VERIFY(std::abs(sumOf(*bar) - double(step.operations.total())) < 1e-3);
        QTest::mouseClick(times, Qt::LeftButton);
        QTRY_COMPARE(fixture.inspector().host.status().operationTimes, Measuring::Off);
        QVERIFY(fixture.say(QStringLiteral("more"), 3));
        QVERIFY(!fixture.run()->steps.back().operations.isMeasured());
    }

    void aReplySaysWhatComputedIt()
    {
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        QSettings().setValue(QStringLiteral("engine/deviceLayers"), 1);
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        for (const char *name : {"timeline", "precision", "kvcache"}) {
            QVERIFY2(fixture.dock(name), name);
            fixture.dock(name)->show();
            fixture.dock(name)->raise();
        }
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        const RunId ofDevice = fixture.run()->start.run;
        QCOMPARE(fixture.run()->start.arithmetic, fixture.inspector().host.status().arithmetic);
        QVERIFY(fixture.chooseInMenu(QStringLiteral("CPU")));
        QTRY_COMPARE_WITH_TIMEOUT(fixture.inspector().host.status().session.backend, BackendKind::Cpu,
                                  WindowFixture::patience);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QVERIFY(fixture.say(QStringLiteral("again"), 3));
        const RunId ofCpu = fixture.run()->start.run;
        auto *timeline = fixture.panel<TimelinePanel>();
        auto *precision = fixture.panel<PrecisionPanel>();
        QPushButton *measure = nullptr;
        for (QPushButton *each : fixture.panel<KvCachePanel>()->findChildren<QPushButton *>()) {
            if (each->text().startsWith(QStringLiteral("Measure")))
                measure = each;
        }
        QVERIFY(measure);
        for (const RunId run : {ofCpu, ofDevice}) {
            const QString part = QStringLiteral("1 of 2 layers on CUDA device");
            const QString by = run == ofCpu ? QStringLiteral("CPU") : part;
            fixture.inspector().selection.select({run, StepIndex(1)});
            for (Panel *panel : {static_cast<Panel *>(timeline), static_cast<Panel *>(precision)}) {
                panel->parentWidget()->raise();
                QTRY_VERIFY2(panel->summary().section(QStringLiteral(" · "), -1).startsWith(by),
                             qPrintable(panel->summary()));
            }
            auto *note = fixture.field<QLabel>(*precision, QStringLiteral("What comparing takes"));
            QTRY_COMPARE(note->text().contains(part), run == ofDevice);
            // What the cache does cannot be told from what the device does.
            QTRY_COMPARE(measure->isEnabled(), run == ofCpu);
        }
    }

    void aLostDeviceLeavesTheTrace()
    {
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        const RunId first = fixture.run()->start.run;
        cudahost::Settings settings = card();
        settings.loseAtLaunch = 40;
        cudahost::configure(settings);
        fixture.inspector().conversation.setMaxTokens(0);
        fixture.input()->setFocus();
        QTest::keyClicks(fixture.input(), QStringLiteral("again"));
        fixture.press(Qt::Key_Return);
        QVERIFY(fixture.waitFor(EngineState::TraceOnly));
        QTRY_VERIFY(fixture.message().isVisible());
        QCOMPARE(fixture.message().message().what, QStringLiteral("The device is lost."));
        for (const char *name : {"Run, or continue", "Step one token", "Branch off before the selected step",
                                 "Regenerate the reply"}) {
            QAction *action = fixture.action(QString::fromLatin1(name));
            QVERIFY2(action && !action->isEnabled(), name);
        }
        // What was recorded is there, down to the distribution.
        QCOMPARE(fixture.inspector().runs.run(first)->steps.size(), std::size_t(3));
        fixture.inspector().selection.select({first, StepIndex(1)});
        QVERIFY(QTest::qWaitFor(
            [&] {
                const ExplanationPtr shown = fixture.inspector().explanations.current();
                return shown && shown->ref == StepRef{first, StepIndex(1)} && !shown->stages.empty();
            },
            WindowFixture::patience));
        // And on with the CPU.
        QTest::mouseClick(fixture.button(fixture.message(), QStringLiteral("Go on with the CPU")),
                          Qt::LeftButton);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cpu);
        QVERIFY(!fixture.message().isVisible());
        QVERIFY(fixture.say(QStringLiteral("once more"), 3));
        QCOMPARE(fixture.inspector().runs.run(first)->steps.size(), std::size_t(3));
        cudahost::reset(card());
    }

    void aCardForSomeLayersSaysHowMany()
    {
        std::uint64_t whole = 0;
        std::uint64_t part = 0;
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        for (std::uint64_t *planned : {&whole, &part}) {
            QSettings().setValue(QStringLiteral("engine/deviceLayers"), planned == &part ? 1 : 0);
            DeviceWindow fixture;
            QVERIFY(fixture.openTiny());
            *planned = fixture.inspector().host.status().plan.bytesIn(MemoryPlace::Device);
        }
        cudahost::reset(card((whole + part) / 2));
        QSettings().setValue(QStringLiteral("engine/deviceLayers"), 0);
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cpu"));
        DeviceWindow fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.chooseInMenu(QStringLiteral("CUDA device")));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.message().isVisible(), WindowFixture::patience);
        const QString why = fixture.message().message().why;
        QVERIFY2(why.contains(QStringLiteral("or 1 of 2 layers on the device")), qPrintable(why));
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cpu);
    }

    void aCardThatIsTooSmallSaysWhatFits()
    {
        cudahost::reset(card(contextBytes + (std::size_t(40) << 20)));
        QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
        QSettings().setValue(QStringLiteral("engine/context"), 262144);
        DeviceWindow fixture;
        QVERIFY(fixture.ready());
        QSignalSpy failed(&fixture.inspector().host, &EngineHost::modelFailed);
        fixture.window->openModel(fixture.writeTiny());
        QVERIFY(failed.wait(WindowFixture::patience));
        QTRY_VERIFY(fixture.message().isVisible());
        const Message shown = fixture.message().message();
        QVERIFY2(shown.why.contains(QStringLiteral("are needed on CUDA device")), qPrintable(shown.why));
        QVERIFY2(shown.why.contains(QStringLiteral("tokens fit")) ||
                     shown.why.contains(QStringLiteral("not even a short context")),
                 qPrintable(shown.why));
        QTest::mouseClick(fixture.button(fixture.message(), QStringLiteral("Open it on the CPU")),
                          Qt::LeftButton);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(fixture.inspector().host.status().session.backend, BackendKind::Cpu);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestWindowDevice)
#include "tst_windowdevice.moc"
