// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/mappedfile.h"

#include "engine/base/utf8.h"

#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tokenloupe {

namespace {

/// Closes on every way out.
class Descriptor
{
public:
    explicit Descriptor(int value)
        : m_value(value)
    {}
    ~Descriptor()
    {
        if (m_value >= 0)
            ::close(m_value);
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;

    int value() const { return m_value; }

private:
    int m_value;
};

std::string systemText(int number)
{
    return std::generic_category().message(number);
}

tl::unexpected<Error> systemError(const std::string &operation, int number)
{
    const bool missing = number == ENOENT || number == ENOTDIR;
    return makeError(missing ? ErrorCode::NotFound : ErrorCode::IoError, operation, systemText(number));
}

Status checkRegular(const struct stat &status, const std::string &operation)
{
    const char *kind = nullptr;
    if (S_ISREG(status.st_mode))
        return {};
    if (S_ISDIR(status.st_mode))
        kind = "a folder";
    else if (S_ISFIFO(status.st_mode))
        kind = "a pipe";
    else if (S_ISSOCK(status.st_mode))
        kind = "a socket";
    else
        kind = "a device";
    return makeError(ErrorCode::InvalidArgument, operation,
                     std::string("expected a regular file, found ") + kind);
}

} // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path &path)
{
    const std::string operation = "open " + quotedForMessage(path.native(), 400);
    if (path.native().find('\0') != std::string::npos)
        return makeError(ErrorCode::InvalidArgument, operation, "the file name holds a zero byte");

    // Looked at before it is opened, because opening alone can act on a device; and again afterwards, because
    // the name may mean something else by then.
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0)
        return systemError(operation, errno);
    if (const Status regular = checkRegular(status, operation); !regular)
        return tl::unexpected(regular.error());
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (file.value() < 0 || ::fstat(file.value(), &status) != 0)
        return systemError(operation, errno);
    if (const Status regular = checkRegular(status, operation); !regular)
        return tl::unexpected(regular.error());

    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size == 0) // mmap refuses an empty range
        return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0));
    if (size > std::numeric_limits<std::size_t>::max())
        return makeError(ErrorCode::OutOfMemory, operation,
                         "a file of " + std::to_string(size) + " bytes does not fit the address space");
    void *data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.value(), 0);
    if (data == MAP_FAILED)
        return systemError(operation, errno);
    return std::shared_ptr<const MappedFile>(
        new MappedFile(static_cast<const std::byte *>(data), static_cast<std::size_t>(size)));
}

MappedFile::~MappedFile()
{
    if (m_data)
        ::munmap(const_cast<std::byte *>(m_data), m_size);
}

void MappedFile::releasePages(std::span<const std::byte> range) const
{
    if (!holds(range))
        return;
    const auto pageSize = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(range.data());
    const std::uintptr_t begin = (first + pageSize - 1) & ~(pageSize - 1);
    const std::uintptr_t end = (first + range.size()) & ~(pageSize - 1);
    if (begin < end)
        ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

Status readAhead(std::span<const std::byte> range)
{
    if (range.empty())
        return {};
    const auto pageSize = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(range.data());
    const std::uintptr_t begin = first & ~(pageSize - 1);
    const std::uintptr_t end = first + range.size();
#ifdef MADV_POPULATE_READ
    // Fails with an error where touching the page would end the program with a signal.
    if (::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_READ) == 0)
        return {};
    if (errno == EFAULT || errno == EIO)
        return makeError(ErrorCode::IoError, "read the file into memory", systemText(errno));
#endif
    for (std::uintptr_t page = begin; page < end; page += pageSize) {
        const std::uintptr_t address = page < first ? first : page;
        static_cast<void>(*reinterpret_cast<const volatile std::byte *>(address));
    }
    return {};
}

} // namespace tokenloupe
