// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

namespace {

struct Answer
{
    int status = -1;
    QByteArray output;
    QByteArray messages;
};

/// A machine as the scripts see it: a folder that comes first on the path, the kernel module's file, the data
/// folder.
class FakeMachine
{
public:
    FakeMachine()
    {
        QDir(m_folder.path()).mkpath(QStringLiteral("bin"));
        program(QStringLiteral("ldconfig"), "exit 0\n"); // no library of the driver
    }

    QString at(const QString &name) const { return m_folder.filePath(name); }
    void file(const QString &name, const QByteArray &content) const
    {
        QDir().mkpath(QFileInfo(at(name)).path());
        QFile file(at(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
    }
    void program(const QString &name, const QByteArray &script) const
    {
        const QString inside = name.contains(QLatin1Char('/')) ? name : QStringLiteral("bin/") + name;
        file(inside, "#!/bin/sh\n" + script);
        QFile::setPermissions(at(inside), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    /// Of the system's programs only those that are named are there.
    void systemProgram(const QString &name) const
    {
        QFile::link(QStandardPaths::findExecutable(name), at(QStringLiteral("bin/") + name));
    }
    /// A driver's library under the name with its version, and the loader's list that names it.
    void driverLibrary(const QString &fileName) const
    {
        file(fileName, {});
        QFile::link(at(fileName), at(QStringLiteral("libcuda.so.1")));
        program(QStringLiteral("ldconfig"), "echo '123 libs found in cache'\n"
                                            "echo '\tlibcuda.so.1 (libc6) => /lib/other/libcuda.so.1'\n"
                                            "echo '\tlibcuda.so.1 (libc6,x86-64) => " +
                                                at(QStringLiteral("libcuda.so.1")).toUtf8() + "'\n");
    }

    /// Runs a line of bash with the scripts' functions in reach.
    Answer run(const QString &line) const
    {
        QProcess process;
        QProcessEnvironment environment;
        environment.insert(QStringLiteral("PATH"), at(QStringLiteral("bin")));
        environment.insert(QStringLiteral("HOME"), m_folder.path());
        process.setProcessEnvironment(environment);
        const QString common =
            QString::fromStdString(tokenloupe::test::sourcePath("scripts/common.sh").string());
        process.start(QStringLiteral("/bin/bash"),
                      {QStringLiteral("-c"),
                       QStringLiteral("set -euo pipefail; source \"$1\"; nvidia_version_file=$2; "
                                      "cuda_usual_folders=(\"$3\"); ") +
                           line,
                       QStringLiteral("bash"), common, at(QStringLiteral("version")),
                       at(QStringLiteral("usual"))});
        if (!process.waitForFinished())
            return {};
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
                process.readAllStandardOutput(), process.readAllStandardError()};
    }

private:
    QTemporaryDir m_folder;
};

QByteArray moduleText(const QByteArray &version)
{
    return "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version +
           "  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
}

QByteArray openModuleText(const QByteArray &version)
{
    return "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version +
           "  Release Build  (dvs-builder@host)  Sun Jul 27 06:54:38 UTC 2025\n"
           "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
}

constexpr const char *smiFailure =
    "echo 'NVIDIA-SMI has failed because it could not reach the NVIDIA driver.'\n"
    "echo 'Make sure that version 580.65.06 is installed.'\nexit 9\n";

} // namespace

class TestCudaSetup : public QObject
{
    Q_OBJECT

private slots:
    void readsDriverVersion_data();
    void readsDriverVersion();
    void judgesDriverVersion_data();
    void judgesDriverVersion();
    void refusesWithoutDriver();
    void refusesOldDriver();
    void takesCompilerThatIsThere_data();
    void takesCompilerThatIsThere();
    void asksForNothingWithCompiler();
    void saysOfferWithoutTerminal();
    void saysOldDriver();
    void isSilentWithoutDriver();
    void knowsWhenBuildFolderIsOld_data();
    void knowsWhenBuildFolderIsOld();
    void fetchesWhatIsNamed();
    void leavesNothingHalfDone();

private:
    static void addSystemPrograms(const FakeMachine &machine);
};

void TestCudaSetup::addSystemPrograms(const FakeMachine &machine)
{
    for (const char *name :
         {"sed", "readlink", "dirname", "cat", "grep", "mkdir", "touch", "ln", "rm", "flock"})
        machine.systemProgram(QString::fromLatin1(name));
}

void TestCudaSetup::readsDriverVersion_data()
{
    QTest::addColumn<QByteArray>("smi");     // what nvidia-smi does; empty: there is none
    QTest::addColumn<QByteArray>("module");  // what the module's file holds; empty: there is none
    QTest::addColumn<QString>("library");    // the driver's library; empty: there is none
    QTest::addColumn<QByteArray>("version"); // empty: no driver
    QTest::newRow("none") << QByteArray() << QByteArray() << QString() << QByteArray();
    QTest::newRow("smi 580") << QByteArray("echo 580.65.06\n") << QByteArray() << QString()
                             << QByteArray("580.65.06");
    QTest::newRow("smi, two devices") << QByteArray("printf '580.65.06\\n580.65.06\\n'\n") << QByteArray()
                                      << QString() << QByteArray("580.65.06");
    QTest::newRow("smi 535 before the module's")
        << QByteArray("echo 535.183.01\n") << moduleText("535.183.02") << QString()
        << QByteArray("535.183.01");
    QTest::newRow("smi fails") << QByteArray(smiFailure) << QByteArray() << QString() << QByteArray();
    QTest::newRow("smi fails, module tells")
        << QByteArray(smiFailure) << moduleText("535.183.01") << QString() << QByteArray("535.183.01");
    QTest::newRow("smi without devices")
        << QByteArray("echo 'No devices were found'\n") << openModuleText("580.65.06") << QString()
        << QByteArray("580.65.06");
    QTest::newRow("module 535") << QByteArray() << moduleText("535.183.01") << QString()
                                << QByteArray("535.183.01");
    QTest::newRow("open module 580") << QByteArray() << openModuleText("580.65.06") << QString()
                                     << QByteArray("580.65.06");
    QTest::newRow("module, garbage") << QByteArray() << QByteArray("\xFF\xFE no version\n580\n") << QString()
                                     << QByteArray("unknown");
    QTest::newRow("module, garbage, library tells")
        << QByteArray() << QByteArray("NVRM version: ?\n") << QStringLiteral("libcuda.so.590.44.01")
        << QByteArray("590.44.01");
    QTest::newRow("library 550") << QByteArray() << QByteArray() << QStringLiteral("libcuda.so.550.54.14")
                                 << QByteArray("550.54.14");
    QTest::newRow("library without version")
        << QByteArray() << QByteArray() << QStringLiteral("libcuda.real") << QByteArray("unknown");
}

void TestCudaSetup::readsDriverVersion()
{
    QFETCH(QByteArray, smi);
    QFETCH(QByteArray, module);
    QFETCH(QString, library);
    QFETCH(QByteArray, version);
    const FakeMachine machine;
    addSystemPrograms(machine);
    if (!smi.isEmpty())
        machine.program(QStringLiteral("nvidia-smi"), smi);
    if (!module.isEmpty())
        machine.file(QStringLiteral("version"), module);
    if (!library.isEmpty())
        machine.driverLibrary(library);
    const Answer answer = machine.run(QStringLiteral("nvidia_driver"));
    QCOMPARE(answer.messages, QByteArray());
    QCOMPARE(answer.output.trimmed(), version);
    QCOMPARE(answer.status == 0, !version.isEmpty());
}

void TestCudaSetup::judgesDriverVersion_data()
{
    QTest::addColumn<QString>("version");
    QTest::addColumn<bool>("isGood");
    QTest::newRow("470") << QStringLiteral("470.256.02") << false;
    QTest::newRow("535") << QStringLiteral("535.183.01") << false;
    QTest::newRow("579") << QStringLiteral("579.99") << false;
    QTest::newRow("580") << QStringLiteral("580.65.06") << true;
    QTest::newRow("1000") << QStringLiteral("1000.1") << true;
    QTest::newRow("unknown") << QStringLiteral("unknown") << true;
}

void TestCudaSetup::judgesDriverVersion()
{
    QFETCH(QString, version);
    QFETCH(bool, isGood);
    const FakeMachine machine;
    addSystemPrograms(machine);
    const Answer answer = machine.run(QStringLiteral("driver_problem ") + version);
    QCOMPARE(answer.status, 0);
    QCOMPARE(answer.output.isEmpty(), isGood);
    QCOMPARE(answer.output.contains(version.toUtf8()), !isGood);
    QCOMPARE(answer.messages, QByteArray());
}

void TestCudaSetup::refusesWithoutDriver()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    const Answer answer = machine.run(QStringLiteral("want_cuda"));
    QCOMPARE(answer.status, 1);
    QCOMPARE(answer.messages.count('\n'), 1);
    QVERIFY(answer.messages.contains("no NVIDIA driver"));
}

void TestCudaSetup::refusesOldDriver()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    machine.program(QStringLiteral("nvidia-smi"), "echo 535.183.01\n");
    const Answer answer = machine.run(QStringLiteral("want_cuda"));
    QCOMPARE(answer.status, 1);
    QCOMPARE(answer.messages.count('\n'), 1);
    QVERIFY(answer.messages.contains("535.183.01"));
    QVERIFY(answer.messages.contains("580"));
}

void TestCudaSetup::takesCompilerThatIsThere_data()
{
    QTest::addColumn<QStringList>("compilers");
    QTest::addColumn<QString>("taken");
    const QString own =
        QStringLiteral(".local/share/tokenloupe/cuda-13.0/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc");
    const QString onPath = QStringLiteral("bin/nvcc");
    const QString usual = QStringLiteral("usual/bin/nvcc");
    QTest::newRow("none") << QStringList() << QString();
    QTest::newRow("path") << QStringList{onPath, usual, own} << onPath;
    QTest::newRow("usual place") << QStringList{usual, own} << usual;
    QTest::newRow("own") << QStringList{own} << own;
}

void TestCudaSetup::takesCompilerThatIsThere()
{
    QFETCH(QStringList, compilers);
    QFETCH(QString, taken);
    const FakeMachine machine;
    addSystemPrograms(machine);
    for (const QString &compiler : compilers)
        machine.program(compiler, "exit 0\n");
    machine.file(QStringLiteral(".local/share/tokenloupe/cuda-13.0/whole"), {});
    const Answer answer = machine.run(QStringLiteral("use_nvcc; echo \"${CUDACXX:-}\""));
    QCOMPARE(answer.messages, QByteArray());
    QCOMPARE(answer.output.trimmed(), taken.isEmpty() ? QByteArray() : machine.at(taken).toUtf8());
}

void TestCudaSetup::asksForNothingWithCompiler()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    machine.program(QStringLiteral("nvidia-smi"), "echo 580.65.06\n");
    machine.program(QStringLiteral("nvcc"), "exit 0\n");
    const Answer answer = machine.run(QStringLiteral("offer_cuda; want_cuda"));
    QCOMPARE(answer.status, 0);
    QCOMPARE(answer.messages, QByteArray());
    machine.program(QStringLiteral("nvidia-smi"), "echo 535.183.01\n"); // as the compiler's CUDA may be
    QCOMPARE(machine.run(QStringLiteral("offer_cuda; want_cuda")).messages, QByteArray());
}

