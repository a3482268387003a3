// SPDX-License-Identifier: Apache-2.0
/// @file
/// `record_buffers`: bounded memory between the threads that launch and the thread that reads
/// records. Internal to recorder.hpp.
#pragma once

#include <assay/core/requirements.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace assay::trace {

/// The memory that records may take between being written and being read.
struct buffer_limits {
  std::size_t buffer_bytes = std::size_t{2} << 20U;  ///< each writing thread holds one
  std::size_t most_bytes = std::size_t{512} << 20U;  ///< beyond this sum, records are dropped
  std::size_t ready = 4;                             ///< cleared ahead of being asked for
};

/// Counts of the buffers of one session.
struct buffer_counts {
  std::uint64_t requested = 0;
  std::uint64_t overflowed = 0;  ///< requests beyond the limit: their records are dropped
  std::size_t peak_bytes = 0;
  bool operator==(buffer_counts const&) const = default;
};

/// Buffers of zeros that a tracer fills on many threads and one reader empties.
///
/// The tracer's callbacks call `request` and `complete`, which take one short lock and call nothing
/// else. A request is never refused, because a tracer may fail without a buffer. Beyond
/// `most_bytes` a request gets a small buffer, and the records in small buffers are counted and
/// dropped.
class record_buffers {
 public:
  static constexpr std::size_t overflow_bytes = 64 * 1024;  // less than a whole buffer

  /// A buffer that came back.
  struct filled {
    std::uint8_t* data = nullptr;
    std::size_t size = 0;   ///< as requested
    std::size_t valid = 0;  ///< bytes of records
    bool dropped() const noexcept { return size == overflow_bytes; }
  };

  explicit record_buffers(buffer_limits const& limits = {}) : limits_(limits) {}
  record_buffers(record_buffers const&) = delete;
  record_buffers& operator=(record_buffers const&) = delete;
  ~record_buffers() {
    for (auto* each : ready_) { unmap(each, limits_.buffer_bytes); }
    for (auto* each : spare_overflow_) { unmap(each, overflow_bytes); }
    for (auto const& each : filled_) { unmap(each.data, each.size); }
  }

  /// Begins a session. Buffers of an earlier session may still come back.
  void open() {
    std::lock_guard const lock{mutex_};
    counts_ = {};
    closing_ = false;
  }

  /// A buffer of zeros, its size in `bytes`; null only when the machine has no memory at all.
  std::uint8_t* request(std::size_t& bytes) noexcept {
    std::lock_guard const lock{mutex_};
    ++counts_.requested;
    bytes = limits_.buffer_bytes;
    if (ready_.size() <= limits_.ready) { changed_.notify_one(); }
    if (!ready_.empty()) {
      auto* const given = ready_.back();
      ready_.pop_back();
      return given;
    }
    if (held_bytes_ + limits_.buffer_bytes <= limits_.most_bytes) {
      if (auto* const given = map(limits_.buffer_bytes)) {
        hold(limits_.buffer_bytes);
        return given;
      }
    }
    ++counts_.overflowed;
    bytes = overflow_bytes;
    if (spare_overflow_.empty()) { return map(overflow_bytes); }
    auto* const given = spare_overflow_.back();
    spare_overflow_.pop_back();
    return given;
  }

  /// Takes a buffer back, with `valid` bytes of records in it.
  void complete(std::uint8_t* data, std::size_t size, std::size_t valid) noexcept {
    if (data == nullptr) { return; }
    std::lock_guard const lock{mutex_};
    try {
      filled_.push_back({data, size, std::min(size, valid)});
      changed_.notify_one();
    } catch (...) {  // no memory to remember it by: its records are lost, and counted as a buffer
      ++counts_.overflowed;
    }
  }

  /// Makes `next` return nothing once all filled buffers are read.
  void close() {
    std::lock_guard const lock{mutex_};
    closing_ = true;
    changed_.notify_all();
  }

  /// For the reader: the next filled buffer, waited for; nothing at the end, or, with `data` null,
  /// when `patience` has passed. While it waits it clears buffers ahead.
  std::optional<filled> next(std::chrono::steady_clock::duration patience) {
    auto const until = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock{mutex_};
    for (;;) {
      if (!filled_.empty()) {
        auto const oldest = filled_.front();
        filled_.pop_front();
        return oldest;
      }
      if (closing_) { return std::nullopt; }
      if (wants_ready()) {
        hold(limits_.buffer_bytes);
        lock.unlock();
        auto* const fresh = map(limits_.buffer_bytes);
        // Touched here, not by launches.
        if (fresh != nullptr) { std::memset(fresh, 0, limits_.buffer_bytes); }
        lock.lock();
        if (fresh == nullptr) {
          held_bytes_ -= limits_.buffer_bytes;
          return filled{};
        }
        ready_.push_back(fresh);
        continue;
      }
      if (changed_.wait_until(lock, until) == std::cv_status::timeout && filled_.empty() &&
          !closing_) {
        return filled{};
      }
    }
  }

  /// For the reader: gives a read buffer back, to be used again.
  void recycle(filled const& read) {
    std::memset(read.data, 0, read.size);
    std::lock_guard const lock{mutex_};
    if (read.dropped()) {
      spare_overflow_.push_back(read.data);
    } else if (ready_.size() < 2 * limits_.ready) {
      ready_.push_back(read.data);
    } else {
      unmap(read.data, read.size);
      held_bytes_ -= read.size;
    }
  }

  buffer_limits const& limits() const noexcept { return limits_; }
  buffer_counts counts() const {
    std::lock_guard const lock{mutex_};
    return counts_;
  }

 private:
  // Pages of the system's: aligned, zero, and not touched before they are written.
  static std::uint8_t* map(std::size_t bytes) noexcept {
    auto* const made =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(made);
  }
  static void unmap(std::uint8_t* data, std::size_t bytes) noexcept {
    if (data != nullptr) { ::munmap(data, bytes); }
  }

  void hold(std::size_t bytes) noexcept {
    held_bytes_ += bytes;
    counts_.peak_bytes = std::max(counts_.peak_bytes, held_bytes_);
  }
  bool wants_ready() const noexcept {
    return ready_.size() < limits_.ready &&
           held_bytes_ + limits_.buffer_bytes <= limits_.most_bytes;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  buffer_limits const limits_;
  buffer_counts counts_;
  std::vector<std::uint8_t*> ready_;
  std::vector<std::uint8_t*> spare_overflow_;
  std::deque<filled> filled_;
  std::size_t held_bytes_ = 0;  // ready, given out or filled, without overflow buffers
  bool closing_ = false;
};

}  // namespace assay::trace
