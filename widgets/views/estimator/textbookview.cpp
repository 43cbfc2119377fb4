// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/textbookview.h"

#include "widgets/models/attentionmodel.h"
#include "widgets/models/textbookmodel.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/howtable.h"

#include <QLabel>
#include <QVBoxLayout>

namespace tokenloupe {

TextbookView::TextbookView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme.scaled(8), 0, 0);
    layout->setSpacing(theme.scaled(4));
    const auto heading = [&](const QString &text) {
        auto *label = new QLabel(text, this);
        label->setFont(theme.font(TextRole::Heading));
        layout->addWidget(label);
    };
    heading(tr("What simplified formulas say"));
    m_formulas = new TextbookModel(this);
    layout->addWidget(new HowTable(tr("Textbook formulas"), m_formulas, TextbookModel::HowRole, this));
    layout->addSpacing(theme.scaled(8));
    heading(tr("Cache of a token under kinds of attention"));
    m_attention = new AttentionModel(this);
    layout->addWidget(new HowTable(tr("Kinds of attention"), m_attention, AttentionModel::HowRole, this));
    layout->addStretch(1);
}

void TextbookView::setResult(const EstimatorResultPtr &result)
{
    m_formulas->setResult(result);
    m_attention->setVariants(result->attention);
}

} // namespace tokenloupe
