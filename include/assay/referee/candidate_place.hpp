// SPDX-License-Identifier: Apache-2.0
/// @file
/// `candidate_place`: where candidates run and how the referee looks at their memory.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/core/random.hpp>
#include <assay/measure/subject.hpp>
#include <assay/referee/problem.hpp>
#include <assay/serve.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace assay::referee_detail {

/// A call of a candidate on a stream.
using stream_call = std::function<void(void* stream)>;

/// The parts of an examination that differ on a device.
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
  /// A number that follows from all bytes.
  virtual std::uint64_t checksum(void const* data, std::size_t bytes) = 0;
  /// A number that follows from bytes as they are when a call is done: some on the host, and all
  /// in the order of the stream on a device.
  virtual std::uint64_t sampled_checksum(void const* data, std::size_t bytes) = 0;
  /// The seconds of one call, by the clock that decides comparisons.
  virtual double seconds(stream_call const& call) = 0;
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
  /// The call as a variant that the engine times.
  virtual measure::variant timed(std::string const& label,
                                 std::function<stream_call(setup&)> make) = 0;
};

/// Candidates that have done their work when their call returns.
class host_candidate_place final : public candidate_place {
 public:
  std::unique_ptr<arrays::array_store> make_store(std::uint64_t seed) override {
    return std::make_unique<arrays::host_array_store>(seed);
  }
  measure::clock decides() const override { return measure::clock::wall; }
  std::uint64_t checksum(void const* data, std::size_t bytes) override {
    return sum(static_cast<std::byte const*>(data), bytes, bytes);
  }
  /// 65 pieces of 64 bytes, evenly spread from the last to the first: a thread that is still at
  /// work is more likely to owe the end of an array.
  std::uint64_t sampled_checksum(void const* data, std::size_t bytes) override {
    constexpr std::size_t piece = 64;
    constexpr std::size_t pieces = 65;
    auto const* const from = static_cast<std::byte const*>(data);
    if (bytes <= pieces * piece) { return sum(from, bytes, bytes); }
    std::uint64_t all = 0;
    for (std::size_t i = pieces; i-- > 0;) {
      all = sum(from + (bytes - piece) / (pieces - 1) * i, piece, all);
    }
    return all;
  }
  double seconds(stream_call const& call) override {
    auto const begin = std::chrono::steady_clock::now();
    call(nullptr);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  measure::variant timed(std::string const& label,
                         std::function<stream_call(setup&)> make) override {
    return measure::callable_variant(label, [make = std::move(make)](setup& arrays) {
      return [call = make(arrays)] { call(nullptr); };
    });
  }

 private:
  static std::uint64_t sum(std::byte const* from, std::size_t bytes, std::uint64_t seed) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + i, std::min(sizeof word, bytes - i));
      seed = (seed ^ word) * 0x9E3779B97F4A7C15ULL;
      seed ^= seed >> 29U;
    }
    return seed;
  }
};

}  // namespace assay::referee_detail
