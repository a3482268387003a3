// SPDX-License-Identifier: Apache-2.0
/// @file
/// A device made of clocks: streams whose order is known exactly, memory that remembers its last
/// use.
#pragma once

#include <assay/pool/pool_backend.hpp>
#include <assay/pool/pool_options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::test {

/// Which point of each stream is known to come before.
inline constexpr std::size_t most_streams = 512;
using order = std::vector<std::uint64_t>;

inline void merge(order& into, order const& other) {
  if (into.size() < other.size()) { into.resize(other.size()); }
  for (std::size_t i = 0; i < other.size(); ++i) { into[i] = std::max(into[i], other[i]); }
}

struct injected_fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the fake stands for: an address space with a shadow word per 256 bytes, and streams.
///
/// A use of a block advances its stream's clock. Whoever allocates must come, by the waits that
/// were enqueued, after the last use of every granule, or the host must know that it is over.
class fake_device {
 public:
  static constexpr int per_thread_handle = -1;
  static constexpr int legacy_handle = -2;
  static constexpr std::uintptr_t base = 0x1000000000;
  static constexpr std::size_t granule = 256;
  static constexpr std::size_t page = std::size_t{2} << 20U;

  explicit fake_device(std::size_t bytes)
      : bytes_(bytes), shadow_(bytes / granule), pages_(bytes / page) {
    slot_of_[legacy_handle] = fresh_slot();
  }

  // What goes wrong is counted, and the first told: threads cannot throw through the pool.
  std::atomic<std::uint64_t> violations{0};
  std::string first_violation() {
    std::lock_guard const lock{mutex_};
    return first_;
  }
  void violate(std::string what) {
    if (violations.fetch_add(1) == 0) {
      std::lock_guard const lock{mutex_};
      first_ = std::move(what);
    }
  }

  // Streams.
  int create() {
    std::lock_guard const lock{mutex_};
    int const handle = next_handle_++;
    slot_of_[handle] = fresh_slot();
    return handle;
  }
  /// The stream ends; the next one has the same handle.
  void replace(int handle) {
    std::lock_guard const lock{mutex_};
    slot_of_[handle] = fresh_slot();
  }

  std::size_t slot(int handle) {
    if (handle == per_thread_handle) {
      thread_local std::map<std::uint64_t, std::size_t> mine;
      auto& found = mine[number_];
      std::lock_guard const lock{mutex_};
      if (found == 0) { found = fresh_slot(); }
      return found;
    }
    std::lock_guard const lock{mutex_};
    return slot_of_.at(handle);
  }

  /// Work on a stream that uses a block from `allocate`: checks it is its alone and in order.
  void take(int handle, void* block, std::size_t bytes, std::uint32_t tag) {
    auto const where = slot(handle);
    auto& stream = *streams_[where];
    std::lock_guard const lock{stream.mutex};
    auto const now = ++clock_of(stream, where);
    std::uint64_t until = 0;  // the time of the granule before, and its stream: mostly the same
    std::uint32_t user = 0;
    each(block, bytes, [&](shadow& at) {
      auto const other = at.owner.load(std::memory_order_relaxed);
      at.owner.store(tag, std::memory_order_relaxed);
      if (other != 0) {
        violate("block " + std::to_string(tag) + " overlaps live block " + std::to_string(other));
      }
      if (at.time == 0 || (at.time == until && at.stream == user)) { return; }
      until = at.time;
      user = at.stream;
      if (until > known(stream.before, user) && until > host_known(user)) {
        violate("stream " + std::to_string(where) + " reuses memory at " + std::to_string(now) +
                " that stream " + std::to_string(user) + " uses until " + std::to_string(until));
      }
    });
  }
  /// The last use of a block on a stream, right before its `deallocate` there.
  void leave(int handle, void* block, std::size_t bytes, std::uint32_t tag) {
    auto const where = slot(handle);
    auto& stream = *streams_[where];
    std::lock_guard const lock{stream.mutex};
    auto const now = ++clock_of(stream, where);
    each(block, bytes, [&](shadow& at) {
      at.stream = static_cast<std::uint32_t>(where);
      at.time = now;
      auto const holder = at.owner.load(std::memory_order_relaxed);
      at.owner.store(0, std::memory_order_relaxed);
      if (holder != tag) {
        violate("block " + std::to_string(tag) + " was overwritten while it was live");
      }
    });
  }
  /// Makes work of `later` come after all of `earlier` so far, as an application does that hands a
  /// block from one stream to another.
  void after(int later, int earlier) {
    order const so_far = order_of(slot(earlier));
    auto& stream = *streams_[slot(later)];
    std::lock_guard const lock{stream.mutex};
    merge(stream.before, so_far);
  }

