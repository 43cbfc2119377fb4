// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"

namespace tokenloupe {

std::string_view tensorClassTitle(TensorClass tensorClass)
{
    switch (tensorClass) {
    case TensorClass::Embedding:
        return "token embedding";
    case TensorClass::Attention:
        return "attention";
    case TensorClass::FeedForward:
        return "feed-forward";
    case TensorClass::Experts:
        return "experts";
    case TensorClass::Recurrent:
        return "recurrent layers";
    case TensorClass::Norms:
        return "norms";
    case TensorClass::Output:
        return "output head";
    case TensorClass::Other:
        break;
    }
    return "other";
}

std::uint64_t ModelShape::parameters() const
{
    std::uint64_t sum = 0;
    for (const ShapeTensor &tensor : tensors)
        sum += tensor.values();
    return sum;
}

double ModelShape::activeParameters() const
{
    double sum = 0.0;
    for (const ShapeTensor &tensor : tensors) {
        // An embedding of which one row is read multiplies nothing; a tied one is the output head too.
        if (tensor.tensorClass == TensorClass::Embedding && tensor.activeShare < 1.0)
            continue;
        sum += static_cast<double>(tensor.values()) * tensor.activeShare;
    }
    return sum;
}

std::uint64_t ModelShape::storedBytes() const
{
    std::uint64_t sum = 0;
    for (const ShapeTensor &tensor : tensors)
        sum += tensor.storedBytes;
    return sum;
}

} // namespace tokenloupe
