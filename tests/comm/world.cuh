// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ranks to test an all-reduce with: on GPUs of their own where there are enough, else on one.
#pragma once

#include "catch.hpp"
#include "comm/element_values.cuh"

#include <assay/comm/all_reduce.cuh>
#include <assay/core/stream.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace assay::test {

/// A hardware queue for each stream, before there is a context: streams that share one could make a
/// rank's kernel wait behind another rank's on the same device.
inline bool const queues_asked_for = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0) == 0;

/// True where all ranks share one device. Under a sanitizer, which lets no two kernels run side by
/// side, one launch is then for all ranks.
inline bool one_device(int ranks) { return small() || device_count() < ranks; }

inline comm::peers peers_of(int ranks) {
  return one_device(ranks) ? comm::peers::on_one(on::device{0}, ranks) : comm::peers::first(ranks);
}

/// Options with bounded waits, so that a failure ends with an error.
inline comm::all_reduce_options checked_options(comm::algorithm how = comm::algorithm::automatic) {
  comm::all_reduce_options options;
  options.how = how;
  options.checked = true;
  options.timeout_seconds = small() ? 120 : 10;
  options.scratch_bytes = small() ? std::size_t{64} << 10U : std::size_t{4} << 20U;
  options.blocks = small() ? 4 : 0;
  return options;
}

/// Bytes on each rank's device, between margins that stay unwritten.
class rank_blocks {
 public:
  static constexpr std::size_t margin = 256;

  rank_blocks(comm::peers const& who, std::size_t bytes) : bytes_(bytes), places_(who.devices()) {
    for (auto const place : places_) {
      device_guard const guard{place};
      void* block = nullptr;
      check(cudaMalloc(&block, bytes + 2 * margin));
      blocks_.emplace_back(static_cast<std::byte*>(block));
    }
    poison();
  }
  std::byte* at(int rank) const { return blocks_[static_cast<std::size_t>(rank)].get() + margin; }
  void poison() {
    for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
      set(static_cast<int>(rank), -static_cast<std::ptrdiff_t>(margin), 0x7B, bytes_ + 2 * margin);
    }
  }
  /// Sets bytes from an offset on, and waits.
  void set(int rank, std::ptrdiff_t offset, int value, std::size_t bytes) const {
    device_guard const guard{places_[static_cast<std::size_t>(rank)]};
    check(cudaMemset(at(rank) + offset, value, bytes));
    check(cudaDeviceSynchronize());
  }
  /// The content with its margins.
  std::vector<std::byte> read(int rank) const {
    std::vector<std::byte> all(bytes_ + 2 * margin);
    check(cudaMemcpy(all.data(), at(rank) - margin, all.size(), cudaMemcpyDefault));
    return all;
  }
  void release(int rank) { blocks_[static_cast<std::size_t>(rank)].reset(); }

 private:
  struct give_back {
    void operator()(std::byte* block) const noexcept { check_noexcept(cudaFree(block)); }
  };
  std::size_t bytes_;
  std::vector<on::device> places_;
  std::vector<std::unique_ptr<std::byte, give_back>> blocks_;
};

/// Ranks with an engine, a stream for each, and arrays.
template <class T, class Engine = comm::all_reduce>
class world {
 public:
  world(int ranks, std::size_t most_elements, comm::all_reduce_options const& options)
      : engine(peers_of(ranks), options),
        in(peers_of(ranks), (most_elements + slack) * sizeof(T)),
        out(peers_of(ranks), (most_elements + slack) * sizeof(T)) {
    for (int rank = 0; rank < ranks; ++rank) { streams.emplace_back(engine.device(rank)); }
    engine.template prepare<T>();
    inputs_.resize(static_cast<std::size_t>(ranks));
  }

  int ranks() const { return engine.ranks(); }

  /// Elements `in_late` and `out_late` after 256-byte boundaries; in place the output's.
  comm::rank_buffers<T> buffers(std::size_t in_late, std::size_t out_late, bool in_place) const {
    comm::rank_buffers<T> made;
    for (int rank = 0; rank < ranks(); ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      made.out[r] = reinterpret_cast<T*>(out.at(rank)) + out_late;
      made.in[r] = in_place ? made.out[r] : reinterpret_cast<T*>(in.at(rank)) + in_late;
    }
    return made;
  }

  void fill(comm::rank_buffers<T> const& buffers, std::size_t count, std::uint64_t seed) {
    out.poison();
    for (int rank = 0; rank < ranks(); ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      auto& values = inputs_[r];
      values.resize(count);
      for (std::size_t i = 0; i < count; ++i) { values[i] = random_element<T>(seed + r * 977, i); }
      device_guard const guard{engine.device(rank)};
      check(cudaMemcpy(const_cast<T*>(buffers.in[r]), values.data(), count * sizeof(T),
                       cudaMemcpyHostToDevice));
      check(cudaDeviceSynchronize());
    }
  }