void TestCudaSetup::saysOfferWithoutTerminal()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    machine.program(QStringLiteral("nvidia-smi"), "echo 580.65.06\n");
    const Answer answer = machine.run(QStringLiteral("offer_cuda"));
    QCOMPARE(answer.status, 0);
    QCOMPARE(answer.messages.count('\n'), 1);
    QVERIFY(answer.messages.contains("scripts/run --cuda"));
    machine.file(QStringLiteral(".local/share/tokenloupe/cuda-declined"), {});
    QCOMPARE(machine.run(QStringLiteral("offer_cuda")).messages, QByteArray());
}

void TestCudaSetup::saysOldDriver()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    machine.file(QStringLiteral("version"), moduleText("535.183.01"));
    const Answer answer = machine.run(QStringLiteral("offer_cuda"));
    QCOMPARE(answer.status, 0);
    QCOMPARE(answer.messages.count('\n'), 1);
    QVERIFY(answer.messages.contains("535.183.01"));
}

void TestCudaSetup::isSilentWithoutDriver()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    const Answer answer = machine.run(QStringLiteral("offer_cuda"));
    QCOMPARE(answer.status, 0);
    QCOMPARE(answer.messages, QByteArray());
}

void TestCudaSetup::knowsWhenBuildFolderIsOld_data()
{
    QTest::addColumn<QByteArray>("cache"); // empty: never configured
    QTest::addColumn<QByteArray>("tried");
    QTest::addColumn<bool>("hasCompiler");
    QTest::addColumn<bool>("isOld");
    const QByteArray on = "TOKENLOUPE_CUDA:BOOL=ON\n";
    const QByteArray missing = on + "CMAKE_CUDA_COMPILER:FILEPATH=CMAKE_CUDA_COMPILER-NOTFOUND\n";
    const QByteArray gone = on + "CMAKE_CUDA_COMPILER:STRING=/no/such/place/nvcc\n";
    QTest::newRow("not configured") << QByteArray() << QByteArray() << true << false;
    QTest::newRow("never asked for CUDA")
        << QByteArray("TOKENLOUPE_CUDA:BOOL=OFF\n") << QByteArray() << true << false;
    QTest::newRow("none then, one now") << missing << QByteArray() << true << true;
    QTest::newRow("none then, none now") << missing << QByteArray() << false << false;
    QTest::newRow("tried and refused") << missing << QByteArray("NVCC\n") << true << false;
    QTest::newRow("gone, another now") << gone << QByteArray("/no/such/place/nvcc\n") << true << true;
    QTest::newRow("gone, none now") << gone << QByteArray("/no/such/place/nvcc\n") << false << true;
    QTest::newRow("the same") << on + "CMAKE_CUDA_COMPILER:STRING=NVCC\n"
                              << QByteArray("NVCC\n") << true << false;
    QTest::newRow("another that works") << on + "CMAKE_CUDA_COMPILER:STRING=/bin/sh\n"
                                        << QByteArray() << true << false;
}

