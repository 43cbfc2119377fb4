// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/refreshpace.h"

#include <algorithm>

namespace tokenloupe {

namespace {

std::chrono::milliseconds currentRest{0};

} // namespace

RefreshPace::RefreshPace(std::function<void()> refresh, QObject *parent)
    : QObject(parent)
    , m_refresh(std::move(refresh))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        refreshed();
        m_refresh();
    });
}

void RefreshPace::schedule()
{
    if (m_timer.isActive())
        return;
    const std::chrono::milliseconds passed(m_sinceLast.isValid() ? m_sinceLast.elapsed()
                                                                 : currentRest.count());
    m_timer.start(std::max(std::chrono::milliseconds(0), currentRest - passed));
}

void RefreshPace::cancel()
{
    m_timer.stop();
}

void RefreshPace::refreshed()
{
    m_timer.stop();
    m_sinceLast.start();
}

void RefreshPace::setRest(std::chrono::milliseconds rest)
{
    currentRest = rest;
}

} // namespace tokenloupe