  /// Enqueues all ranks' parts, in order, on their streams.
  void enqueue(comm::rank_buffers<T> const& buffers, std::size_t count, comm::reduction what) {
    if (small()) {
      engine.enqueue_together(streams[0], buffers, count, what);
      return;
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      engine.enqueue(rank, streams[static_cast<std::size_t>(rank)], buffers, count, what);
    }
  }
  void synchronize() {
    for (int rank = 0; rank < ranks(); ++rank) {
      engine.synchronize(rank, streams[static_cast<std::size_t>(rank)]);
    }
  }

  /// The first element that is farther from the float64 sum than rounding explains, or that differs
  /// between ranks, or byte around the output that was touched; empty when all are right.
  std::string wrong(comm::rank_buffers<T> const& buffers, std::size_t count, comm::reduction what) {
    std::vector<T> first;
    for (int rank = 0; rank < ranks(); ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      auto const all = out.read(rank);
      auto const late =
          reinterpret_cast<std::byte*>(buffers.out[r]) - (out.at(rank) - rank_blocks::margin);
      std::vector<T> found(count);
      std::memcpy(found.data(), all.data() + late, count * sizeof(T));
      for (std::size_t i = 0; i < all.size(); ++i) {
        bool const inside = static_cast<std::ptrdiff_t>(i) >= late &&
                            i < static_cast<std::size_t>(late) + count * sizeof(T);
        if (!inside && all[i] != std::byte{0x7B}) {
          return "byte " + std::to_string(static_cast<std::ptrdiff_t>(i) - late) + " of rank " +
                 std::to_string(rank) + " was written to";
        }
      }
      if (rank == 0) {
        first = found;
        if (auto const text = far_off(found, what); !text.empty()) { return text; }
      } else if (count > 0 && std::memcmp(first.data(), found.data(), count * sizeof(T)) != 0) {
        return "rank " + std::to_string(rank) + " has other bits than rank 0";
      }
    }
    return {};
  }

  /// Fills, reduces and checks.
  std::string run(std::size_t count, std::size_t in_late, std::size_t out_late, bool in_place,
                  comm::reduction what, std::uint64_t seed) {
    auto const at = buffers(in_late, out_late, in_place);
    fill(at, count, seed);
    enqueue(at, count, what);
    synchronize();
    return wrong(at, count, what);
  }

  Engine engine;

 private:
  static constexpr std::size_t slack = 64;

  std::string far_off(std::vector<T> const& found, comm::reduction what) const {
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto const right = reduce_elements(inputs_, i, what);
      auto const value = as_number(found[i]);
      if (!(std::abs(value - right.expected) <= right.bound)) {
        return "element " + std::to_string(i) + " of " + std::to_string(found.size()) + " is " +
               std::to_string(value) + " and should be " + std::to_string(right.expected);
      }
    }
    return {};
  }

  std::vector<std::vector<T>> inputs_;

 public:
  rank_blocks in, out;
  std::vector<stream> streams;
};

/// The numbers of ranks to test: what the machine has GPUs for, and others on one device.
inline std::vector<int> rank_counts() {
  if (small()) { return {2, 3}; }
  return {2, 3, 4, 5, 8};
}

/// All algorithms but `automatic`, which chooses one of them.
inline constexpr comm::algorithm all_algorithms[] = {
    comm::algorithm::lamport_push, comm::algorithm::fifo_one_shot, comm::algorithm::fifo_two_shot,
    comm::algorithm::pull, comm::algorithm::two_shot};

/// True where an engine by `how` over `ranks` ranks can be made on these devices, for `T`.
template <class T = float>
bool has_code(comm::algorithm how, int ranks) {
  if (!comm::has_sentinel<T> && !comm::uses_peers_buffers(how)) { return false; }
  return !comm::is_fifo(how) || comm::has_fifo_code(how == comm::algorithm::fifo_two_shot, ranks,
                                                    comm::code_of(peers_of(ranks)), sizeof(T));
}

inline constexpr comm::reduction all_reductions[] = {comm::reduction::sum, comm::reduction::max,
                                                     comm::reduction::average};

/// Small and odd sizes, all offsets, both placements, all reductions.
template <class T, class Engine = comm::all_reduce>
void require_right(comm::algorithm how, int ranks, std::vector<std::size_t> const& counts,
                   std::uint64_t seed) {
  if (!has_code<T>(how, ranks)) { return; }
  std::size_t most = 0;
  for (auto const count : counts) { most = std::max(most, count); }
  world<T, Engine> all{ranks, most, checked_options(how)};
  for (auto const count : counts) {
    for (auto const what : all_reductions) {
      for (bool const in_place : {false, true}) {
        for (std::size_t const in_late : {0U, 3U}) {
          for (std::size_t const out_late : {0U, 1U, 3U}) {
            INFO(all.engine.describe()
                 << ": " << count << " elements of " << sizeof(T) << " bytes, "
                 << std::string{comm::to_string(what)} << (in_place ? ", in place" : "") << ", "
                 << in_late << " and " << out_late << " late, seed " << seed);
            auto const text = all.run(count, in_late, out_late, in_place, what, ++seed);
            INFO(text);
            REQUIRE(text.empty());
          }
        }
      }
    }
  }
}

}  // namespace assay::test
