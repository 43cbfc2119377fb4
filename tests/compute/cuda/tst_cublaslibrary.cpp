// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cublashandle.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;

/// The true library, where it is: it opens and says what it lacks on machines without a device too.
class TestCublasLibrary : public QObject
{
    Q_OBJECT

private slots:
    void namesMissingFiles();
    void namesMissingFunctions();
    void opensWhatIsThere();
    void startsOrSaysWhyNot();
};

void TestCublasLibrary::namesMissingFiles()
{
    const auto library = CublasLibrary::open({"libnotthere.so.13", "/nowhere/libnotthere.so.12"});
    QVERIFY(!library);
    QCOMPARE(library.error().code, ErrorCode::NotFound);
    QCOMPARE(library.error().operation, std::string("open cuBLAS"));
    QVERIFY(library.error().message.find("libnotthere.so.13") != std::string::npos);
    QVERIFY(library.error().message.find("/nowhere/libnotthere.so.12") != std::string::npos);
    QVERIFY(!CublasLibrary::open({}));
}

void TestCublasLibrary::namesMissingFunctions()
{
    const auto library = CublasLibrary::open({"libm.so.6"});
    QVERIFY(!library);
    QCOMPARE(library.error().code, ErrorCode::Unsupported);
    QCOMPARE(library.error().message, std::string("libm.so.6 has no cublasCreate_v2"));
}

void TestCublasLibrary::opensWhatIsThere()
{
    const std::vector<std::string> files = CublasLibrary::usualFiles();
    QVERIFY(files.size() >= 2);
    QCOMPARE(files[0], std::string("libcublas.so.13"));
    const auto library = CublasLibrary::open(files);
    if (!library)
        QSKIP(library.error().text().c_str());
    const cuda::CublasCalls &calls = (*library)->calls();
    QVERIFY(calls.create && calls.destroy && calls.setStream && calls.setWorkspace && calls.gemmEx);
    QVERIFY((*library)->file().find("libcublas.so.1") != std::string::npos);
}

void TestCublasLibrary::startsOrSaysWhyNot()
{
    const auto library = CublasLibrary::open(CublasLibrary::usualFiles());
    if (!library)
        QSKIP(library.error().text().c_str());
    int devices = 0;
    const bool hasDevice = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    const auto handle = CublasHandle::create(*library, nullptr, nullptr, 0);
    QCOMPARE(bool(handle), hasDevice);
    if (!handle) {
        QCOMPARE(handle.error().operation, std::string("start cuBLAS"));
        QVERIFY(handle.error().message.find("cublasCreate gave status ") == 0);
    }
}

TOKENLOUPE_TEST_MAIN(TestCublasLibrary)
#include "tst_cublaslibrary.moc"
