// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/searchcombo.h"

#include "widgets/theme/theme.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QFocusEvent>
#include <QLineEdit>
#include <QSignalBlocker>

namespace tokenloupe {

SearchCombo::SearchCombo(const QString &accessibleName, QWidget *parent)
    : QComboBox(parent)
{
    setAccessibleName(accessibleName);
    setEditable(true);
    setInsertPolicy(NoInsert);
    setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(6);
    setMinimumWidth(Theme::instance().scaled(80));
    setMaxVisibleItems(16);
    lineEdit()->setAccessibleName(accessibleName);
    completer()->setCompletionMode(QCompleter::PopupCompletion);
    completer()->setFilterMode(Qt::MatchContains);
    completer()->setCaseSensitivity(Qt::CaseInsensitive);
    completer()->setMaxVisibleItems(16);
    connect(this, &QComboBox::activated, this, [this](int index) {
        lineEdit()->setCursorPosition(0); // long names: their beginning says most
        // Return in the list of matches comes twice: once from it, once from the field
        if (!m_entering)
            Q_EMIT chosen(itemData(index));
    });
    connect(lineEdit(), &QLineEdit::returnPressed, this, &SearchCombo::enter);
}

void SearchCombo::setPlaceholder(const QString &text)
{
    lineEdit()->setPlaceholderText(text);
}

void SearchCombo::setEntries(const QStringList &texts, const QVariantList &keys)
{
    const QSignalBlocker blocker(this);
    const QVariant shown = currentData();
    clear();
    for (qsizetype i = 0; i < texts.size(); ++i)
        addItem(texts[i], keys[i]);
    showEntry(shown);
}

void SearchCombo::showEntry(const QVariant &key)
{
    const QSignalBlocker blocker(this);
    setCurrentIndex(key.isValid() ? findData(key) : -1);
    restoreText();
}

void SearchCombo::restoreText()
{
    const QSignalBlocker blocker(this);
    lineEdit()->setText(currentIndex() < 0 ? QString() : itemText(currentIndex()));
    lineEdit()->setCursorPosition(0);
}

void SearchCombo::enter()
{
    if (completer()->popup()->isVisible() && completer()->popup()->currentIndex().isValid())
        return; // what is marked in the list of matches is taken by it
    const QString text = currentText().trimmed();
    if (text.isEmpty() || (currentIndex() >= 0 && text == itemText(currentIndex()))) {
        restoreText();
        return;
    }
    int index = findText(text, Qt::MatchFixedString);
    if (index < 0)
        index = findText(text, Qt::MatchStartsWith);
    if (index < 0)
        index = findText(text, Qt::MatchContains);
    completer()->popup()->hide();
    if (index < 0) {
        restoreText();
        Q_EMIT unknownEntered(text);
        return;
    }
    setCurrentIndex(index);
    restoreText();
    m_entering = true; // the field's own end of editing must not announce it again
    Q_EMIT chosen(itemData(index));
    m_entering = false;
}

void SearchCombo::focusOutEvent(QFocusEvent *event)
{
    QComboBox::focusOutEvent(event);
    if (event->reason() != Qt::PopupFocusReason)
        restoreText();
}

} // namespace tokenloupe
