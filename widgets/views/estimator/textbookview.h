// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QWidget>

namespace tokenloupe {

class AttentionModel;
class TextbookModel;

/// What common simplified formulas say about this model and why they are off; and what a token would cost
/// under other kinds of attention.
class TextbookView : public QWidget
{
    Q_OBJECT

public:
    explicit TextbookView(QWidget *parent = nullptr);

    void setResult(const EstimatorResultPtr &result); ///< one that has an estimate

private:
    TextbookModel *m_formulas = nullptr;
    AttentionModel *m_attention = nullptr;
};

} // namespace tokenloupe
