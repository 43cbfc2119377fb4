// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/base/utf8.h"

#include <QObject>
#include <QString>
#include <memory>
#include <vector>

namespace tokenloupe {

class RunStore;
class EngineHost;
class SamplerModel;

/// One message of the chat. A reply belongs to a run; its text is what its tokens stand for.
struct ConversationEntry
{
    enum class Author { User, Assistant };
    Author author = Author::User;
    std::string text;      ///< UTF-8; for replies: whole characters of the tokens so far
    std::uint64_t tag = 0; ///< replies only: of the request
    RunId run;             ///< replies only: the shown one; invalid until it has started
    std::vector<RunId>
        branches; ///< replies only: all runs of it, the first one and those that parted from it
};

/// The chat: messages, and the commands that change them. Asks the engine for replies and follows their runs'
/// tokens. On the GUI thread.
class Conversation : public QObject
{
    Q_OBJECT

public:
    Conversation(EngineHost &host, RunStore &store, SamplerModel &sampler, QObject *parent = nullptr);

    const std::vector<ConversationEntry> &entries() const { return m_entries; }
    QString systemPrompt() const { return m_systemPrompt; }
    void setSystemPrompt(const QString &text); ///< for the next prompt on
    bool isReplying() const;                   ///< the last entry is a reply that has not ended
    bool canEditLast() const;                  ///< there is a user message
    std::uint32_t maxTokens() const { return m_maxTokens; }
    void setMaxTokens(std::uint32_t tokens) { m_maxTokens = tokens; }

    void send(const QString &text, bool startPaused = false);
    void regenerate();                  ///< the last reply again, with a new draw
    void editLast(const QString &text); ///< replaces the last user message, drops its reply, sends
    void newChat();
    void branchAt(StepIndex step); ///< the shown reply parts from itself before this step, and waits there
    void showBranch(RunId run);    ///< another run of the last reply; it goes on from there
    QString lastUserMessage() const;

Q_SIGNALS:
    void reset(); ///< entries replaced as a whole
    void entryAppended(int index);
    void entryChanged(int index);   ///< text grew or was cut; at most once a tick
    void entriesRemoved(int first); ///< from `first` on
    void failed(const QString &message);

private:
    void startReply(bool startPaused);
    void runStarted(RunId run);
    void replyFailed(std::uint64_t tag, const QString &message);
    void followRun(); ///< brings the text of the newest reply up to its run's tokens
    void dropFrom(std::size_t first);
    ConversationEntry *lastReply();
    void followFrom(RunId run); ///< the last reply's text is that of this run, built anew

    EngineHost &m_host;
    RunStore &m_store;
    SamplerModel &m_sampler;
    std::vector<ConversationEntry> m_entries;
    QString m_systemPrompt;
    std::uint32_t m_maxTokens = 512;
    std::uint64_t m_nextTag = 1;
    Utf8Stream m_stream;        // of the newest reply
    std::size_t m_followed = 0; // its tokens that are in the text
    bool m_flushed = false;     // the run ended inside a character, which was written as U+FFFD
};

} // namespace tokenloupe
