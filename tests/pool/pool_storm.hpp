// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random work on a pool over the fake device, from several threads on several streams.
#pragma once

#include "pool/fake_device.hpp"

#include <assay/pool/pool_core.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace assay::test {

struct storm_options {
  int threads = 4;
  std::uint64_t operations = 1'000'000;  ///< allocations and frees, of all threads together
  std::size_t most_live_bytes = std::size_t{2} << 20U;  ///< of one thread
  bool replace_streams = true;
  bool release_first = true;  ///< call `release` before a stream is replaced
  bool per_thread_streams = true;
  bool captures = false;  ///< captures that the pool is not told of, in which blocks are given back
  bool graphs = false;    ///< captures that it is told of, whose graphs replay on any stream
  bool trims = false;     ///< any thread trims now and then
  bool peers = false;     ///< blocks come back on a stream of another device, too
  bool legacy = false;    ///< the legacy stream, beside captures that it would end; one thread
  /// The first thread trims, and each of its waits for the device lasts until another thread has
  /// made a call, as host callbacks do that wait for a thread.
  bool callbacks = false;
};

struct storm_counts {
  std::uint64_t operations = 0;
  std::uint64_t trims = 0;
};

struct held {
  void* block;
  std::size_t bytes;
  int stream;
  std::uint32_t tag;
};

/// A graph that may replay, and the blocks that it uses.
struct graph {
  std::unique_ptr<mr::pool_capture<mr::stream_cache<fake_backend>>> hold;
  std::map<void*, std::size_t> blocks;
  std::map<void*, std::size_t> live;  ///< those of them that it did not give back
  std::shared_ptr<order> last;        ///< what the next replay comes after
};

/// Captures a graph on a stream, of a few blocks. It gives most of them back, and now and then a
/// block of another graph: both graphs then use this block, and their replays come in order.
inline graph captured_graph(mr::pool_core<fake_backend>& pool, fake_device& device, int stream,
                            std::mt19937_64& random, std::vector<graph>& others) {
  graph made{pool.begin_capture(stream), {}, {}, std::make_shared<order>()};
  device.begin_capture(stream);
  try {
    for (int i = 0; i < 4; ++i) {
      std::size_t const bytes = 1 + (random() % 512 << random() % 8);
      void* const block = pool.allocate(stream, bytes);
      auto& most = made.blocks[block];
      most = std::max(most, bytes);
      if (i == 3 && random() % 2 == 0) {
        made.live[block] = bytes;
      } else {
        pool.deallocate(stream, block, bytes);
      }
    }
  } catch (mr::out_of_memory const&) {  // a smaller graph
  }
  for (auto& other : others) {
    if (other.live.empty() || random() % 2 == 0) { continue; }
    auto const [block, bytes] = *other.live.begin();
    other.live.erase(block);
    pool.deallocate(stream, block, bytes);
    made.blocks[block] = other.blocks.at(block);
    made.last = other.last;
    break;
  }
  device.end_capture(stream);
  pool.end_capture(*made.hold);
  return made;
}

/// Replays a graph on a stream: it comes after the graph's last replay, as CUDA has it.
inline void replay(fake_device& device, graph& of, int stream, std::uint32_t& tags) {
  device.add_order(device.slot(stream), *of.last);
  for (auto const& [block, bytes] : of.blocks) {
    device.take(stream, block, bytes, ++tags);
    device.leave(stream, block, bytes, tags);
  }
  *of.last = device.order_of(device.slot(stream));
}

/// Ends a graph. Its live blocks are given back on a stream, before or after.
inline void end(mr::pool_core<fake_backend>& pool, fake_device& device, graph& of, int stream,
                bool blocks_first) {
  if (!blocks_first) { pool.drop_capture(*of.hold); }
  device.add_order(device.slot(stream), *of.last);
  for (auto const& [block, bytes] : of.live) { pool.deallocate(stream, block, bytes); }
  if (blocks_first) { pool.drop_capture(*of.hold); }
}

