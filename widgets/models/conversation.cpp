// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/conversation.h"

#include "engine/base/philox.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/samplermodel.h"

#include <algorithm>

namespace tokenloupe {

Conversation::Conversation(EngineHost &host, RunStore &store, SamplerModel &sampler, QObject *parent)
    : QObject(parent)
    , m_host(host)
    , m_store(store)
    , m_sampler(sampler)
{
    connect(&store, &RunStore::runStarted, this, &Conversation::runStarted);
    connect(&store, &RunStore::truncated, this, [this](RunId run, int) {
        ConversationEntry *reply = lastReply();
        if (reply && reply->run == run) {
            reply->text.clear();
            m_stream = {};
            m_followed = 0;
        }
    });
    connect(&store, &RunStore::runActivated, this, [this](RunId run) {
        const ConversationEntry *reply = lastReply();
        if (reply && std::find(reply->branches.begin(), reply->branches.end(), run) != reply->branches.end())
            followFrom(run);
    });
    connect(&store, &RunStore::updated, this, &Conversation::followRun);
    connect(&host, &EngineHost::replyFailed, this, &Conversation::replyFailed);
}

void Conversation::setSystemPrompt(const QString &text)
{
    m_systemPrompt = text;
}

ConversationEntry *Conversation::lastReply()
{
    if (m_entries.empty() || m_entries.back().author != ConversationEntry::Author::Assistant)
        return nullptr;
    return &m_entries.back();
}

bool Conversation::isReplying() const
{
    if (m_entries.empty() || m_entries.back().author != ConversationEntry::Author::Assistant)
        return false;
    const ConversationEntry &reply = m_entries.back();
    const Run *run = reply.run.isValid() ? m_store.run(reply.run) : nullptr;
    return !run || !run->end;
}

bool Conversation::canEditLast() const
{
    return !m_entries.empty();
}

QString Conversation::lastUserMessage() const
{
    for (auto it = m_entries.rbegin(); it != m_entries.rend(); ++it) {
        if (it->author == ConversationEntry::Author::User)
            return QString::fromStdString(it->text);
    }
    return {};
}

void Conversation::send(const QString &text, bool startPaused)
{
    if (isReplying())
        m_host.stop();
    m_entries.push_back({ConversationEntry::Author::User, text.toStdString(), 0, {}, {}});
    Q_EMIT entryAppended(static_cast<int>(m_entries.size()) - 1);
    startReply(startPaused);
}

void Conversation::dropFrom(std::size_t first)
{
    if (first >= m_entries.size())
        return;
    m_entries.resize(first);
    Q_EMIT entriesRemoved(static_cast<int>(first));
}

void Conversation::regenerate()
{
    if (m_entries.empty())
        return;
    if (isReplying())
        m_host.stop();
    if (lastReply())
        dropFrom(m_entries.size() - 1);
    startReply(false);
}

void Conversation::editLast(const QString &text)
{
    if (isReplying())
        m_host.stop();
    std::size_t last = m_entries.size();
    while (last > 0 && m_entries[last - 1].author != ConversationEntry::Author::User)
        --last;
    if (last > 0)
        dropFrom(last - 1);
    send(text);
}

void Conversation::newChat()
{
    m_host.stop();
    m_entries.clear();
    m_stream = {};
    m_followed = 0;
    Q_EMIT reset();
}

void Conversation::startReply(bool startPaused)
{
    ReplyRequest request;
    request.tag = m_nextTag++;
    if (!m_systemPrompt.isEmpty())
        request.messages.push_back({"system", m_systemPrompt.toStdString()});
    for (const ConversationEntry &entry : m_entries) {
        const char *role = entry.author == ConversationEntry::Author::User ? "user" : "assistant";
        request.messages.push_back({role, entry.text});
    }
    request.sampler = m_sampler.settings();
    if (m_sampler.seedMode() == SeedMode::Random)
        request.seed = randomSeed();
    request.maxTokens = m_maxTokens;
    request.startPaused = startPaused;

    m_stream = {};
    m_followed = 0;
    m_flushed = false;
    m_entries.push_back({ConversationEntry::Author::Assistant, {}, request.tag, {}, {}});
    Q_EMIT entryAppended(static_cast<int>(m_entries.size()) - 1);
    m_host.reply(request);
}

void Conversation::runStarted(RunId run)
{
    ConversationEntry *reply = lastReply();
    if (!reply || reply->tag != m_store.run(run)->start.tag)
        return;
    reply->branches.push_back(run);
    followFrom(run);
}

void Conversation::followFrom(RunId run)
{
    ConversationEntry *reply = lastReply();
    reply->run = run;
    reply->text.clear();
    m_stream = {};
    m_followed = 0;
    m_flushed = false;
}

void Conversation::branchAt(StepIndex step)
{
    const ConversationEntry *reply = lastReply();
    const Run *run = reply && reply->run.isValid() ? m_store.run(reply->run) : nullptr;
    if (run && step.value() < run->steps.size())
        m_host.branch(step);
}

void Conversation::showBranch(RunId run)
{
    const ConversationEntry *reply = lastReply();
    if (reply && reply->run != run &&
        std::find(reply->branches.begin(), reply->branches.end(), run) != reply->branches.end())
        m_host.activate(run);
}

void Conversation::replyFailed(std::uint64_t tag, const QString &message)
{
    ConversationEntry *reply = lastReply();
    if (reply && reply->tag == tag && !reply->run.isValid())
        dropFrom(m_entries.size() - 1);
    if (!message.isEmpty())
        Q_EMIT failed(message);
}

void Conversation::followRun()
{
    ConversationEntry *reply = lastReply();
    const Run *run = reply && reply->run.isValid() ? m_store.run(reply->run) : nullptr;
    const auto &model = m_host.status().model;
    if (!run || !model)
        return;
    if (m_flushed && !run->end) {
        // It ended inside a character and now goes on: what was written for the missing bytes is taken back.
        reply->text.clear();
        m_stream = {};
        m_followed = 0;
        m_flushed = false;
    }
    const std::size_t before = m_followed;
    for (; m_followed < run->steps.size(); ++m_followed) {
        const TokenId token = run->steps[m_followed].token;
        if (!model->tokenizer->isControl(token))
            reply->text += m_stream.push(model->tokenizer->bytes(token));
    }
    if (run->end && !m_stream.pending().empty()) {
        reply->text += m_stream.finish();
        m_flushed = true;
    }
    if (m_followed != before || run->end || m_followed == 0)
        Q_EMIT entryChanged(static_cast<int>(m_entries.size()) - 1);
}

} // namespace tokenloupe
