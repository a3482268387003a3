// SPDX-License-Identifier: Apache-2.0
/// @file
/// `candidate_place`: where candidates run and how the referee looks at their memory.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/core/adopted_orphans.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/keep.hpp>
#include <assay/core/lost_processor_time.hpp>
#include <assay/core/place.hpp>
#include <assay/core/random.hpp>
#include <assay/machine/ceiling.hpp>
#include <assay/measure/host_subject.hpp>
#include <assay/measure/subject.hpp>
#include <assay/referee/problem.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace assay::referee_detail {

/// A call of a candidate on a stream.
using stream_call = std::function<void(void* stream)>;

/// Work of a call that goes on when the call is done, in words.
struct escaped : std::runtime_error {
  using runtime_error::runtime_error;
};

/// The memory of an array.
struct array_memory {
  void const* data = nullptr;
  std::size_t bytes = 0;
};

/// What the referee does that differs on a device.
class candidate_place {
 public:
  virtual ~candidate_place() = default;

  virtual std::unique_ptr<arrays::array_store> make_store(std::uint64_t seed) = 0;
  virtual measure::clock decides() const = 0;
  virtual void* stream() { return nullptr; }
  /// Waits for the end of all work of a call, as a timed cell does.
  virtual void drain() {}
  /// Waits so long, and for all work of the process.
  virtual void settle(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  /// A number that follows from all bytes of some arrays.
  virtual std::uint64_t checksum(std::span<array_memory const> of) = 0;
  /// A number that follows from bytes as they are when a call is done: on the host some, at places
  /// that follow from a seed, and on a device all in the order of the stream.
  virtual std::uint64_t sampled_checksum(std::span<array_memory const> of, std::uint64_t seed) = 0;
  /// Makes the calls one after another and waits for the end of their work.
  virtual measure::cell run(std::vector<stream_call> const& calls) = 0;
  /// The most bytes of all buffer sets of a size, unless two sets need more.
  virtual std::size_t most_bytes() const = 0;
  /// Bytes per second that no work here can exceed whose call moves so many bytes, measured now.
  virtual machine::ceiling bytes_ceiling(double bytes) = 0;
  /// FLOPs per second that no work here can exceed; nothing where they are not known.
  virtual std::optional<machine::ceiling> flops_ceiling() { return {}; }
  /// The bytes in use on the device.
  virtual std::uint64_t device_bytes() { return 0; }
  /// The properties of the device that a process can change, by name.
  virtual void describe(std::map<std::string, std::string>&) {}
  /// Calls while the stream is held; true if `changes()` then differs before the stream goes on.
  /// Nothing where streams cannot be held.
  virtual std::optional<bool> works_while_held(stream_call const&,
                                               std::function<std::uint64_t()> const&) {
    return {};
  }
};

/// Candidates that have done their work when their call returns.
class host_candidate_place : public candidate_place {
 public:
  std::unique_ptr<arrays::array_store> make_store(std::uint64_t seed) override {
    return std::make_unique<arrays::host_array_store>(seed);
  }
  measure::clock decides() const override { return measure::clock::wall; }
  std::uint64_t checksum(std::span<array_memory const> of) override {
    std::uint64_t all = 0;
    for (auto const& each : of) { all = random_bits(all, sum_of(each)); }
    return all;
  }
  std::uint64_t sampled_checksum(std::span<array_memory const> of, std::uint64_t seed) override {
    std::uint64_t all = 0;
    for (auto const& each : of) { all = random_bits(all, sum_of_pieces(each, seed)); }
    return all;
  }
  /// Takes off the time of other programs, as timed host calls of a comparison do; unless this
  /// process has children, which may work for it.
  measure::cell run(std::vector<stream_call> const& calls) override {
    lost_processor_time const watch;
    auto const begin = std::chrono::steady_clock::now();
    for (auto const& each : calls) { each(nullptr); }
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
    auto const lost = assay::detail::has_children() ? std::nullopt : watch.seconds();
    ++session_.watched;
    session_.unclear += lost ? 0 : 1;
    double const own = !lost || session_.waits() ? taken.count() : taken.count() - *lost;
    measure::cell mean;
    mean[measure::clock::wall] = std::max(1e-9, own) / static_cast<double>(calls.size());
    return mean;
  }
  std::size_t most_bytes() const override { return std::size_t{5} << 18U; }
  /// The fastest copy of one thread, in pieces that lie in its cache where a share of the bytes
  /// does, times the number of threads.
  machine::ceiling bytes_ceiling(double bytes) override {
    auto const threads = usable_cores();
    auto const piece = static_cast<std::size_t>(std::clamp(bytes / 2 / threads, 4096.0, 64e6));
    std::vector<char> const from(piece, 1);
    std::vector<char> to(piece);
    double least = 1;
    auto const begin = std::chrono::steady_clock::now();
    std::chrono::duration<double> spent{};
    while (spent.count() < 5e-3) {
      auto const before = std::chrono::steady_clock::now();
      constexpr int copies = 16;
      for (int i = 0; i < copies; ++i) {
        std::memcpy(to.data(), from.data(), piece);
        keep(to[static_cast<std::size_t>(i)]);
      }
      auto const after = std::chrono::steady_clock::now();
      least = std::min(least, std::chrono::duration<double>(after - before).count() / copies);
      spent = after - begin;
    }
    return {concat({"copies by ", std::to_string(threads), " threads"}),
            2.0 * static_cast<double>(piece) * threads / least};
  }

 private:
  static std::uint64_t sum_of(array_memory const& of) {
    return sum(static_cast<std::byte const*>(of.data), of.bytes, of.bytes);
  }
  /// The last 64 bytes, and one piece of 64 bytes of each of 64 equal parts, from the last to the
  /// first: a thread that is still at work is more likely to owe the end of an array.
  static std::uint64_t sum_of_pieces(array_memory const& of, std::uint64_t seed) {
    constexpr std::size_t piece = 64, parts = 64;
    auto const [data, bytes] = of;
    auto const* const from = static_cast<std::byte const*>(data);
    if (bytes <= (parts + 1) * piece) { return sum_of(of); }
    auto all = sum(from + bytes - piece, piece, 0);
    auto const part = (bytes - piece) / parts;
    for (std::size_t i = parts; i-- > 0;) {
      all = sum(from + i * part + random_bits(seed, i) % part, piece, all);
    }
    return all;
  }
  static std::uint64_t sum(std::byte const* from, std::size_t bytes, std::uint64_t seed) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + i, std::min(sizeof word, bytes - i));
      seed = (seed ^ word) * 0x9E3779B97F4A7C15ULL;
      seed ^= seed >> 29U;
    }
    return seed;
  }

  measure::call_session session_;
};

}  // namespace assay::referee_detail
