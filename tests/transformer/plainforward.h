// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/tinyarchitecture.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tokenloupe::test {

/// The plainest forward pass over a tiny model of any architecture: double precision, the whole sequence at
/// once, one loop for each formula, straight from the description and the tensors that the file was made of.
class PlainForward
{
public:
    /// `tensors` must outlive the object. `cacheContext`: what scalings that depend on the length are for.
    PlainForward(const TinyArchitecture &model, const TinyTensors &tensors, std::uint32_t cacheContext);

    /// Logits of every position, one row after the other.
    std::vector<double> logits(const std::vector<std::uint32_t> &ids) const;

private:
    using Row = std::vector<double>;
    using Rows = std::vector<Row>; // one for each token

    const TinyTensor *find(const std::string &name) const;
    Row times(const std::string &name, const Row &x) const;
    /// x itself when there is no such norm.
    Row normed(const std::string &name, const Row &x) const;
    Row normedPart(const TinyTensor &gain, const TinyTensor *bias, const Row &x, std::size_t first,
                   std::size_t count) const;
    void normHeads(const std::string &name, Row &heads) const;
    Row start(std::uint32_t id, std::size_t position) const;
    std::vector<double> frequencies(bool isLocal, double &magnitude) const;
    void rotate(Row &heads, std::size_t position, std::uint32_t layer) const;
    double slopeOf(std::uint32_t head) const;
    Row projected(const std::string &at, const char *what, const Row &x) const;
    Row attended(const Rows &queries, const Rows &keys, const Rows &values, std::size_t position,
                 std::uint32_t layer) const;
    Row feedForward(const std::string &at, const Row &x) const;
    Row dense(const std::string &at, const std::string &expert, const Row &x) const;
    Row mixed(const std::string &at, const Row &x) const;
    double curve(double x) const;
    void runLayer(std::uint32_t layer, Rows &residual) const;

    TinyArchitecture m_model;
    const TinyTensors &m_tensors;
    double m_cacheContext;
};

} // namespace tokenloupe::test
