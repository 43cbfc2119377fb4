// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace tokenloupe::test {

/// Counts what this program asks of operator new while it lives (its source file replaces the operator). One
/// at a time.
class AllocationCounter
{
public:
    AllocationCounter();

    std::size_t total() const;   ///< bytes asked for since construction, freed or not
    std::size_t largest() const; ///< bytes of the largest single request
};

} // namespace tokenloupe::test
