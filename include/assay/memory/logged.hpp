// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::logged`: every call of any resource, as CSV that RMM's replay tools read.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/memory/per_thread.hpp>
#include <assay/memory/request.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::mr {

/// The records of one log, in a list for each thread. `close()` writes them in the order of time to
/// an `atomic_file`.
///
/// The file begins with RMM's columns `Thread,Time,Action,Pointer,Size,Stream`: `Time` is the time
/// of day in UTC, `Action` is `allocate`, `allocate failure` or `free`. Our columns follow:
/// nanoseconds since the log began, host nanoseconds of the call, alignment, device (-1 is the
/// host).
class allocation_log {
 public:
  using clock = std::chrono::steady_clock;
  enum class action : unsigned char { allocate, failure, free };
  struct record {
    std::int64_t nanoseconds;  // when an allocation ended, when a free began
    std::int64_t duration;
    std::uintptr_t address;
    std::size_t bytes;
    std::uintptr_t stream;
    std::uint64_t thread;
    std::uint32_t alignment;
    action what;
  };

  /// Throws `file_error` unless the file can be written.
  allocation_log(std::string path, int device)
      : file_(std::make_unique<atomic_file>(std::move(path))), device_(device) {}
  allocation_log(allocation_log const&) = delete;
  allocation_log& operator=(allocation_log const&) = delete;
  ~allocation_log() {
    try {
      close();
    } catch (...) {  // `close()` throws to a caller; a destructor has none
    }
  }

  std::int64_t now() const noexcept {
    return std::chrono::nanoseconds{clock::now() - began_}.count();
  }
  void add(record const& what) {
    auto& mine = lists_.mine();
    mine.records.push_back(what);
    mine.records.back().thread = this_thread().token;
  }

  /// Writes the file, once. Later calls of the resource are not logged. Throws `file_error` where
  /// the disk refuses, and leaves nothing behind.
  void close() {
    auto const file = std::exchange(file_, nullptr);
    if (file == nullptr) { return; }
    std::vector<record> all;
    lists_.each([&](list const& each) {
      for (auto const& one : each.records) { all.push_back(one); }
    });
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& a, auto const& b) { return a.nanoseconds < b.nanoseconds; });
    std::string text =
        "Thread,Time,Action,Pointer,Size,Stream,Nanoseconds,Duration,Alignment,Device\n";
    for (auto const& each : all) {
      append(text, each);
      if (text.size() >= write_bytes) {
        file->write(text);
        text.clear();
      }
    }
    file->write(text);
    file->commit();
  }

 private:
  static constexpr std::size_t write_bytes = std::size_t{1} << 20U;

  struct alignas(64) list {
    std::vector<record> records;
  };

  void append(std::string& text, record const& what) const {
    constexpr std::array names{"allocate", "allocate failure", "free"};
    auto const at = wall_ + std::chrono::nanoseconds{what.nanoseconds};
    auto const microseconds = std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch());
    auto const seconds = static_cast<std::time_t>(microseconds.count() / 1'000'000);
    std::tm time{};
    gmtime_r(&seconds, &time);
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(),
                  "%llu,%02d:%02d:%02d.%06lld,%s,0x%llx,%zu,0x%llx,%lld,%lld,%u,%d\n",
                  static_cast<unsigned long long>(what.thread), time.tm_hour, time.tm_min,
                  time.tm_sec, static_cast<long long>(microseconds.count() % 1'000'000),
                  names[static_cast<std::size_t>(what.what)],
                  static_cast<unsigned long long>(what.address), what.bytes,
                  static_cast<unsigned long long>(what.stream),
                  static_cast<long long>(what.nanoseconds), static_cast<long long>(what.duration),
                  what.alignment, device_);
    text += line.data();
  }

  std::unique_ptr<atomic_file> file_;  // null once it was written
  int device_;
  clock::time_point began_ = clock::now();
  std::chrono::system_clock::time_point wall_ = std::chrono::system_clock::now();
  per_thread<list> lists_;
};

/// Logs what goes through a resource; about 60 ns and 56 bytes of host memory per call. The file
/// appears with `close()`, or when the last copy goes.
template <class R>
class logged_resource : public adaptor_calls<logged_resource<R>, R> {
 public:
  logged_resource(R upstream, std::string path, int device)
      : upstream_(std::move(upstream)), log_(std::make_shared<log>(std::move(path), device)) {}

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    auto const begin = log_->now();
    void* block = nullptr;
    try {
      block = upstream_.allocate(stream, bytes, alignment);
    } catch (...) {
      note(begin, log::action::failure, nullptr, bytes, stream, alignment);
      throw;
    }
    try {
      note(begin, log::action::allocate, block, bytes, stream, alignment);
    } catch (...) {
      upstream_.deallocate(stream, block, bytes, alignment);
      throw;
    }
    return block;
  }

  /// Ends the program where the host has no memory for the record: a log with holes misleads.
  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    auto const begin = log_->now();
    upstream_.deallocate(stream, block, bytes, alignment);
    note(begin, log::action::free, block, bytes, stream, alignment);
  }

  /// Writes the file now. No thread may use the resource meanwhile.
  void close() { log_->close(); }

  auto stats() const
  requires requires(R const& r) { r.stats(); }
  {
    return upstream_.stats();
  }

  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(logged_resource const&) const = default;

 private:
  using log = allocation_log;

  template <class Stream>
  void note(std::int64_t begin, log::action what, void* block, std::size_t bytes, Stream stream,
            std::size_t alignment) {
    std::uintptr_t number = 0;
    if constexpr (requires { stream.get(); }) {
      number = reinterpret_cast<std::uintptr_t>(stream.get());
    }
    auto const end = log_->now();
    // A block may have a new owner before its free returns, so a free counts from its beginning.
    log_->add({what == log::action::free ? begin : end, end - begin,
               reinterpret_cast<std::uintptr_t>(block), bytes, number, 0,
               static_cast<std::uint32_t>(alignment), what});
  }

  R upstream_;
  std::shared_ptr<log> log_;
};

/// The resource of `upstream`, logged to `path`. The last resource to close writes the file that
/// stays, if several have one path.
template <class Policy>
struct logged {
  Policy upstream{};
  std::string path;

  static constexpr std::string_view name = "mr::logged";
  std::string describe() const {
    return parameter_list{}.show(assay::describe(upstream)).show(path).after(name);
  }
  template <class Place>
  requires memory_policy<Policy, Place>
  auto open(Place place) const {
    int device = -1;
    if constexpr (requires { place.id; }) { device = place.id; }
    return logged_resource<resource_of<Policy, Place>>{upstream.open(place), path, device};
  }
  bool operator==(logged const&) const = default;
};
template <class Policy>
logged(Policy, std::string) -> logged<Policy>;

}  // namespace assay::mr
