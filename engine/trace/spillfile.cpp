// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/spillfile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> candidateDirectories(const fs::path &wanted)
{
    if (!wanted.empty())
        return {wanted};
    std::vector<fs::path> directories;
    if (const char *set = std::getenv("TMPDIR"); set && *set)
        directories.emplace_back(set);
    // /tmp is often kept in memory, which would defeat the purpose.
    directories.emplace_back("/var/tmp");
    directories.emplace_back("/tmp");
    return directories;
}

/// A file without a name in `directory`, or -1.
int openUnlinked(const fs::path &directory)
{
    const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0)
        return descriptor;
    // File systems without O_TMPFILE.
    std::string name = (directory / "tokenloupe-logits-XXXXXX").string();
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0)
        ::unlink(name.c_str());
    return named;
}

tl::unexpected<Error> ioError(const char *operation)
{
    return makeError(ErrorCode::IoError, operation, std::strerror(errno));
}

} // namespace

SpillFile::SpillFile(SpillSettings settings)
    : m_settings(std::move(settings))
{}

SpillFile::~SpillFile()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

Status SpillFile::open()
{
    if (m_descriptor >= 0)
        return {};
    if (!m_unavailable) {
        for (const fs::path &directory : candidateDirectories(m_settings.directory)) {
            m_descriptor = openUnlinked(directory);
            if (m_descriptor >= 0)
                return {};
        }
        m_unavailable = true;
    }
    return makeError(ErrorCode::IoError, "create a temporary file for logits", "no folder takes one");
}

SpillFile::Extent SpillFile::place(std::uint64_t bytes)
{
    if (const auto found = m_free.find(bytes); found != m_free.end()) {
        const Extent extent{found->second, bytes};
        m_free.erase(found);
        return extent;
    }
    const Extent extent{m_end, bytes};
    m_end += bytes;
    return extent;
}

Result<SpillFile::Extent> SpillFile::write(std::span<const float> row)
{
    const std::uint64_t bytes = row.size_bytes();
    if (m_used + bytes > m_settings.maximumBytes)
        return makeError(ErrorCode::IoError, "write logits", "the temporary file has its largest size");
    if (const Status status = open(); !status)
        return tl::unexpected<Error>(status.error());

    const Extent extent = place(bytes);
    const auto *data = reinterpret_cast<const char *>(row.data());
    std::uint64_t done = 0;
    while (done < bytes) {
        const ssize_t n =
            ::pwrite(m_descriptor, data + done, bytes - done, static_cast<off_t>(extent.offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            m_free.emplace(extent.bytes, extent.offset);
            return ioError("write logits");
        }
        done += static_cast<std::uint64_t>(n);
    }
    m_used += bytes;
    return extent;
}

Status SpillFile::read(const Extent &extent, std::span<float> row) const
{
    auto *data = reinterpret_cast<char *>(row.data());
    std::uint64_t done = 0;
    while (done < extent.bytes) {
        const ssize_t n =
            ::pread(m_descriptor, data + done, extent.bytes - done, static_cast<off_t>(extent.offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ioError("read logits");
        done += static_cast<std::uint64_t>(n);
    }
    return {};
}

void SpillFile::release(const Extent &extent)
{
    m_used -= extent.bytes;
    m_free.emplace(extent.bytes, extent.offset);
    if (m_used > 0)
        return;
    // If it cannot be shrunk the old blocks are simply written over.
    if (::ftruncate(m_descriptor, 0) == 0) {
        m_end = 0;
        m_free.clear();
    }
}

} // namespace tokenloupe
