// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/kernelname.h"

#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <link.h>
#include <map>
#include <memory>
#include <vector>

namespace cudahost {

namespace {

using Names = std::map<std::uintptr_t, std::string>; ///< by address as it was linked

template <class T>
T readAt(const std::vector<char> &file, std::size_t offset)
{
    T value{};
    if (offset <= file.size() && sizeof(T) <= file.size() - offset)
        std::memcpy(&value, file.data() + offset, sizeof(T));
    return value;
}

// Kernels are often static, so the dynamic symbols do not have them.
Names readNames()
{
    std::ifstream stream("/proc/self/exe", std::ios::binary);
    const std::vector<char> file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const auto header = readAt<Elf64_Ehdr>(file, 0);
    Names names;
    for (unsigned int i = 0; i < header.e_shnum; ++i) {
        const auto section = readAt<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
        if (section.sh_type != SHT_SYMTAB)
            continue;
        const auto strings = readAt<Elf64_Shdr>(file, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
        for (std::size_t place = 0; place + sizeof(Elf64_Sym) <= section.sh_size;
             place += sizeof(Elf64_Sym)) {
            const auto symbol = readAt<Elf64_Sym>(file, section.sh_offset + place);
            const std::size_t text = strings.sh_offset + symbol.st_name;
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && text < file.size())
                names.emplace(symbol.st_value, std::string(file.data() + text));
        }
    }
    return names;
}

std::uintptr_t loadedAt()
{
    std::uintptr_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *program, std::size_t, void *result) {
            *static_cast<std::uintptr_t *>(result) = program->dlpi_addr;
            return 1; // the first is the program itself
        },
        &base);
    return base;
}

} // namespace

std::string kernelName(const void *function)
{
    static const Names names = readNames();
    const auto found = names.find(reinterpret_cast<std::uintptr_t>(function) - loadedAt());
    if (found == names.end())
        return "kernel at " + std::to_string(reinterpret_cast<std::uintptr_t>(function));
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> plain(
        abi::__cxa_demangle(found->second.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 ? std::string(plain.get()) : found->second;
}

} // namespace cudahost
