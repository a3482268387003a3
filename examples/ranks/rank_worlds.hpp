// SPDX-License-Identifier: Apache-2.0
/// @file
/// `run_on_ranks`: ranks that are threads of this process, each with a world.
#pragma once

#include <assay/world/world.hpp>

#include <barrier>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::examples {

/// Calls `body(world)` on a thread of each rank, and returns when all have returned. An exception
/// of one ends the calls of the others to their worlds, with its text. Throws the exception of the
/// first rank that was not told by another.
template <class Body>
void run_on_ranks(int ranks, Body const& body) {
  auto const count = static_cast<std::size_t>(ranks);
  std::vector<std::string> words(count);
  std::vector<std::exception_ptr> own(count), told(count);
  std::barrier<> together{ranks};
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < count; ++r) {
    threads.emplace_back([&, r] {
      auto const rank = static_cast<int>(r);
      auto const all = world::over(rank, ranks, rank, [&, r](std::string_view bytes) {
        words[r] = bytes;
        together.arrive_and_wait();
        auto got = words;
        together.arrive_and_wait();
        return got;
      });
      try {
        body(all);
      } catch (world_error const&) {
        told[r] = std::current_exception();
      } catch (std::exception const& cause) {
        own[r] = std::current_exception();
        all.abandon(cause.what());
      }
      together.arrive_and_drop();  // nobody waits for a rank that has ended
    });
  }
  threads.clear();
  for (auto const* each : {&own, &told}) {
    for (auto const& one : *each) {
      if (one) { std::rethrow_exception(one); }
    }
  }
}

}  // namespace assay::examples
