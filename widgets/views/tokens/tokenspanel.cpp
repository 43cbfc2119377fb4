// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tokens/tokenspanel.h"

#include "widgets/controls/tokentext.h"
#include "widgets/models/enginehost.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QMetaObject>
#include <QPlainTextEdit>
#include <QVBoxLayout>

namespace tokenloupe {

TokensPanel::TokensPanel(InspectorContext &context, QWidget *parent)
    : Panel(tr("Tokens"), parent)
    , m_context(context)
{
    const Theme &theme = Theme::instance();
    m_text = new QPlainTextEdit(this);
    m_text->setPlaceholderText(tr("Type or paste any text: it is split as the model splits it."));
    m_text->setAccessibleName(tr("Text to split"));
    m_text->setTabChangesFocus(false);
    m_text->setFixedHeight(theme.scaled(72));
    m_special = new QCheckBox(tr("Read control tokens in the text"), this);
    m_special->setToolTip(
        tr("Off: text that looks like a control token is plain text, as in a chat message."));
    m_chips = new FlowChips(this);
    m_chips->setAccessibleName(tr("Tokens of the text"));
    m_chips->setProvider(this);
    content()->addWidget(m_text);
    content()->addWidget(m_special);
    content()->addWidget(m_chips, 1);

    m_worker = std::make_unique<LatestWorker<Job>>([this](Job &job) {
        EncodeOptions options;
        options.special = job.special;
        auto tokens = job.tokenizer->encode(job.text, options);
        PromptTokens split;
        QString error;
        if (tokens)
            split = {std::move(job.text), std::move(*tokens)};
        else
            error = QString::fromStdString(tokens.error().text());
        QMetaObject::invokeMethod(
            this,
            [this, generation = job.generation, tokenizer = job.tokenizer, split, error] {
                deliver(generation, tokenizer, split, error);
            },
            Qt::QueuedConnection);
    });
    connect(m_text, &QPlainTextEdit::textChanged, this, &TokensPanel::splitNow);
    connect(m_special, &QCheckBox::toggled, this, &TokensPanel::splitNow);
    connect(m_chips, &FlowChips::hovered, this, &TokensPanel::markInText);
    connect(m_chips, &FlowChips::currentChanged, this, &TokensPanel::markInText);
    connect(&context.host, &EngineHost::modelOpened, this, &TokensPanel::modelChanged);
    connect(&context.host, &EngineHost::statusChanged, this, [this] {
        if (!m_context.host.status().model != isEmptyState())
            modelChanged();
    });
    modelChanged();
}

TokensPanel::~TokensPanel()
{
    m_worker.reset(); // before what it delivers to
    m_chips->setProvider(nullptr);
}

void TokensPanel::modelChanged()
{
    setEmptyState(m_context.host.status().model ? QString() : tr("Open a model to see how it splits text."));
    splitNow();
}

void TokensPanel::splitNow()
{
    ++m_generation;
    const auto &model = m_context.host.status().model;
    if (!model) {
        deliver(m_generation, nullptr, {}, {});
        return;
    }
    m_worker->post({m_generation, m_text->toPlainText().toStdString(),
                    m_special->isChecked() ? SpecialTokens::Parse : SpecialTokens::AsText, model->tokenizer});
}

void TokensPanel::deliver(std::uint64_t generation, const std::shared_ptr<const Tokenizer> &tokenizer,
                          PromptTokens split, const QString &error)
{
    if (generation != m_generation)
        return; // typed on meanwhile
    // Only now: chips of the old split are still drawn with the tokenizer that made them.
    m_tokenizer = tokenizer;
    m_split = std::move(split);
    m_chips->itemsReset();
    m_text->setExtraSelections({});
    if (!error.isEmpty()) {
        setSummary(error);
    } else if (m_split.tokens.empty()) {
        setSummary({});
    } else {
        const double perToken = double(m_split.text.size()) / double(m_split.tokens.size());
        setSummary(tr("%1 tokens · %2 bytes · %3 bytes a token")
                       .arg(formatCount(m_split.tokens.size()), formatCount(m_split.text.size()),
                            QString::number(perToken, 'f', 2)));
    }
    Q_EMIT splitChanged();
}

int TokensPanel::count() const
{
    return static_cast<int>(m_split.tokens.size());
}

TokenChip TokensPanel::chip(int index) const
{
    const TokenId id = m_split.tokens[std::size_t(index)].id;
    return {chipText(m_tokenizer->bytes(id), m_tokenizer->kind(id)), QString::number(id.value()),
            ChipState::Normal, false};
}

QString TokensPanel::tooltip(int index) const
{
    const EncodedToken &token = m_split.tokens[std::size_t(index)];
    return QString(tokenDescription(*m_tokenizer, token.id) +
                   tr("\nbytes %1 to %2 of the text").arg(token.range.begin).arg(token.range.end));
}

QString TokensPanel::copyText(int first, int last) const
{
    return tokensText(*m_tokenizer, m_split.ids(), first, last);
}

void TokensPanel::markInText(int index)
{
    QList<QTextEdit::ExtraSelection> marks;
    if (index >= 0 && index < count()) {
        const ByteRange range = m_split.tokens[std::size_t(index)].range;
        const auto chars = [&](std::uint32_t bytes) {
            return QString::fromUtf8(m_split.text.data(), static_cast<qsizetype>(bytes)).size();
        };
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(m_text->document());
        mark.cursor.setPosition(static_cast<int>(chars(range.begin)));
        mark.cursor.setPosition(static_cast<int>(std::max(chars(range.begin), chars(range.end))),
                                QTextCursor::KeepAnchor);
        mark.format.setBackground(Theme::instance().colors().softAccent);
        mark.format.setForeground(Theme::instance().colors().text);
        marks << mark;
    }
    m_text->setExtraSelections(marks);
}

} // namespace tokenloupe
