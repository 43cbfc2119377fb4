// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tokenloupe {

/// An array that is as large as a vocabulary and needed anew for every token. Its memory is kept for the next
/// one of the same thread: fresh pages from the system would cost more than the work that is done in them.
/// What is in it at first is whatever was left there.
template <class T>
class Scratch
{
public:
    Scratch() = default;
    explicit Scratch(std::size_t size) { resize(size); }
    Scratch(Scratch &&other) noexcept
        : m_block(std::move(other.m_block))
        , m_size(std::exchange(other.m_size, 0))
    {}
    Scratch &operator=(Scratch &&other) noexcept
    {
        std::swap(m_block, other.m_block);
        std::swap(m_size, other.m_size);
        return *this;
    }
    ~Scratch() { giveBack(); }

    /// Keeps nothing of what was in it when it has to become larger than ever.
    void resize(std::size_t size)
    {
        if (size > m_block.capacity) {
            giveBack();
            takeAtLeast(size);
        }
        m_size = size;
    }
    /// Forgets the rest, in place.
    void shrink(std::size_t size) { m_size = std::min(m_size, size); }
    void clear() { m_size = 0; }

    std::size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }
    T *data() { return m_block.memory.get(); }
    const T *data() const { return m_block.memory.get(); }
    T &operator[](std::size_t i) { return m_block.memory[i]; }
    const T &operator[](std::size_t i) const { return m_block.memory[i]; }
    std::span<T> span() { return {data(), m_size}; }
    std::span<const T> span() const { return {data(), m_size}; }

private:
    struct Block
    {
        std::unique_ptr<T[]> memory;
        std::size_t capacity = 0;
    };
    static constexpr std::size_t mostKept = 6; ///< blocks a thread

    static std::vector<Block> &spare()
    {
        thread_local std::vector<Block> blocks;
        return blocks;
    }
    void takeAtLeast(std::size_t size)
    {
        std::vector<Block> &blocks = spare();
        for (Block &block : blocks) {
            if (block.capacity < size)
                continue;
            std::swap(m_block, block);
            std::swap(block, blocks.back());
            blocks.pop_back();
            return;
        }
        m_block = {std::make_unique_for_overwrite<T[]>(size), size};
    }
    void giveBack()
    {
        std::vector<Block> &blocks = spare();
        if (m_block.memory && blocks.size() < mostKept) {
            blocks.push_back(std::move(m_block));
        } else if (m_block.memory) {
            // The large ones are those that are hard to come by.
            const auto least =
                std::min_element(blocks.begin(), blocks.end(),
                                 [](const Block &a, const Block &b) { return a.capacity < b.capacity; });
            if (least->capacity < m_block.capacity)
                std::swap(*least, m_block);
        }
        m_block = {};
        m_size = 0;
    }

    Block m_block;
    std::size_t m_size = 0;
};

} // namespace tokenloupe
