// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QWidget>

class QLabel;

namespace tokenloupe {

class StackedBar;

/// The answer: one big sentence with both numbers, marked by colour, sign and words; what was asked in one
/// line; and a bar of the parts against what there is.
class VerdictView : public QWidget
{
    Q_OBJECT

public:
    explicit VerdictView(QWidget *parent = nullptr);

    void setResult(const EstimatorResultPtr &result); ///< one that has an estimate
    void setHint(const QString &text);                ///< instead of an answer: what to do to get one
    QString sentence() const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

private:
    enum class Kind { None, Fits, TooLarge };
    void setSentence(Kind kind, const QString &text);
    void refreshLook();

    Kind m_kind = Kind::None;
    QLabel *m_icon = nullptr;
    QLabel *m_sentence = nullptr;
    QLabel *m_question = nullptr;
    StackedBar *m_bar = nullptr;
};

/// "the RTX 4090", "2 cards (…)", "this machine".
QString deviceWords(const EstimateRequest &request);

} // namespace tokenloupe
