// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <memory>

namespace cudahost {

/// The objects of one type that the runtime has given out and that were not destroyed yet.
template <class T>
class Handles
{
public:
    T *create()
    {
        auto object = std::make_shared<T>();
        T *handle = object.get();
        m_objects.emplace(handle, std::move(object));
        return handle;
    }
    /// Null: there is no such object.
    std::shared_ptr<T> find(const T *handle) const
    {
        const auto found = m_objects.find(handle);
        return found == m_objects.end() ? nullptr : found->second;
    }
    bool destroy(const T *handle) { return m_objects.erase(handle) != 0; }
    void clear() { m_objects.clear(); }
    const std::map<const T *, std::shared_ptr<T>> &all() const { return m_objects; }

private:
    std::map<const T *, std::shared_ptr<T>> m_objects;
};

} // namespace cudahost
