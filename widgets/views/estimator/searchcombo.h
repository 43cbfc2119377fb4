// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>

namespace tokenloupe {

/// A long list to choose from: typing narrows it to what contains the text, in any case. Only what is in the
/// list can be chosen; leaving the field brings back what was chosen before.
class SearchCombo : public QComboBox
{
    Q_OBJECT

public:
    explicit SearchCombo(const QString &accessibleName, QWidget *parent = nullptr);

    /// Text that invites to type, while nothing is chosen.
    void setPlaceholder(const QString &text);
    /// Replaces the entries; `keys` go with the texts. Nothing is announced.
    void setEntries(const QStringList &texts, const QVariantList &keys);
    /// Shows the entry with `key` without announcing it; none: nothing is chosen.
    void showEntry(const QVariant &key);

Q_SIGNALS:
    void chosen(const QVariant &key);         ///< by the user
    void unknownEntered(const QString &text); ///< Return on a text that nothing in the list contains

protected:
    void focusOutEvent(QFocusEvent *event) override;

private:
    void enter();
    void restoreText();

    bool m_entering = false;
};

} // namespace tokenloupe
