// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/checkedmath.h"
#include "engine/estimate/modelshape.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tokenloupe {

/// Class of a tensor by its role ("attn_q", "ffn_down_exps", "attn_norm.bias").
TensorClass tensorClassOf(std::string_view role);

/// Collects tensors into groups of equal ones and counts with care: what leaves 63 bits shows in isValid().
class ShapeTensorList
{
public:
    struct Item
    {
        TensorClass tensorClass = TensorClass::Other;
        std::string role;
        std::uint64_t rows = 1;
        std::uint64_t columns = 0;
        std::uint64_t count = 1;
        std::uint64_t storedBytes = 0;
        double activeShare = 1.0;
    };
    void add(Item item);                      ///< not of a layer
    void add(Item item, std::uint32_t layer); ///< layers of one group must come in order

    /// All values as float64 and their own 63-bit sizes can be counted.
    bool isValid() const { return (m_values * 64).isValid() && m_stored.isValid(); }
    std::vector<ShapeTensor> take() { return std::move(m_tensors); }

private:
    ShapeTensor &group(Item &&item);

    using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>; // role, rows, columns
    std::map<Key, std::size_t> m_index;
    std::vector<ShapeTensor> m_tensors;
    CheckedSize m_values;
    CheckedSize m_stored;
};

} // namespace tokenloupe