void TestCudaSetup::knowsWhenBuildFolderIsOld()
{
    QFETCH(QByteArray, cache);
    QFETCH(QByteArray, tried);
    QFETCH(bool, hasCompiler);
    QFETCH(bool, isOld);
    const FakeMachine machine;
    addSystemPrograms(machine);
    const QByteArray nvcc = machine.at(QStringLiteral("bin/nvcc")).toUtf8();
    if (hasCompiler)
        machine.program(QStringLiteral("nvcc"), "exit 0\n");
    if (!cache.isEmpty())
        machine.file(QStringLiteral("build/CMakeCache.txt"), cache.replace("NVCC\n", nvcc + "\n"));
    if (!tried.isEmpty())
        machine.file(QStringLiteral("build/nvcc-tried"), tried.replace("NVCC", nvcc));
    const Answer answer = machine.run(QStringLiteral("cuda_is_new ~/build"));
    QCOMPARE(answer.messages, QByteArray());
    QCOMPARE(answer.status == 0, isOld);
}

void TestCudaSetup::fetchesWhatIsNamed()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    machine.program(QStringLiteral("nvidia-smi"), "echo 580.65.06\n");
    // A Python whose pip puts down what the packages hold, as far as the scripts look at it.
    machine.program(QStringLiteral("python3"), R"(echo "$*" >>"$HOME/calls"
case "$*" in
    "-m pip --version") ;;
    "-m venv"*) mkdir -p "$HOME/.local/share/tokenloupe/cuda-13.0/lib/python3.12" ;;
    "-m pip"*)
        toolkit=$HOME/.local/share/tokenloupe/cuda-13.0/lib/python3.12/site-packages/nvidia/cu13
        mkdir -p "$toolkit/bin" "$toolkit/lib"
        printf '#!/bin/sh\n' >"$toolkit/bin/nvcc"
        "$HOME/makeexecutable" "$toolkit/bin/nvcc"
        ;;
