// SPDX-License-Identifier: Apache-2.0
/// @file
/// Timing plain copies over the link, one way or both at once.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace assay::examples {

/// Host or device memory for measurements, with every page touched.
class probe_memory {
 public:
  enum class kind { device, page_locked, pageable };

  probe_memory(kind what, std::size_t bytes) : memory_(allocate(what, bytes), deleter{what}) {
    if (what == kind::device) {
      check(cudaMemset(memory_.get(), 0x5A, bytes));
      check(cudaDeviceSynchronize());  // other streams do not wait for the default one
      return;
    }
    // The bytes differ, because a hypervisor may share pages with equal contents.
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(bytes), 1 << 20,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (auto at = begin; at < end; at += 64) { get()[at] = mark(at); }
                       });
  }

  std::byte* get() const noexcept { return memory_.get(); }

 private:
  struct deleter {
    kind what;
    void operator()(std::byte* old) const noexcept {
      nvtx_range const here{"probe_memory deallocate", category::allocation};
      if (what == kind::device) {
        check_noexcept(cudaFree(old));
      } else if (what == kind::page_locked) {
        check_noexcept(cudaFreeHost(old));
      } else {
        std::free(old);
      }
    }
  };

  static std::byte mark(std::int64_t at) noexcept {
    return static_cast<std::byte>(static_cast<std::uint64_t>(at) * 0x9E3779B97F4A7C15U >> 56U);
  }

  static std::byte* allocate(kind what, std::size_t bytes) {
    nvtx_range const here{"probe_memory allocate", category::allocation, bytes};
    void* block = nullptr;
    if (what == kind::device) {
      check(cudaMalloc(&block, bytes));
    } else if (what == kind::page_locked) {
      check(cudaHostAlloc(&block, bytes, cudaHostAllocPortable));
    } else {
      block = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      if (block == nullptr) { throw std::bad_alloc{}; }
    }
    return static_cast<std::byte*>(block);
  }

  std::unique_ptr<std::byte, deleter> memory_;
};

/// Times copies by events: one copy, or one copy each way with a common beginning.
class link_probe {
 public:
  struct copy {
    void* to = nullptr;
    void const* from = nullptr;
    std::size_t bytes = 0;
  };

  /// Copies each way of a duplex measurement. The slower way is alone on the link after the end of
  /// the faster one, and that end is known to one piece.
  static constexpr int pieces = 16;

  /// Seconds from the common beginning to the end of each way, and the bytes per second of each way
  /// while both were busy.
  struct duplex {
    double to_device_seconds = 0, to_host_seconds = 0;
    double to_device_per_second = 0, to_host_per_second = 0;
    double seconds() const noexcept { return std::max(to_device_seconds, to_host_seconds); }
  };

  explicit link_probe(on::device place)
      : place_(place), one_(place), other_(place), gate_memory_(make_gate(place)) {
    device_guard const guard{place};
    begin_.emplace_back(event::kind::timed);
    for (int i = 0; i < 2 * pieces; ++i) { ends_.emplace_back(event::kind::timed); }
  }

  on::device place() const noexcept { return place_; }

  /// Seconds of one copy.
  double one_way(copy const& what) {
    device_guard const guard{place_};
    gate();
    enqueue(one_, what);
    ends_[0].record(one_);
    ends_[0].synchronize();
    return ends_[0].seconds_since(begin_[0]);
  }

  /// One copy each way, each in pieces that follow each other.
  duplex both_ways(copy const& in, copy const& out) {
    device_guard const guard{place_};
    gate();
    check(cudaStreamWaitEvent(other_.get(), begin_[0].get()));
    for (int i = 0; i < pieces; ++i) {
      enqueue(one_, piece(in, i));
      ends_[at(0, i)].record(one_);
      enqueue(other_, piece(out, i));
      ends_[at(1, i)].record(other_);
    }
    one_.synchronize();
    other_.synchronize();
    std::array<double, pieces> in_ends{}, out_ends{};
    for (int i = 0; i < pieces; ++i) {
      auto const which = static_cast<std::size_t>(i);
      in_ends[which] = ends_[at(0, i)].seconds_since(begin_[0]);
      out_ends[which] = ends_[at(1, i)].seconds_since(begin_[0]);
    }
    auto const together = std::min(in_ends.back(), out_ends.back());
    return {in_ends.back(), out_ends.back(), rate(in, in_ends, together),
            rate(out, out_ends, together)};
  }

  /// Seconds from the common beginning to the end of all copies, each copied whole. No schedule of
  /// smaller copies takes less.
  double both_ways_whole(std::vector<copy> const& in, std::vector<copy> const& out) {
    device_guard const guard{place_};
    gate();
    check(cudaStreamWaitEvent(other_.get(), begin_[0].get()));
    for (auto const& each : in) { enqueue(one_, each); }
    ends_[0].record(one_);
    for (auto const& each : out) { enqueue(other_, each); }
    ends_[1].record(other_);
    one_.synchronize();
    other_.synchronize();
    return std::max(ends_[0].seconds_since(begin_[0]), ends_[1].seconds_since(begin_[0]));
  }

 private:
  static constexpr std::size_t gate_bytes = std::size_t{4}
                                            << 20U;  // 80 us, longer than the host needs to enqueue

  static std::pair<probe_memory, probe_memory> make_gate(on::device place) {
    device_guard const guard{place};
    return {probe_memory{probe_memory::kind::device, gate_bytes},
            probe_memory{probe_memory::kind::page_locked, gate_bytes}};
  }

  static std::size_t at(int way, int i) noexcept {
    return static_cast<std::size_t>(way * pieces + i);
  }

  static copy piece(copy const& of, int i) {
    auto const bound = [&](int k) {
      return k == pieces ? of.bytes : of.bytes / pieces / 4096 * 4096 * static_cast<std::size_t>(k);
    };
    return {static_cast<std::byte*>(of.to) + bound(i),
            static_cast<std::byte const*>(of.from) + bound(i), bound(i + 1) - bound(i)};
  }

  /// Bytes per second of the pieces that ended while both ways were busy.
  static double rate(copy const& of, std::array<double, pieces> const& ends, double together) {
    std::size_t bytes = 0;
    double last = 0;
    for (int i = 0; i < pieces && ends[static_cast<std::size_t>(i)] <= together; ++i) {
      bytes += piece(of, i).bytes;
      last = ends[static_cast<std::size_t>(i)];
    }
    return last > 0 ? static_cast<double>(bytes) / last : 0.0;
  }

  static void enqueue(stream const& where, copy const& what) {
    if (what.bytes == 0) { return; }
    check(cudaMemcpyAsync(what.to, what.from, what.bytes, cudaMemcpyDefault, where.get()));
  }

  /// Keeps the streams busy while the host enqueues the timed copies.
  void gate() {
    enqueue(one_, {gate_memory_.first.get(), gate_memory_.second.get(), gate_bytes});
    begin_[0].record(one_);
  }

  on::device place_;
  stream one_, other_;
  std::pair<probe_memory, probe_memory> gate_memory_;
  std::vector<event> begin_, ends_;
};

}  // namespace assay::examples
