// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace cudahost {

/// A place to run code on with a stack of its own, left and entered again by jump(). The code that an
/// operating system's thread came with is one too: a fiber that prepare() is never called for.
class Fiber
{
public:
    using Entry = void (*)();

    Fiber() = default;
    ~Fiber();
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

    /// The next jump here starts `entry`, which must not return. What ran here before is forgotten. `number`
    /// tells apart the fibers of a thread.
    void prepare(Entry entry, unsigned int number);

    /// Leaves `from`, which is the one that runs, until somebody jumps back to it.
    static void jump(Fiber &from, Fiber &to)
    {
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_start_switch_fiber(&from.m_fakeStack, to.m_lowest, to.m_bytes);
#endif
#ifdef __SANITIZE_THREAD__
        if (from.m_mapping == nullptr)
            from.m_tracked = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(to.m_tracked, 0);
#endif
        from.m_next = &to;
        arrive(from, boost::context::detail::jump_fcontext(to.m_context, &from));
    }

private:
    static void arrive([[maybe_unused]] Fiber &here, boost::context::detail::transfer_t from)
    {
        Fiber &left = *static_cast<Fiber *>(from.data);
        left.m_context = from.fctx;
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_finish_switch_fiber(here.m_fakeStack, &left.m_lowest, &left.m_bytes);
#endif
    }
    static void start(boost::context::detail::transfer_t from);

    boost::context::detail::fcontext_t m_context = nullptr;
    Entry m_entry = nullptr;
    Fiber *m_next = nullptr;        ///< the one that was jumped to
    std::byte *m_mapping = nullptr; ///< the stack and the page below it that must not be touched
#ifdef __SANITIZE_ADDRESS__
    void *m_fakeStack = nullptr;
    const void *m_lowest = nullptr;
    std::size_t m_bytes = 0;
#endif
#ifdef __SANITIZE_THREAD__
    void *m_tracked = nullptr;
#endif
};

} // namespace cudahost
