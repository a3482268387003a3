// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of one thread that destructors of static and thread-local objects may still use.
#pragma once

#include <assay/core/requirements.hpp>

#include <atomic>
#include <utility>

namespace assay::detail {

/// The value of the calling thread, made by `Make()` at the first call; `Make` is a lambda without
/// captures, and each has a value of its own.
///
/// The value ends with the thread. A destructor of a static object, or of an object of the thread
/// that ends later, gets a new value, which is never destroyed.
template <class Make>
auto& thread_value(Make make) {
  using value = decltype(make());
  struct late_value {
    value kept;
    late_value* next;
  };
  // Without destructors, so that both can be read when the thread's objects are gone.
  static constinit thread_local value* mine = nullptr;
  static constinit thread_local bool ended = false;
  static constinit std::atomic<late_value*> late{nullptr};  // where leak checkers find them
  if (mine != nullptr) [[likely]] { return *mine; }
  if (ended) {
    auto* const made = new late_value{make(), late.load()};
    while (!late.compare_exchange_weak(made->next, made)) {}
    mine = &made->kept;
    return *mine;
  }
  struct ender {
    ~ender() {
      delete std::exchange(mine, nullptr);
      ended = true;
    }
  };
  mine = new value(make());
  thread_local ender const at_exit;
  (void)&at_exit;
  return *mine;
}

}  // namespace assay::detail