esac
)");
    QVERIFY(QFile::link(QStandardPaths::findExecutable(QStringLiteral("chmod")),
                        machine.at(QStringLiteral("bin/chmod"))));
    machine.program(QStringLiteral("./makeexecutable"), "chmod +x \"$1\"\n");
    const Answer answer = machine.run(QStringLiteral("want_cuda; use_nvcc; echo \"$CUDACXX\""));
    QVERIFY2(answer.status == 0, answer.messages.constData());
    const QString toolkit = machine.at(
        QStringLiteral(".local/share/tokenloupe/cuda-13.0/lib/python3.12/site-packages/nvidia/cu13"));
    QCOMPARE(answer.output.trimmed(), (toolkit + QStringLiteral("/bin/nvcc")).toUtf8());
    QCOMPARE(QFile::symLinkTarget(toolkit + QStringLiteral("/lib64")), toolkit + QStringLiteral("/lib"));
    QCOMPARE(QFile::symLinkTarget(toolkit + QStringLiteral("/lib/libcudart.so")),
             toolkit + QStringLiteral("/lib/libcudart.so.13"));
    QFile calls(machine.at(QStringLiteral("calls")));
    QVERIFY(calls.open(QIODevice::ReadOnly));
    const QByteArray text = calls.readAll();
    for (const char *package : {"nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-runtime",
                                "nvidia-cuda-cccl", "nvidia-cublas"})
        QVERIFY2(text.contains(QByteArray(package) + "==13.0.*"), package);
    // What is there is not fetched again.
    QCOMPARE(machine.run(QStringLiteral("want_cuda")).status, 0);
    calls.seek(0);
    QCOMPARE(calls.readAll(), text);
}

void TestCudaSetup::leavesNothingHalfDone()
{
    const FakeMachine machine;
    addSystemPrograms(machine);
    machine.program(QStringLiteral("nvidia-smi"), "echo 580.65.06\n");
    machine.program(QStringLiteral("python3"), "case \"$*\" in *install*) exit 1 ;; esac\n");
    const QByteArray own =
        ".local/share/tokenloupe/cuda-13.0/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc";
    machine.program(QString::fromLatin1(own), "exit 0\n"); // an earlier try came so far
    const Answer answer = machine.run(QStringLiteral("want_cuda"));
    QCOMPARE(answer.status, 1);
    QVERIFY(answer.messages.contains("could not be set up"));
    QVERIFY(machine.run(QStringLiteral("find_nvcc")).status != 0);
}

TOKENLOUPE_TEST_MAIN(TestCudaSetup)
#include "tst_cudasetup.moc"
