// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chain/stageeditor.h"

#include "widgets/theme/theme.h"

#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

#include <limits>

namespace tokenloupe {

StageEditor::StageEditor(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme.scaled(4), 0, 0);
    layout->setSpacing(theme.scaled(4));
    m_title = new QLabel(this);
    m_title->setFont(theme.font(TextRole::Heading));
    layout->addWidget(m_title);
    m_form = new QFormLayout;
    m_form->setSpacing(theme.scaled(4));
    m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    layout->addLayout(m_form);
    layout->addStretch(1);
}

void StageEditor::clear()
{
    m_shown = false;
    m_title->clear();
    m_updates.clear();
    while (m_form->rowCount() > 0)
        m_form->removeRow(0);
}

void StageEditor::setStage(const StageSettings &stage)
{
    if (m_shown && stage.kind() == m_stage.kind()) {
        m_stage = stage;
        for (const auto &update : m_updates)
            update(stage);
        return;
    }
    clear();
    m_stage = stage;
    m_shown = true;
    rebuild();
}

void StageEditor::announce()
{
    Q_EMIT edited(m_stage);
}

void StageEditor::addReal(const QString &label, double value, double low, double high, double step,
                          std::function<void(double)> apply)
{
    auto *box = new QDoubleSpinBox(this);
    box->setDecimals(step < 0.02 ? 3 : 2);
    box->setRange(low, high);
    box->setSingleStep(step);
    box->setValue(value);
    box->setKeyboardTracking(false); // a number half typed is not a setting
    box->setAccessibleName(label);
    connect(box, &QDoubleSpinBox::valueChanged, this, [this, apply](double changed) {
        apply(changed);
        announce();
    });
    m_form->addRow(label, box);
}

void StageEditor::addInteger(const QString &label, int value, int low, int high,
                             std::function<void(int)> apply)
{
    auto *box = new QSpinBox(this);
    box->setRange(low, high);
    box->setValue(value);
    box->setKeyboardTracking(false);
    box->setAccessibleName(label);
    connect(box, &QSpinBox::valueChanged, this, [this, apply](int changed) {
        apply(changed);
        announce();
    });
    m_form->addRow(label, box);
}

void StageEditor::rebuild()
{
    const std::string_view title = stageTitle(m_stage.kind());
    m_title->setText(QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size())));
    // Each field writes into m_stage; m_updates read from there.
    const auto follow = [this](auto *box, auto read) {
        m_updates.push_back([box, read](const StageSettings &stage) {
            const QSignalBlocker blocker(box);
            box->setValue(read(stage));
        });
    };
    const auto lastReal = [this] {
        return qobject_cast<QDoubleSpinBox *>(
            m_form->itemAt(m_form->rowCount() - 1, QFormLayout::FieldRole)->widget());
    };
    const auto lastInteger = [this] {
        return qobject_cast<QSpinBox *>(
            m_form->itemAt(m_form->rowCount() - 1, QFormLayout::FieldRole)->widget());
    };
    const auto real = [&]<class Params>(const QString &label, float Params::*member, double low, double high,
                                        double step) {
        addReal(label, double(std::get<Params>(m_stage.params).*member), low, high, step,
                [this, member](double value) { std::get<Params>(m_stage.params).*member = float(value); });
        follow(lastReal(), [member](const StageSettings &stage) {
            return double(std::get<Params>(stage.params).*member);
        });
    };
    const auto integer = [&]<class Params>(const QString &label, std::int32_t Params::*member, int low,
                                           int high) {
        addInteger(label, std::get<Params>(m_stage.params).*member, low, high,
                   [this, member](int value) { std::get<Params>(m_stage.params).*member = value; });
        follow(lastInteger(),
               [member](const StageSettings &stage) { return std::get<Params>(stage.params).*member; });
    };

    switch (m_stage.kind()) {
    case StageKind::LogitBias: {
        auto *field = new QLineEdit(writeBiases(std::get<LogitBiasParams>(m_stage.params)), this);
        field->setPlaceholderText(tr("198 +2.5, 504 -inf"));
        field->setToolTip(tr("Token id and what is added to its logit; -inf bans the token."));
        field->setAccessibleName(tr("Biases"));
        connect(field, &QLineEdit::editingFinished, this, [this, field] {
            const auto biases = readBiases(field->text());
            if (!biases) {
                Q_EMIT rejected(QString::fromStdString(biases.error().text()));
                return;
            }
            m_stage.params = *biases;
            announce();
        });
        m_updates.push_back([field](const StageSettings &stage) {
            if (!field->hasFocus())
                field->setText(writeBiases(std::get<LogitBiasParams>(stage.params)));
        });
        m_form->addRow(tr("Biases"), field);
        break;
    }
    case StageKind::Penalties:
        real(tr("Repeat"), &PenaltiesParams::repeat, 0.05, 10.0, 0.05);
        real(tr("Presence"), &PenaltiesParams::presence, -10.0, 10.0, 0.1);
        real(tr("Frequency"), &PenaltiesParams::frequency, -10.0, 10.0, 0.1);
        integer(tr("Window (−1: all)"), &PenaltiesParams::lastN, -1, 1'000'000);
        break;
    case StageKind::TopK:
        integer(tr("k (0: off)"), &TopKParams::k, 0, 1'000'000);
        break;
    case StageKind::TopP:
        real(tr("p (1: off)"), &TopPParams::p, 0.0, 1.0, 0.01);
        break;
    case StageKind::MinP:
        real(tr("p (0: off)"), &MinPParams::p, 0.0, 1.0, 0.01);
        break;
    case StageKind::Temperature:
        real(tr("T (0: greedy)"), &TemperatureParams::temperature, 0.0, 10.0, 0.05);
        break;
    }
}

Result<LogitBiasParams> StageEditor::readBiases(const QString &text)
{
    LogitBiasParams params;
    static const QRegularExpression between(QStringLiteral("[,;]"));
    static const QRegularExpression pair(
        QStringLiteral("^\\s*(\\d+)(?:\\s*:\\s*|\\s+|(?=[+-]))([+-]?\\S+)\\s*$"));
    for (const QString &part : text.split(between, Qt::SkipEmptyParts)) {
        if (part.trimmed().isEmpty())
            continue;
        const QRegularExpressionMatch match = pair.match(part);
        bool idRead = false;
        bool biasRead = false;
        const std::uint32_t id = match.captured(1).toUInt(&idRead);
        QString number = match.captured(2);
        float bias = 0.0F;
        if (number.compare(QLatin1String("-inf"), Qt::CaseInsensitive) == 0) {
            bias = -std::numeric_limits<float>::infinity();
            biasRead = true;
        } else {
            bias = number.toFloat(&biasRead);
        }
        if (!match.hasMatch() || !idRead || !biasRead)
            return makeError(ErrorCode::InvalidArgument, "logit bias",
                             "expected a token id and a number, as in 198 +2.5; got " +
                                 part.trimmed().toStdString());
        params.biases.emplace_back(TokenId(id), bias);
    }
    return params;
}

QString StageEditor::writeBiases(const LogitBiasParams &params)
{
    QStringList parts;
    for (const auto &[id, bias] : params.biases) {
        const QString number = std::isinf(bias) ? QStringLiteral("-inf")
                                                : QString((bias >= 0 ? QStringLiteral("+") : QString()) +
                                                          QString::number(double(bias), 'g', 6));
        parts << QString(QString::number(id.value()) + QLatin1Char(' ') + number);
    }
    return parts.join(QStringLiteral(", "));
}

} // namespace tokenloupe
