// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/ggufwriter.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tokenloupe::test {

ByteWriter &ByteWriter::string(std::string_view text)
{
    return number(static_cast<std::uint64_t>(text.size())).text(text);
}

ByteWriter &ByteWriter::raw(std::span<const std::byte> bytes)
{
    m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
    return *this;
}

ByteWriter &ByteWriter::text(std::string_view bytes)
{
    return raw(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

ByteWriter &ByteWriter::padTo(std::size_t multiple)
{
    while (m_bytes.size() % multiple != 0)
        m_bytes.push_back(std::byte{0});
    return *this;
}

GgufWriter &GgufWriter::string(std::string_view key, std::string_view value)
{
    return rawValue(key, 8, ByteWriter().string(value).bytes());
}

GgufWriter &GgufWriter::strings(std::string_view key, std::span<const std::string> values)
{
    ByteWriter writer;
    writer.number(std::uint32_t{8}).number(static_cast<std::uint64_t>(values.size()));
    for (const std::string &value : values)
        writer.string(value);
    return rawValue(key, 9, writer.bytes());
}

GgufWriter &GgufWriter::floats(std::string_view key, std::span<const float> values)
{
    ByteWriter writer;
    writer.number(std::uint32_t{6})
        .number(static_cast<std::uint64_t>(values.size()))
        .raw(std::as_bytes(values));
    return rawValue(key, 9, writer.bytes());
}

GgufWriter &GgufWriter::integers(std::string_view key, std::span<const std::int32_t> values)
{
    ByteWriter writer;
    writer.number(std::uint32_t{5})
        .number(static_cast<std::uint64_t>(values.size()))
        .raw(std::as_bytes(values));
    return rawValue(key, 9, writer.bytes());
}

GgufWriter &GgufWriter::rawValue(std::string_view key, std::uint32_t typeId, std::span<const std::byte> bytes)
{
    m_keys.push_back({std::string(key), typeId, {bytes.begin(), bytes.end()}});
    return *this;
}

GgufWriter &GgufWriter::without(std::string_view key)
{
    if (std::erase_if(m_keys, [key](const Key &entry) { return entry.name == key; }) == 0)
        throw std::logic_error("no key " + std::string(key));
    return *this;
}

GgufWriter &GgufWriter::tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t typeId,
                               std::span<const std::byte> data)
{
    m_tensors.push_back({std::string(name), std::move(shape), typeId, {data.begin(), data.end()}, {}, {}});
    return *this;
}

GgufWriter &GgufWriter::withoutTensor(std::string_view name)
{
    if (std::erase_if(m_tensors, [name](const Tensor &entry) { return entry.name == name; }) == 0)
        throw std::logic_error("no tensor " + std::string(name));
    return *this;
}

GgufWriter &GgufWriter::alignment(std::uint32_t value)
{
    return u32("general.alignment", value).dataAlignment(value);
}

GgufWriter &GgufWriter::dataAlignment(std::uint32_t value)
{
    m_alignment = value;
    return *this;
}

GgufWriter &GgufWriter::claimKeys(std::uint64_t count)
{
    m_claimedKeys = count;
    return *this;
}

GgufWriter &GgufWriter::claimTensors(std::uint64_t count)
{
    m_claimedTensors = count;
    return *this;
}

GgufWriter &GgufWriter::claimOffset(std::string_view name, std::uint64_t offset)
{
    tensorNamed(name).offset = offset;
    return *this;
}

GgufWriter &GgufWriter::claimDimensions(std::string_view name, std::uint32_t count)
{
    tensorNamed(name).dimensions = count;
    return *this;
}

GgufWriter &GgufWriter::claimShape(std::string_view name, std::vector<std::uint64_t> shape)
{
    tensorNamed(name).shape = std::move(shape);
    return *this;
}

GgufWriter &GgufWriter::claimType(std::string_view name, std::uint32_t typeId)
{
    tensorNamed(name).typeId = typeId;
    return *this;
}

GgufWriter::Tensor &GgufWriter::tensorNamed(std::string_view name)
{
    for (Tensor &tensor : m_tensors) {
        if (tensor.name == name)
            return tensor;
    }
    throw std::logic_error("no tensor " + std::string(name));
}

std::vector<std::byte> GgufWriter::bytes() const
{
    ByteWriter file;
    file.text("GGUF").number(m_version);
    file.number(m_claimedTensors.value_or(m_tensors.size()));
    file.number(m_claimedKeys.value_or(m_keys.size()));
    for (const Key &key : m_keys)
        file.string(key.name).number(key.typeId).raw(key.value);

    ByteWriter data;
    for (const Tensor &tensor : m_tensors) {
        const std::uint64_t offset = data.padTo(m_alignment).size();
        file.string(tensor.name);
        file.number(tensor.dimensions.value_or(static_cast<std::uint32_t>(tensor.shape.size())));
        for (const std::uint64_t extent : tensor.shape)
            file.number(extent);
        file.number(tensor.typeId).number(tensor.offset.value_or(offset));
        data.raw(tensor.data);
    }
    return file.padTo(m_alignment).raw(data.bytes()).bytes();
}

void GgufWriter::write(const std::filesystem::path &path) const
{
    writeBytes(path, bytes());
}

std::filesystem::path writeBytes(const std::filesystem::path &path, std::span<const std::byte> bytes)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file)
        throw std::runtime_error("cannot write " + path.string());
    return path;
}

std::vector<std::byte> readBytes(const std::filesystem::path &path)
{
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto bytes = std::as_bytes(std::span(content.data(), content.size()));
    return {bytes.begin(), bytes.end()};
}

} // namespace tokenloupe::test
