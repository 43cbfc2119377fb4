// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/window/devicewindow.h"
#include "widgets/theme/numbers.h"

#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QTest>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr std::uint32_t allLayers = 4;
constexpr std::uint32_t shortContext = 256;
constexpr std::uint32_t longContext = 8192;

/// What a session takes of the device.
struct Needed
{
    std::uint64_t bytes = 0;
    std::uint64_t weightBytes = 0; ///< of these
};

QString writeModel(const DeviceWindow &fixture)
{
    TinyModelOptions options;
    options.chatTemplate = tinyChatTemplate;
    options.layers = allLayers;
    options.context = longContext;
    options.name = "four";
    return QString::fromStdString(writeTinyModel(fixture.folder.path().toStdString(), options).string());
}

void wish(std::uint32_t layers, std::uint32_t context)
{
    QSettings().setValue(QStringLiteral("engine/backend"), QStringLiteral("cuda"));
    QSettings().setValue(QStringLiteral("engine/deviceLayers"), layers < allLayers ? layers : 0);
    QSettings().setValue(QStringLiteral("engine/context"), context);
}

bool openModel(DeviceWindow &fixture)
{
    if (!fixture.ready() || !fixture.open(writeModel(fixture)))
        return false;
    fixture.inspector().sampler.setSettings(plainTextSettings());
    return fixture.waitFor(EngineState::Idle);
}

Needed needed(std::uint32_t layers, std::uint32_t context)
{
    wish(layers, context);
    DeviceWindow fixture;
    if (!openModel(fixture))
        return {};
    const MemoryPlan &plan = fixture.inspector().host.status().plan;
    return {plan.bytesIn(MemoryPlace::Device), plan.bytesOf(MemoryPart::Weights, MemoryPlace::Device)};
}

enum class Weights { Shared, Loaded };

/// Between what two and three layers take beside what is there.
std::uint64_t roomForTwo(std::uint32_t context, Weights weights)
{
    std::uint64_t sum = 0;
    for (const std::uint32_t layers : {2U, 3U}) {
        const Needed all = needed(layers, context);
        sum += all.bytes - contextBytes - (weights == Weights::Shared ? all.weightBytes : 0);
    }
    return sum / 2;
}

/// The card becomes so small that there is room for that beside what is on it.
void leave(std::uint64_t room)
{
    cudahost::configure(card(contextBytes + cudahost::allocatedBytes() + room));
}

} // namespace

