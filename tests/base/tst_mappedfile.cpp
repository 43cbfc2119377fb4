// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/mappedfile.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace tokenloupe;
namespace fs = std::filesystem;

class TestMappedFile : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void mapsWholeFiles_data()
    {
        QTest::addColumn<int>("size");
        for (const int size : {0, 1, 4095, 4096, 4097, 100000})
            QTest::addRow("%d bytes", size) << size;
    }

    void mapsWholeFiles()
    {
        QFETCH(int, size);
        std::string content;
        for (int i = 0; i < size; ++i)
            content += static_cast<char>((i * 7) ^ (i >> 8));
        const fs::path path = write("content", content);
        const auto file = MappedFile::open(path);
        QVERIFY2(file.has_value(), file ? "" : file.error().text().c_str());
        const auto bytes = (*file)->bytes();
        QCOMPARE(std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()), content);
        QVERIFY(readAhead(bytes).has_value());
        if (size > 5000)
            QVERIFY(readAhead(bytes.subspan(4097, 700)).has_value());
        // A mapping outlives the name.
        fs::remove(path);
        QCOMPARE((*file)->bytes().size(), std::size_t(size));
    }

    void readsAheadInPlainMemory()
    {
        const std::vector<std::byte> memory(10000, std::byte{3});
        QVERIFY(readAhead(memory).has_value());
        QVERIFY(readAhead({}).has_value());
    }

    void refuses_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("says");
        QTest::newRow("missing") << QStringLiteral("missing") << int(ErrorCode::NotFound)
                                 << QStringLiteral("No such file");
        QTest::newRow("inside a file")
            << QStringLiteral("plain/x") << int(ErrorCode::NotFound) << QStringLiteral("directory");
        QTest::newRow("folder") << QStringLiteral("folder") << int(ErrorCode::InvalidArgument)
                                << QStringLiteral("found a folder");
        QTest::newRow("pipe") << QStringLiteral("pipe") << int(ErrorCode::InvalidArgument)
                              << QStringLiteral("found a pipe");
        QTest::newRow("socket") << QStringLiteral("socket") << int(ErrorCode::InvalidArgument)
                                << QStringLiteral("found a socket");
        QTest::newRow("device") << QStringLiteral("/dev/zero") << int(ErrorCode::InvalidArgument)
                                << QStringLiteral("found a device");
        QTest::newRow("link to itself")
            << QStringLiteral("loop") << int(ErrorCode::IoError) << QStringLiteral("symbolic links");
        QTest::newRow("no name") << QString() << int(ErrorCode::InvalidArgument)
                                 << QStringLiteral("found a folder");
    }

    void refuses()
    {
        QFETCH(QString, name);
        QFETCH(int, code);
        QFETCH(QString, says);
        write("plain", "x");
        const fs::path folder = m_directory.path().toStdString();
        fs::create_directories(folder / "folder");
        QVERIFY(::mkfifo((folder / "pipe").c_str(), 0600) == 0 || errno == EEXIST);
        std::error_code ignored;
        fs::create_symlink("loop", folder / "loop", ignored);
        listenAt(folder / "socket");

        // Opening a pipe that nobody writes to would wait for ever; this returns.
        const auto file = MappedFile::open(folder / name.toStdString());
        QVERIFY(!file);
        QCOMPARE(int(file.error().code), code);
        const QString text = QString::fromStdString(file.error().text());
        QVERIFY2(text.contains(says), qPrintable(text));
        QVERIFY2(text.contains(name), qPrintable(text));
        QVERIFY(!text.contains(QLatin1Char('\n')));
    }

    void refusesZeroBytesInNames()
    {
        const auto file = MappedFile::open(fs::path(std::string("/etc\0/x", 7)));
        QVERIFY(!file);
        QCOMPARE(file.error().code, ErrorCode::InvalidArgument);
    }

    void namesOnOneLine()
    {
        const auto file = MappedFile::open("no\nsuch\x1b[2Jfile");
        QVERIFY(!file);
        const QString text = QString::fromStdString(file.error().text());
        QVERIFY2(!text.contains(QLatin1Char('\n')) && !text.contains(QChar(0x1B)), qPrintable(text));
    }

private:
    fs::path write(const std::string &name, const std::string &content)
    {
        const fs::path path = fs::path(m_directory.path().toStdString()) / name;
        std::ofstream(path, std::ios::binary) << content;
        return path;
    }

    static void listenAt(const fs::path &path)
    {
        if (fs::exists(path))
            return;
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        QVERIFY(path.native().size() < sizeof(address.sun_path));
        path.native().copy(address.sun_path, sizeof(address.sun_path) - 1);
        const int handle = ::socket(AF_UNIX, SOCK_STREAM, 0);
        QVERIFY(handle >= 0);
        QVERIFY(::bind(handle, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0);
        ::close(handle);
    }

    QTemporaryDir m_directory;
};

TOKENLOUPE_TEST_MAIN(TestMappedFile)
#include "tst_mappedfile.moc"
