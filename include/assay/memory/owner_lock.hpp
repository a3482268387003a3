// SPDX-License-Identifier: Apache-2.0
/// @file
/// A lock that the thread which takes it again and again enters without a locked instruction.
#pragma once

#include <assay/core/platform.hpp>
#include <assay/memory/thread_identity.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

namespace assay::mr {

/// A barrier that all threads of the process take part in, running or not.
struct process_barrier {
  static bool available() noexcept { return config::has_process_barrier(); }
  static void run() noexcept { config::process_barrier(); }
};

/// A lock for sections of a few nanoseconds, with at most one owner; a thread is inside one such
/// lock at a time. Without an owner it is a flag that an exchange takes.
///
/// The owner says that it is inside (a store), then looks whether it still is the owner (a load),
/// and if not takes the flag as others do. Who wants to enter in its place takes the flag, writes
/// that there is no owner, runs a barrier in every thread of the process, and waits until the
/// former owner is not inside.
///
/// Why that excludes: the barrier falls at one point of the owner's program. If the owner's load
/// comes after that point, it sees that it is no owner. If it comes before, so does the store: the
/// other sees it, and waits until the section is left (`inside` is released there, and acquired by
/// who waits). For the owner a compiler's fence between store and load is therefore enough. It
/// owns again only by an own store or by one that releases what was done in between.
///
/// An owner that is preempted inside is waited for, as any holder of a lock is. One that has ended
/// is not inside; its record, and with it what it owned, goes to a thread that comes after it. What
/// a thread says is in its own record: one that is late cannot undo what a later owner says. In the
/// child of a fork the lock is as usable as any: if no thread that is gone was inside.
template <class Barrier = process_barrier>
class owner_lock {
 public:
  /// Takes without an interruption, until a thread owns; each time an owner is driven out doubles
  /// it: what the barrier and the return cost (microseconds) stays below what the takes did.
  static constexpr std::uint32_t first_takes = 64;
  static constexpr std::uint32_t most_takes = first_takes << 10U;

  /// Why a thread enters: to use what the lock guards, and to own it if it does so often; to take
  /// something away from the owner; or only to look, which leaves the owner what it is.
  enum class aim : std::uint8_t { use, take, look };

  /// Is inside while it lives.
  class [[nodiscard]] section {
   public:
    section(owner_lock& lock, thread_record& me, aim why) noexcept
        : lock_(lock), me_(lock.enter_as_owner(me) ? &me : nullptr) {
      if (me_ == nullptr) { lock.enter(me, why); }
    }
    section(section const&) = delete;
    section& operator=(section const&) = delete;
    ~section() {
      if (me_ != nullptr) {
        leave_as_owner(*me_);
      } else {
        lock_.leave();
      }
    }

   private:
    owner_lock& lock_;
    thread_record* const me_;  // of the owner
  };

  /// Is inside while it lives if the calling thread is the owner: the part that costs next to
  /// nothing.
  class [[nodiscard]] own_section {
   public:
    [[gnu::always_inline]] own_section(owner_lock& lock, thread_record& me) noexcept
        : me_(me), owned_(lock.enter_as_owner(me)) {}
    own_section(own_section const&) = delete;
    own_section& operator=(own_section const&) = delete;
    [[gnu::always_inline]] ~own_section() {
      if (owned_) { leave_as_owner(me_); }
    }
    explicit operator bool() const noexcept { return owned_; }

   private:
    thread_record& me_;
    bool const owned_;
  };

  section use(thread_record& me) noexcept { return {*this, me, aim::use}; }
  section take() { return {*this, this_thread(), aim::take}; }
  section look() { return {*this, this_thread(), aim::look}; }
  [[gnu::always_inline]] own_section own(thread_record& me) noexcept { return {*this, me}; }

  /// Whether the calling thread, `me`, owns the lock. Another thread may end that at any time.
  bool owned_by(thread_record const& me) const noexcept {
    return owner_.load(std::memory_order_relaxed) == &me;
  }

 private:
  [[gnu::always_inline]] bool enter_as_owner(thread_record& me) noexcept {
    me.inside.store(this, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (owner_.load(std::memory_order_acquire) == &me) [[likely]] { return true; }
    me.inside.store(nullptr, std::memory_order_release);
    return false;
  }

  static void leave_as_owner(thread_record& me) noexcept {
    me.inside.store(nullptr, std::memory_order_release);
  }

  [[gnu::noinline]] void enter(thread_record& me, aim why) noexcept {
    while (held_.exchange(true, std::memory_order_acquire)) {
      wait_while([&] { return held_.load(std::memory_order_relaxed); });
    }
    auto* const former = owner_.load(std::memory_order_relaxed);
    next_ = former;
    if (former != nullptr && former != &me) {
      owner_.store(nullptr, std::memory_order_relaxed);
      Barrier::run();
      wait_while([&] { return former->inside.load(std::memory_order_acquire) == this; });
      if (why == aim::look) { return; }
      next_ = nullptr;
      user_ = nullptr;
      wanted_ = std::min(2 * wanted_, most_takes);
    }
    if (why != aim::use || former == &me) { return; }
    takes_ = user_ == &me ? takes_ + 1 : 1;
    user_ = &me;
    if (takes_ >= wanted_ && Barrier::available()) { next_ = &me; }
  }

  void leave() noexcept {
    if (next_ != owner_.load(std::memory_order_relaxed)) {
      owner_.store(next_, std::memory_order_release);
    }
    held_.store(false, std::memory_order_release);
  }

  template <class Condition>
  static void wait_while(Condition const& condition) noexcept {
    for (int spins = 0; condition(); ++spins) {
      config::cpu_relax();
      if (spins > 64) { std::this_thread::yield(); }  // who is inside has most likely lost its core
    }
  }

  std::atomic<thread_record*> owner_{nullptr};  // written by the holder of the flag
  std::atomic<bool> held_{false};
  // The holder's of the flag.
  std::uint32_t takes_ = 0;  // by `user_`, in a row
  std::uint32_t wanted_ = first_takes;
  thread_record* user_ = nullptr;
  thread_record* next_ = nullptr;  // owns when the flag is given back
};

}  // namespace assay::mr
