// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudadevice.h"

#include <dlfcn.h>

namespace tokenloupe {

namespace {

// What is used of the driver's management library, which is there wherever its driver is. It is looked for
// when the program runs, so that the program starts without it.
struct MemoryInfo
{
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};
using Handle = void *;
using Start = int (*)();
using FindByBusId = int (*)(const char *, Handle *);
using AskMemory = int (*)(Handle, MemoryInfo *);

class Library
{
public:
    Library()
        : m_library(::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL))
    {}
    ~Library()
    {
        if (m_library)
            ::dlclose(m_library);
    }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;

    template <class Function>
    Function find(const char *name) const
    {
        return m_library ? reinterpret_cast<Function>(::dlsym(m_library, name)) : nullptr;
    }

private:
    void *m_library;
};

} // namespace

std::uint64_t freeBytesWithoutContext(const std::string &busId)
{
    const Library library;
    const auto start = library.find<Start>("nvmlInit_v2");
    const auto end = library.find<Start>("nvmlShutdown");
    const auto find = library.find<FindByBusId>("nvmlDeviceGetHandleByPciBusId_v2");
    const auto ask = library.find<AskMemory>("nvmlDeviceGetMemoryInfo");
    if (!start || !end || !find || !ask || start() != 0)
        return 0;
    Handle device = nullptr;
    MemoryInfo memory;
    const bool isKnown = find(busId.c_str(), &device) == 0 && ask(device, &memory) == 0;
    end();
    return isKnown ? memory.free : 0;
}

} // namespace tokenloupe