  // For the backend.
  order order_of(std::size_t where) {
    auto& stream = *streams_[where];
    std::lock_guard const lock{stream.mutex};
    (void)clock_of(stream, where);
    return stream.before;
  }
  void add_order(std::size_t where, order const& points) {
    auto& stream = *streams_[where];
    std::lock_guard const lock{stream.mutex};
    merge(stream.before, points);
  }
  void host_knows(order const& points) {
    std::lock_guard const lock{host_mutex_};
    merge(host_, points);
  }
  /// A wait for the device is one for its streams, and for those of other devices once the backend
  /// was asked of one.
  void host_knows_all() {
    std::set<std::size_t> unknown;
    if (!waits_for_others) {
      std::lock_guard const lock{mutex_};
      for (int const handle : foreign) { unknown.insert(slot_of_.at(handle)); }
    }
    for (std::size_t i = 1; i < stream_count_.load(); ++i) {
      if (!unknown.contains(i)) { host_knows(order_of(i)); }
    }
  }

  /// Stream capture, which the pool may know of or not. A `blocking` stream waits for the legacy
  /// default stream, and this for it.
  void begin_capture(int handle, bool blocking = false) {
    auto const where = slot(handle);
    std::lock_guard const lock{mutex_};
    captured_.insert(where);
    if (blocking) { blocking_.insert(where); }
  }
  void end_capture(int handle) {
    auto const where = slot(handle);
    std::lock_guard const lock{mutex_};
    captured_.erase(where);
    blocking_.erase(where);
  }
  mr::capture_state capture_of(int handle) {
    auto const where = slot(handle);
    std::lock_guard const lock{mutex_};
    if (captured_.contains(where)) { return mr::capture_state::captured; }
    return handle == legacy_handle && !blocking_.empty() ? mr::capture_state::blocked
                                                         : mr::capture_state::none;
  }
  std::function<void()> while_waiting;    ///< runs while the host waits for the device
  std::function<void()> while_mapping;    ///< runs once, while upstream gives memory
  std::function<void()> while_unmapping;  ///< runs once, before upstream has memory back
  /// What calls upstream must be alone, as with `mapped_range`: the word is plain, for the thread
  /// sanitizer.
  template <class F>
  auto alone_in_upstream(F f) {
    if (in_upstream_.exchange(true)) { violate("two calls of upstream at once"); }
    ++upstream_uses_;
    struct leaving {
      std::atomic<bool>& in;
      ~leaving() { in = false; }
    } const now{in_upstream_};
    return f();
  }
  std::atomic<std::uint64_t> events{0};  ///< that were made
  std::set<int> foreign;                 ///< streams of another device
  std::atomic<bool> waits_for_others{false};
  std::atomic<std::uint64_t> spoilt{0};  ///< captures that a wait for the device has ended
  std::atomic<std::uint64_t> waits{0};   ///< for the device

  /// At `wish` where that is free, else at the lowest place.
  std::uintptr_t reserve(std::size_t bytes, std::uintptr_t wish = 0) {
    std::lock_guard const lock{mutex_};
    auto const wanted = (bytes + page - 1) / page;
    auto const taken_from = [&](std::size_t first) {
      std::size_t run = 0;
      while (run < wanted && first + run < pages_.size() && !pages_[first + run]) { ++run; }
      if (run < wanted) { return std::uintptr_t{0}; }
      for (std::size_t k = first; k < first + wanted; ++k) { pages_[k] = true; }
      reserved_ += wanted * page;
      return base + first * page;
    };
    if (wish != 0) {
      if (auto const found = taken_from((wish - base) / page)) { return found; }
    }
    for (std::size_t first = 0; first < pages_.size(); ++first) {
      if (auto const found = taken_from(first)) { return found; }
    }
    return 0;
  }
  void unreserve(std::uintptr_t address, std::size_t bytes) {
    each(reinterpret_cast<void*>(address), bytes, [&](shadow& at) {
      if (at.owner.load() != 0) { violate("a chunk with a live block went back to upstream"); }
      at.time = 0;
    });
    std::lock_guard const lock{mutex_};
    for (std::size_t k = 0; k < (bytes + page - 1) / page; ++k) {
      pages_[(address - base) / page + k] = false;
    }
    reserved_ -= (bytes + page - 1) / page * page;
  }
  std::size_t reserved_bytes() {
    std::lock_guard const lock{mutex_};
    return reserved_;
  }

  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> fail_at{0};  ///< the call that throws; 0 is none
  std::atomic<bool> gone{false};          ///< all calls throw, as of a driver that has shut down
  std::atomic<std::uint64_t> records{0};
  void called(char const* what) {
    if (++calls == fail_at.load() || gone.load()) {
      throw injected_fault{std::string{"injected into "} + what};
    }
  }

 private:
  /// Relaxed loads and stores of `owner` do, for a fifth of an exchange's time: of two that take a
  /// granule at once, one finds another's tag when it leaves. They order nothing themselves, so
  /// that a thread sanitizer sees a hand-over that does not either.
  struct shadow {
    std::atomic<std::uint32_t> owner{0};
    std::uint32_t stream = 0;
    std::uint64_t time = 0;
  };
  struct stream_state {
    std::mutex mutex;
    order before;  // [own number] is the stream's own clock
  };