/// A device with room for some of the layers: the window offers to compute these there.
class TestWindowRoom : public QObject
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
        QSettings().setValue(QStringLiteral("engine/batch"), 32);
        cudahost::reset(card());
    }
    void cleanup()
    {
        cudahost::checkMemory();
        for (const std::string &fault : cudahost::takeFaults())
            QFAIL(fault.c_str());
    }

    void aModelOpensWithTheLayersThatFit()
    {
        const std::uint64_t room = roomForTwo(shortContext, Weights::Loaded);
        cudahost::reset(card(contextBytes + room));
        wish(allLayers, shortContext);
        {
            DeviceWindow fixture;
            QVERIFY(fixture.ready());
            QSignalSpy failed(&fixture.inspector().host, &EngineHost::modelFailed);
            const QString path = writeModel(fixture);
            fixture.window->openModel(path);
            QVERIFY(failed.wait(WindowFixture::patience));
            const auto failure = failed.at(0).at(1).value<EngineFailure>();
            QCOMPARE(failure.deviceLayers, 2U);
            QVERIFY(!failure.settings.deviceLayers);
            MessageBar &bar = fixture.message();
            QTRY_VERIFY(bar.isVisible());
            QCOMPARE(bar.message().what, QStringLiteral("four.gguf could not be opened."));
            QPushButton *part = fixture.button(bar, QStringLiteral("Open it with 2 layers on the device"));
            QPushButton *cpu = fixture.button(bar, QStringLiteral("Open it on the CPU"));
            QVERIFY(part && part->isVisible() && cpu && cpu->isVisible());
            QTRY_VERIFY(bar.rect().contains(part->geometry()) && bar.rect().contains(cpu->geometry()));
            QVERIFY(!part->geometry().intersects(cpu->geometry()));
            QVERIFY(!bar.message().why.contains(QStringLiteral("--"))); // options of the command line

            QTest::mouseClick(part, Qt::LeftButton);
            QTRY_VERIFY_WITH_TIMEOUT(fixture.inspector().host.status().model, WindowFixture::patience);
            QVERIFY(fixture.waitFor(EngineState::Idle));
            const EngineStatus &status = fixture.inspector().host.status();
            QCOMPARE(status.session.backend, BackendKind::Cuda);
            QCOMPARE(status.deviceLayers, std::optional(2U));
            QCOMPARE(status.session.contextTokens, shortContext);
            QTRY_VERIFY(!bar.isVisible());
            QVERIFY2(fixture.deviceButton().text().startsWith(QStringLiteral("2 of 4 layers on CUDA device")),
                     qPrintable(fixture.deviceButton().text()));
            fixture.inspector().sampler.setSettings(plainTextSettings());
            QVERIFY(fixture.say(QStringLiteral("hello"), 3));
            QCOMPARE(fixture.steps(), std::size_t(3));
            QCOMPARE(fixture.run()->start.arithmetic.deviceLayers, std::optional(2U));
            QCOMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 2U);
        }
        // The next start asks for as many.
        DeviceWindow fixture;
        QVERIFY(openModel(fixture));
        QCOMPARE(fixture.inspector().host.status().deviceLayers, std::optional(2U));
    }

    void theCpuIsTheOtherChoice()
    {
        const std::uint64_t room = roomForTwo(shortContext, Weights::Loaded);
        cudahost::reset(card(contextBytes + room));
        wish(allLayers, shortContext);
        DeviceWindow fixture;
        QVERIFY(fixture.ready());
        fixture.window->openModel(writeModel(fixture));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.message().isVisible(), WindowFixture::patience);
        QTest::mouseClick(fixture.button(fixture.message(), QStringLiteral("Open it on the CPU")),
                          Qt::LeftButton);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        const EngineStatus &status = fixture.inspector().host.status();
        QCOMPARE(status.session.backend, BackendKind::Cpu);
        QVERIFY(fixture.say(QStringLiteral("hello"), 2));
        QCOMPARE(fixture.run()->start.arithmetic.device, std::string());
        // For this time: the device stays chosen, with all layers.
        QCOMPARE(QSettings().value(QStringLiteral("engine/backend")).toString(), QStringLiteral("cuda"));
        QCOMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 0U);
    }

    void whereNoLayerFitsNoneIsOffered()
    {
        cudahost::reset(card(contextBytes + 4096));
        wish(allLayers, shortContext);
        DeviceWindow fixture;
        QVERIFY(fixture.ready());
        fixture.window->openModel(writeModel(fixture));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.message().isVisible(), WindowFixture::patience);
        const Message &shown = fixture.message().message();
        QVERIFY2(shown.why.contains(QStringLiteral("are needed on CUDA device")), qPrintable(shown.why));
        QCOMPARE(shown.action, QStringLiteral("Open it on the CPU"));
        QCOMPARE(shown.otherAction, QString());
    }

    void aLongerContextFromTheMenu()
    {
        const std::uint64_t room = roomForTwo(longContext, Weights::Shared);
        wish(allLayers, shortContext);
        DeviceWindow fixture;
        QVERIFY(openModel(fixture));
        leave(room);
        QVERIFY(fixture.chooseInMenu(formatCount(longContext)));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.message().isVisible(), WindowFixture::patience);
        QCOMPARE(fixture.message().message().what, QStringLiteral("The settings stay as they were."));
        QCOMPARE(fixture.inspector().host.status().session.contextTokens, shortContext);
        QVERIFY(!fixture.inspector().host.status().deviceLayers);
        QPushButton *part =
            fixture.button(fixture.message(), QStringLiteral("Apply with 2 layers on the device"));
        QVERIFY2(part && part->isVisible(), qPrintable(fixture.message().message().why));
        QTest::mouseClick(part, Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.inspector().host.status().deviceLayers, std::optional(2U),
                                  WindowFixture::patience);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(fixture.inspector().host.status().session.contextTokens, longContext);
        QVERIFY(!fixture.message().isVisible());
        QTRY_COMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 2U);
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
    }

    void aLongerContextInTheDialog()
    {
        const std::uint64_t room = roomForTwo(longContext, Weights::Shared);
        wish(allLayers, shortContext);
        DeviceWindow fixture;
        QVERIFY(openModel(fixture));
        leave(room);
        EngineSettingsDialog *dialog = fixture.openDialog();
        QVERIFY(dialog);
        auto *context = fixture.field<QSpinBox>(*dialog, QStringLiteral("Context in tokens"));
        auto *note = fixture.field<QLabel>(*dialog, QStringLiteral("Remark"));
        const auto refuse = [&] {
            context->setFocus();
            context->selectAll();
            QTest::keyClicks(context, QString::number(longContext));
            QSignalSpy failed(&fixture.inspector().host, &EngineHost::configureFailed);
            QTest::mouseClick(fixture.button(*dialog, QStringLiteral("Apply")), Qt::LeftButton);
            return failed.wait(WindowFixture::patience);
        };
        QVERIFY(refuse());
        QVERIFY2(note->text().contains(QStringLiteral("are needed on CUDA device")),
                 qPrintable(note->text()));
        QVERIFY(!fixture.message().isVisible()); // the dialog says it
        QPushButton *part = fixture.button(*dialog, QStringLiteral("Apply with 2 layers on the device"));
        QVERIFY(part && part->isVisible());
        // It is about what was refused, not about what the fields say next.
        QTest::keyClick(context, Qt::Key_Down);
        QVERIFY(!part->isVisible());
        QVERIFY(refuse());
        QVERIFY(part->isVisible());
        QVERIFY(!part->isDefault()); // Enter applies what the fields say

        QSignalSpy applied(dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(part, Qt::LeftButton);
        QVERIFY(applied.wait(WindowFixture::patience));
        QVERIFY(!part->isVisible());
        const EngineStatus &status = fixture.inspector().host.status();
        QCOMPARE(status.deviceLayers, std::optional(2U));
        QCOMPARE(status.session.contextTokens, longContext);
        QCOMPARE(fixture.field<QSpinBox>(*dialog, QStringLiteral("Layers on the device"))->value(), 2);
        QCOMPARE(QSettings().value(QStringLiteral("engine/deviceLayers")).toUInt(), 2U);
        dialog->close();
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
    }

    /// Weights as they are stored take more than quantised ones: the model is loaded again, beside itself.
    void largerWeightsInTheDialog()
    {
        const std::uint64_t room = roomForTwo(shortContext, Weights::Loaded);
        wish(allLayers, shortContext);
        QSettings().setValue(QStringLiteral("engine/quantize"), QStringLiteral("q8_0"));
        DeviceWindow fixture;
        QVERIFY(openModel(fixture));
        QCOMPARE(fixture.inspector().host.status().model->options.quantization, LoadQuantization::Q8_0);
        leave(room);
        EngineSettingsDialog *dialog = fixture.openDialog();
        QVERIFY(dialog);
        auto *quantization = fixture.field<QComboBox>(*dialog, QStringLiteral("Quantise at load"));
        quantization->setFocus();
        QTest::keyClick(quantization, Qt::Key_Home);
        QSignalSpy failed(&fixture.inspector().host, &EngineHost::modelFailed);
        QTest::mouseClick(fixture.button(*dialog, QStringLiteral("Apply")), Qt::LeftButton);
        QVERIFY(failed.wait(WindowFixture::patience));
        QPushButton *part = fixture.button(*dialog, QStringLiteral("Apply with 2 layers on the device"));
        QVERIFY(part && part->isVisible());
        QCOMPARE(fixture.inspector().host.status().model->options.quantization, LoadQuantization::Q8_0);
        QSignalSpy applied(dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(part, Qt::LeftButton);
        QVERIFY(applied.wait(WindowFixture::patience));
        const EngineStatus &status = fixture.inspector().host.status();
        QCOMPARE(status.model->options.quantization, LoadQuantization::AsStored);
        QCOMPARE(status.deviceLayers, std::optional(2U));
        QVERIFY(!fixture.message().isVisible());
        QCOMPARE(QSettings().value(QStringLiteral("engine/quantize")).toString(), QStringLiteral("stored"));
        dialog->close();
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestWindowRoom)
#include "tst_windowroom.moc"
