// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::logged`: every call of any resource, as CSV that RMM's replay tools read.
#pragma once

#include <assay/memory/per_thread.hpp>
#include <assay/memory/request.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::mr {

/// The records of one log: kept in memory, one list per thread, and written at once, in the order
/// of time, under a temporary name that is then renamed.
///
/// The file begins with RMM's columns `Thread,Time,Action,Pointer,Size,Stream` (time of day in UTC,
/// actions `allocate`, `allocate failure`, `free`), then has ours: nanoseconds since the log began,
/// host nanoseconds that the call took, alignment, device (-1 is the host).
template <class Clock>
class allocation_log {
 public:
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

  /// Throws `std::invalid_argument` with the system's reason unless the file can be written.
  allocation_log(std::string path, int device)
      : path_(std::move(path)), device_(device), began_(Clock::now()) {
    static std::atomic<int> logs{0};  // two logs of one path must not share the temporary
    partial_ = path_ + ".partial." + std::to_string(::getpid()) + "." + std::to_string(++logs);
    if (!std::ofstream{partial_}) {
      throw std::invalid_argument("mr::logged: cannot write '" + path_ +
                                  "': name a file in a directory that exists and is writable");
    }
  }
  allocation_log(allocation_log const&) = delete;
  allocation_log& operator=(allocation_log const&) = delete;
  ~allocation_log() {
    try {
      close();
    } catch (...) {  // `close()` tells; here nobody listens
      std::remove(partial_.c_str());
    }
  }

  std::int64_t now() const noexcept {
    return std::chrono::nanoseconds{Clock::now() - began_}.count();
  }
  void add(record const& what) {
    auto& mine = lists_.mine();
    mine.records.push_back(what);
    mine.records.back().thread = this_thread().token;
  }

  /// Writes the file; what happens later is not logged. Throws `std::runtime_error` when the disk
  /// refuses, and leaves nothing behind.
  void close() {
    if (std::exchange(closed_, true)) { return; }
    std::vector<record> all;
    lists_.each([&](list const& each) {
      for (auto const& one : each.records) { all.push_back(one); }
    });
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& a, auto const& b) { return a.nanoseconds < b.nanoseconds; });
    std::ofstream file{partial_};
    file << "Thread,Time,Action,Pointer,Size,Stream,Nanoseconds,Duration,Alignment,Device\n";
    for (auto const& each : all) { write(file, each); }
    file.close();
    if (file && std::rename(partial_.c_str(), path_.c_str()) == 0) { return; }
    std::remove(partial_.c_str());
    throw std::runtime_error("mr::logged: could not write '" + path_ + "': is the disk full?");
  }

 private:
  struct alignas(64) list {
    std::vector<record> records;
  };

  void write(std::ofstream& file, record const& what) const {
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
    file << line.data();
  }

  std::string path_;
  std::string partial_;
  int device_;
  bool closed_ = false;
  typename Clock::time_point began_;
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
  using log = allocation_log<std::chrono::steady_clock>;

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

/// What `upstream` opens, logged to `path`. Of several that are opened with one path, the file is
/// of the one that closed last.
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