  static std::uint64_t known(order const& points, std::size_t which) {
    return which < points.size() ? points[which] : 0;
  }
  std::uint64_t host_known(std::size_t which) {
    std::lock_guard const lock{host_mutex_};
    return known(host_, which);
  }
  static std::uint64_t& clock_of(stream_state& stream, std::size_t where) {
    if (stream.before.size() <= where) { stream.before.resize(where + 1); }
    return stream.before[where];
  }
  std::size_t fresh_slot() {
    auto const number = stream_count_.load();
    if (number == most_streams) { throw std::length_error("the fake has no more streams"); }
    streams_[number] = std::make_unique<stream_state>();
    stream_count_.store(number + 1);
    return number;
  }
  template <class F>
  void each(void* block, std::size_t bytes, F f) {
    auto const first = (reinterpret_cast<std::uintptr_t>(block) - base) / granule;
    auto const count = (bytes + granule - 1) / granule;
    if (reinterpret_cast<std::uintptr_t>(block) % granule != 0 || first + count > shadow_.size()) {
      violate("a block is not where memory is");
      return;
    }
    for (std::size_t i = first; i < first + count; ++i) { f(shadow_[i]); }
  }

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> devices{0};
    return ++devices;
  }

  // Addresses of fakes come back, numbers do not.
  std::uint64_t const number_ = next_number();
  std::size_t bytes_;
  std::vector<shadow> shadow_;
  std::array<std::unique_ptr<stream_state>, most_streams> streams_;
  std::atomic<std::size_t> stream_count_{1};  // 0 is nobody
  std::mutex host_mutex_;
  order host_;
  std::mutex mutex_;
  std::map<int, std::size_t> slot_of_;
  int next_handle_ = 1;
  std::atomic<bool> in_upstream_{false};
  std::uint64_t upstream_uses_ = 0;
  std::set<std::size_t> captured_, blocking_;
  std::vector<bool> pages_;
  std::size_t reserved_ = 0;
  std::string first_;
};

/// The pool's backend on it.
struct fake_backend {
  using stream_type = int;
  using event_type = std::shared_ptr<order>;

  fake_device* device;
  unsigned ready_every =
      4;  ///< one query in so many finds its event passed; 0: one in 64, not the first
  bool joins_chunks = true;
  std::shared_ptr<std::atomic<unsigned>> queries = std::make_shared<std::atomic<unsigned>>(0);

  mr::stream_key key(int stream) const noexcept {
    if (stream == fake_device::per_thread_handle) { return mr::thread_key(); }
    return {static_cast<std::uintptr_t>(stream), 0};
  }
  std::uint64_t thread_token() const noexcept { return mr::this_thread().token; }
  /// As CUDA does: refused for a captured stream, and it ends the capture.
  std::uint64_t identify(int stream) const {
    device->called("identify");
    if (device->capture_of(stream) == mr::capture_state::captured) {
      ++device->spoilt;
      throw std::runtime_error("operation not permitted when stream is capturing");
    }
    return stream == fake_device::per_thread_handle ? ~std::uint64_t{0} : device->slot(stream);
  }
  void require_own(int stream) const {
    device->called("require_own");
    if (!device->foreign.contains(stream)) { return; }
    device->waits_for_others = true;
    throw std::invalid_argument("of another device");
  }
  event_type make_event() const {
    device->called("make_event");
    ++device->events;
    return std::make_shared<order>();
  }
  void destroy_event(event_type const&) const noexcept {}
  void record(event_type const& what, int stream) const {
    device->called("record");
    device->records.fetch_add(1);
    if (device->capture_of(stream) != mr::capture_state::none) {
      device->violate("an event on a captured stream");
    }
    *what = device->order_of(device->slot(stream));
  }
  void wait(int stream, event_type const& what) const {
    device->called("wait");
    if (device->capture_of(stream) != mr::capture_state::none) {
      device->violate("a wait on a captured stream");
    }
    device->add_order(device->slot(stream), *what);
  }
  bool query(event_type const& what) const {
    device->called("query");
    auto const count = queries->fetch_add(1);
    if (ready_every == 0 ? count % 64 != 63 : count % ready_every != 0) { return false; }
    device->host_knows(*what);
    return true;
  }
  std::uintptr_t allocate(std::size_t bytes, std::uintptr_t wish) const {
    device->called("allocate");
    return device->alone_in_upstream([&] {
      if (auto const once = std::exchange(device->while_mapping, nullptr)) { once(); }
      return device->reserve(bytes, wish);
    });
  }
  void deallocate(std::uintptr_t address, std::size_t bytes) const noexcept {
    device->alone_in_upstream([&] {
      if (auto const once = std::exchange(device->while_unmapping, nullptr)) { once(); }
      device->unreserve(address, bytes);
    });
  }
  mr::capture_state capturing(int stream) const {
    device->called("capturing");
    return device->capture_of(stream);
  }
  bool contiguous() const noexcept { return joins_chunks; }
  std::size_t piece_bytes(std::size_t bytes) const noexcept {
    return joins_chunks ? fake_device::page : bytes;
  }
  void synchronize() const {
    device->called("synchronize");
    if (device->while_waiting) { device->while_waiting(); }
    device->waits.fetch_add(1);
    device->host_knows_all();
  }
};

static_assert(mr::pool_backend<fake_backend>);

}  // namespace assay::test
