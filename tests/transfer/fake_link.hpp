// SPDX-License-Identifier: Apache-2.0
/// @file
/// A device made of host memory. Its streams run as late and in as strange an order as CUDA's rules
/// allow: a missing wait shows as a wrong result.
#pragma once

#include <assay/core/memory_type.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::test {

class fake_device;

struct fake_stream {
  fake_device* device = nullptr;
  std::size_t id = 0;
  bool operator==(fake_stream const&) const = default;
};

class fake_device {
 public:
  explicit fake_device(std::uint64_t seed) : draw_(seed), queues_(1) {}

  fake_stream make_stream() {
    std::lock_guard const lock{mutex_};
    queues_.emplace_back();
    return {this, queues_.size() - 1};
  }
  fake_stream caller() { return {this, 0}; }

  /// Puts work into a stream; now and then some work of any stream is done.
  void launch(fake_stream on, std::function<void()> run) {
    std::lock_guard const lock{mutex_};
    queues_[on.id].push_back({std::move(run), nullptr, 0});
    while (draw_() % 3 == 0 && step()) {}
  }

  struct event_state {
    std::uint64_t recorded = 0;
    std::uint64_t passed = 0;
  };
  using event = std::shared_ptr<event_state>;

  void record(event const& mark, fake_stream on) {
    std::lock_guard const lock{mutex_};
    auto const number = ++mark->recorded;
    queues_[on.id].push_back({[mark, number] { mark->passed = number; }, nullptr, 0});
  }
  void wait(fake_stream on, event const& mark) {
    std::lock_guard const lock{mutex_};
    queues_[on.id].push_back({[] {}, mark, mark->recorded});
  }
  void synchronize(event const& mark) {
    std::lock_guard const lock{mutex_};
    auto const number = mark->recorded;
    while (mark->passed < number) { advance(); }
  }
  void synchronize(fake_stream which) {
    std::lock_guard const lock{mutex_};
    while (!queues_[which.id].empty()) { advance(); }
  }
  bool idle() {
    std::lock_guard const lock{mutex_};
    return std::all_of(queues_.begin(), queues_.end(), [](auto const& q) { return q.empty(); });
  }

  bool idle(fake_stream which) {
    std::lock_guard const lock{mutex_};
    return queues_[which.id].empty();
  }

  /// Memory that lives until the device goes; wrong uses of what was given back show as poison.
  std::byte* memory(std::size_t bytes) {
    std::lock_guard const lock{mutex_};
    blocks_.push_back(std::make_unique<std::byte[]>(bytes + 1));
    return blocks_.back().get();
  }

  void hold(void const* data, std::size_t bytes, memory_type kind) {
    std::lock_guard const lock{mutex_};
    kinds_[static_cast<std::byte const*>(data)] = {bytes, kind};
  }
  void forget(void const* data) {
    std::lock_guard const lock{mutex_};
    kinds_.erase(static_cast<std::byte const*>(data));
  }
  memory_type kind_of(void const* data) {
    std::lock_guard const lock{mutex_};
    auto const* at = static_cast<std::byte const*>(data);
    auto found = kinds_.upper_bound(at);
    if (found != kinds_.begin()) {
      --found;
      if (at < found->first + found->second.first) { return found->second.second; }
    }
    return memory_type::pageable;
  }

  // Tests set and read these.
  std::atomic<int> copies = 0;
  std::atomic<int> fail_copy_at = 0;     ///< from 1
  std::atomic<int> pageable_copies = 0;  ///< enqueued with host memory that is pageable
  std::atomic<int> waits_of_host = 0;    ///< calls that block for a stream or an event
  std::atomic<bool> captured = false;
  std::atomic<long> live_bytes = 0;
  double free_bytes = 1e9;

 private:
  struct work {
    std::function<void()> run;
    event after;
    std::uint64_t number;
  };

  /// Runs the first work of a random stream that can go on; whether there was one.
  bool step() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (queues_[i].empty()) { continue; }
      auto const& head = queues_[i].front();
      if (head.after == nullptr || head.after->passed >= head.number) { ready.push_back(i); }
    }
    if (ready.empty()) { return false; }
    auto& queue = queues_[ready[draw_() % ready.size()]];
    auto const run = std::move(queue.front().run);
    queue.pop_front();
    run();
    return true;
  }
  void advance() {
    if (!step()) { throw std::logic_error("the streams wait for each other"); }
  }

  std::mutex mutex_;
  std::mt19937_64 draw_;
  std::deque<std::deque<work>> queues_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::map<std::byte const*, std::pair<std::size_t, memory_type>> kinds_;
};

/// Page-locked memory of the fake.
class fake_block {
 public:
  fake_block(fake_device& device, std::size_t bytes)
      : device_(&device), data_(device.memory(bytes)) {
    device.hold(data_, bytes, memory_type::page_locked);
  }
  void* get() const { return data_; }

 private:
  fake_device* device_;
  std::byte* data_;
};

/// As `transfer::cuda_link`.
class fake_link {
 public:
  using stream_type = fake_stream;
  using owned_stream = fake_stream;
  using event_type = fake_device::event;

  explicit fake_link(fake_device& device) : device_(&device) {}

  int current() const { return 0; }
  void bind_thread() const {}
  fake_stream make_stream() const { return device_->make_stream(); }
  event_type make_event() const { return std::make_shared<fake_device::event_state>(); }
  fake_block page_locked(std::size_t bytes) const { return {*device_, bytes}; }

  void copy(fake_stream on, void* to, void const* from, std::size_t bytes) const {
    if (++device_->copies == device_->fail_copy_at) {
      throw std::runtime_error("the copy fails as asked for");
    }
    // One side is device memory, which was never told to be of a kind, as pageable memory.
    if (device_->kind_of(to) == memory_type::pageable &&
        device_->kind_of(from) == memory_type::pageable) {
      ++device_->pageable_copies;
    }
    device_->launch(on, [=] { std::memcpy(to, from, bytes); });
  }
  void record(event_type& mark, fake_stream on) const { device_->record(mark, on); }
  void wait(fake_stream on, event_type const& mark) const { device_->wait(on, mark); }
  void synchronize(event_type const& mark) const {
    ++device_->waits_of_host;
    device_->synchronize(mark);
  }
  void synchronize(fake_stream on) const {
    ++device_->waits_of_host;
    device_->synchronize(on);
  }
  void drain(fake_stream on) const noexcept { device_->synchronize(on); }
  void drain(event_type const& mark) const noexcept { device_->synchronize(mark); }
  bool capturing(fake_stream) const { return device_->captured; }
  memory_type kind_of(void const* data, std::size_t) const { return device_->kind_of(data); }
  double free_device_bytes() const { return device_->free_bytes; }
  void* alias_of(void const* data) const { return const_cast<void*>(data); }

 private:
  fake_device* device_;
};

/// Memory of the fake, poisoned in the order of its stream when it is taken and when it is given
/// back.
struct fake_memory {
  fake_device* device = nullptr;

  void* allocate(fake_stream on, std::size_t bytes, std::size_t) const {
    auto* const block = device->memory(bytes);
    device->live_bytes += static_cast<long>(bytes);
    device->launch(on, [=] { std::memset(block, 0x7F, bytes); });
    return block;
  }
  void deallocate(fake_stream on, void* block, std::size_t bytes, std::size_t) const noexcept {
    device->live_bytes -= static_cast<long>(bytes);
    device->launch(on, [=] { std::memset(block, 0x7E, bytes); });
  }
  bool operator==(fake_memory const&) const = default;
};

}  // namespace assay::test
