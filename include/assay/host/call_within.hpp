// SPDX-License-Identifier: Apache-2.0
/// @file
/// `call_within`: a call that cannot be ended, with a limit.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace assay {

/// Calls a function on a thread of its own. Returns its result, or nothing when the limit has
/// passed. The call then goes on, so it has to own what it uses.
template <class Call>
auto call_within(std::chrono::duration<double> limit,
                 Call call) -> std::optional<decltype(call())> {
  std::packaged_task<decltype(call())()> task{std::move(call)};
  auto result = task.get_future();
  std::thread{std::move(task)}.detach();
  if (result.wait_for(limit) != std::future_status::ready) { return {}; }
  return result.get();
}

}  // namespace assay