/// Returns what was done. Every thread has a stream of its own, which now and then
/// is destroyed and comes back with the same handle, and shares three with all; blocks are given
/// back on the same stream, on another one after a wait, or by another thread.
inline storm_counts storm(mr::pool_core<fake_backend>& pool, fake_device& device,
                          storm_options const& how, std::uint64_t seed) {
  std::vector<int> shared{device.create(), device.create(), device.create()};
  if (how.legacy) { shared.push_back(fake_device::legacy_handle); }
  int const peer = device.create();
  if (how.peers) { device.foreign.insert(peer); }
  std::atomic<std::uint64_t> calls_of_others{0};
  std::atomic<int> others{how.threads - 1};
  // On a busy machine the thread that waits may have no processor while the others fill the pool.
  constexpr std::uint64_t most_calls_beside_a_wait = 1'000;
  std::atomic<std::uint64_t> last_call{std::numeric_limits<std::uint64_t>::max()};
  if (how.callbacks) {
    device.while_waiting = [&] {
      auto const before = calls_of_others.load();
      last_call = before + most_calls_beside_a_wait;
      auto const end = std::chrono::steady_clock::now() + std::chrono::minutes{2};
      while (calls_of_others.load() == before && others.load() > 0) {
        if (std::chrono::steady_clock::now() > end) {
          return device.violate("a thread waits for the trim of another one");
        }
        std::this_thread::yield();
      }
      last_call = std::numeric_limits<std::uint64_t>::max();
    };
  }
  std::mutex mail_mutex;
  std::deque<held> mail;
  std::vector<held> of_graphs;  // which may replay to the end
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> trims{0};

  auto const work = [&](int number) {
    std::mt19937_64 random{seed + static_cast<std::uint64_t>(number)};
    auto const one_in = [&](std::uint64_t n) { return random() % n == 0; };
    int const own = device.create();
    int const to_capture = device.create();
    int replaced = 0;
    std::uint32_t tags = static_cast<std::uint32_t>(number) << 24U;
    std::vector<held> live;
    std::size_t live_bytes = 0;
    std::vector<graph> graphs;
    auto const give_back = [&](held const& what) {
      int where = what.stream;
      if (how.peers && where != fake_device::per_thread_handle && one_in(64)) {
        device.after(peer, where);
        device.leave(peer, what.block, what.bytes, what.tag);
        pool.deallocate(peer, what.block, what.bytes);
        return;
      }
      if (where == fake_device::per_thread_handle || one_in(8)) {
        int const other = one_in(2) ? own : shared[random() % shared.size()];
        if (where != fake_device::per_thread_handle) { device.after(other, where); }
        if (where != fake_device::per_thread_handle) { where = other; }
      }
      device.leave(where, what.block, what.bytes, what.tag);
      pool.deallocate(where, what.block, what.bytes);
    };
    auto const drop_one = [&] {
      auto const which = random() % live.size();
      auto const what = live[which];
      live[which] = live.back();
      live.pop_back();
      live_bytes -= what.bytes;
      // Blocks of this thread's own stream stay with it: the stream may go.
      if (what.stream != own && what.stream != fake_device::per_thread_handle && one_in(4)) {
        std::lock_guard const lock{mail_mutex};
        mail.push_back(what);
      } else {
        give_back(what);
      }
    };
    auto const quota = how.operations / static_cast<std::uint64_t>(how.threads);
    std::uint64_t count = 0;
    while (count < quota) {
      ++count;
      if (number > 1) {
        while (calls_of_others.load() >= last_call.load()) { std::this_thread::yield(); }
        ++calls_of_others;
      }
      if (one_in(16)) {
        held what{};
        {
          std::lock_guard const lock{mail_mutex};
          if (!mail.empty()) {
            what = mail.front();
            mail.pop_front();
          }
        }
        if (what.block != nullptr) { give_back(what); }
        continue;
      }
      if (!live.empty() && (live_bytes > how.most_live_bytes || one_in(2))) {
        drop_one();
        continue;
      }
      if (how.captures && one_in(2'000) && !live.empty() && live.back().stream == own) {
        device.begin_capture(own);
        pool.deallocate(own, live.back().block, live.back().bytes);
        device.end_capture(own);
        live_bytes -= live.back().bytes;
        std::lock_guard const lock{mail_mutex};
        of_graphs.push_back(live.back());
        live.pop_back();
        continue;
      }
      if ((how.trims && one_in(20'000)) || (how.callbacks && number == 1 && one_in(5'000))) {
        (void)pool.trim();
        ++trims;
      }
      if (how.legacy && one_in(500)) {
        int const legacy = fake_device::legacy_handle;
        device.begin_capture(to_capture, true);
        for (int i = 0; i < 3 && !live.empty(); ++i) {
          auto const gone = live.back();
          live.pop_back();
          live_bytes -= gone.bytes;
          device.after(legacy, gone.stream);
          device.leave(legacy, gone.block, gone.bytes, gone.tag);
          pool.deallocate(legacy, gone.block, gone.bytes);
        }
        try {
          (void)pool.allocate(legacy, 1);
          device.violate("a block for the legacy stream beside a capture");
        } catch (std::logic_error const&) {}
        device.end_capture(to_capture);
      }
      if (how.graphs && one_in(1'000)) {
        if (graphs.size() == 3) {
          auto const which = static_cast<long>(random() % 3);
          end(pool, device, graphs[static_cast<std::size_t>(which)], own, one_in(2));
          graphs.erase(graphs.begin() + which);
        }
        graphs.push_back(captured_graph(pool, device, to_capture, random, graphs));
        if (how.replace_streams && replaced < 50 && one_in(8)) {
          if (how.release_first) { pool.release(to_capture); }
          device.replace(to_capture);
          ++replaced;
        }
      }
      if (!graphs.empty() && one_in(100)) {
        replay(device, graphs[random() % graphs.size()], one_in(2) ? own : shared[0], tags);
      }
      if (how.replace_streams && replaced < 50 && one_in(20'000)) {
        for (auto it = live.begin(); it != live.end();) {
          if (it->stream == own) {
            live_bytes -= it->bytes;
            device.leave(own, it->block, it->bytes, it->tag);
            pool.deallocate(own, it->block, it->bytes);
            *it = live.back();
            live.pop_back();
          } else {
            ++it;
          }
        }
        if (how.release_first) { pool.release(own); }
        device.replace(own);
        ++replaced;
        continue;
      }
      auto const kind = random() % 8;
      int const where = kind < 5                              ? own
                        : kind == 5 && how.per_thread_streams ? fake_device::per_thread_handle
                                                              : shared[random() % shared.size()];
      // Sizes over ten doublings, now and then a large one.
      std::size_t const bytes =
          one_in(512) ? 1 + random() % (512U << 10U) : 1 + (random() % 512 << random() % 6);
      try {
        void* const block = pool.allocate(where, bytes);
        device.take(where, block, bytes, ++tags);
        live.push_back({block, bytes, where, tags});
        live_bytes += bytes;
      } catch (mr::out_of_memory const&) {
        if (live.empty()) { std::this_thread::yield(); }
      }
    }
    if (number > 1) { --others; }
    for (auto& each : graphs) { end(pool, device, each, own, one_in(2)); }
    while (!live.empty()) {
      live_bytes -= live.back().bytes;
      give_back(live.back());
      live.pop_back();
    }
    done += count;
  };

  std::vector<std::thread> threads;
  for (int i = 0; i < how.threads; ++i) { threads.emplace_back(work, i + 1); }
  for (auto& each : threads) { each.join(); }
  device.while_waiting = nullptr;
  for (auto const& what : of_graphs) {
    device.leave(what.stream, what.block, what.bytes, what.tag);
  }
  for (auto const& what : mail) {
    device.leave(what.stream, what.block, what.bytes, what.tag);
    pool.deallocate(what.stream, what.block, what.bytes);
  }
  return {done, trims};
}

}  // namespace assay::test
