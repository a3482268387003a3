// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. A call on a device path: copies in, the task's `run`, copies back.
///
/// `Link` has the calls of CUDA that a call needs; tests replace it by a simulated device. It has
/// the members of `transfer::cuda_link`, and these:
/// - `where(address)` is the `memory_place` of an address.
/// - `native(stream)` is the stream as tasks take it, and `number(stream)` tells it from others.
/// - `idle(stream)` is true if no work is left on the stream, and false while it is captured.
/// - `require_launched()` throws if a kernel could not be launched.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/memory_type.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/memory/concepts.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace assay::dispatch {

/// The facts of a call with the memory of each array. Throws as `require_work`.
template <task T, class Link>
facts facts_of(T const& call, Link const& link) {
  auto known = facts_of(call);
  std::size_t i = 0;
  auto const locate = [&](auto const& array) {
    auto& fact = known.arrays[i++];
    if (array.data.empty()) { return; }
    auto const found = link.where(array.data.data());
    fact.memory = found.type;
    if (found.type == memory_type::device) { fact.newest = found.device; }
  };
  std::apply([&](auto const&... each) { (locate(each), ...); }, call.arrays());
  return known;
}

/// Throws `std::invalid_argument` for an array in device memory that `where` cannot use.
inline void require_reach(std::string_view task, path const& where, facts const& known) {
  auto const here = where.device() != nullptr ? where.device()->id : array_fact::on_host;
  for (std::size_t i = 0; i < known.count; ++i) {
    auto const& each = known.arrays[i];
    if (each.memory != memory_type::device || each.newest == here) { continue; }
    throw std::invalid_argument(
        concat({task, " on ", where.describe(), ": array ", std::to_string(i),
                " is in the memory of device ", std::to_string(each.newest),
                ", which this path cannot use: copy it, or name another path"}));
  }
}

/// An array that a call copies over the link.
struct moved_array {
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  std::size_t bytes = 0;
};

/// Copies all arrays one way, in the order of the stream. Blocks for arrays in pageable memory as
/// CUDA does.
template <class Link>
void copy_arrays(Link const& link, typename Link::stream_type stream,
                 std::span<moved_array const> all, bool to_device) {
  if (all.empty()) { return; }
  nvtx_range const scope{to_device ? "copy to device" : "copy to host", category::transfer};
  for (auto const& each : all) {
    link.copy(stream, to_device ? each.device : each.host, to_device ? each.host : each.device,
              each.bytes);
  }
}

/// Device memory for some arrays of one call, given back in the order of the stream.
template <class Stream, class Memory>
class call_memory {
 public:
  call_memory(Stream stream, Memory& memory) : stream_(stream), memory_(memory) {}
  call_memory(call_memory const&) = delete;
  call_memory& operator=(call_memory const&) = delete;
  ~call_memory() {
    for (std::size_t i = 0; i < count_; ++i) {
      memory_.deallocate(stream_, blocks_[i].first, blocks_[i].second, mr::default_alignment);
    }
  }

  std::byte* take(std::size_t bytes) {
    auto* const block = memory_.allocate(stream_, bytes, mr::default_alignment);
    blocks_[count_++] = {block, bytes};
    return static_cast<std::byte*>(block);
  }

 private:
  Stream stream_;
  Memory& memory_;
  std::array<std::pair<void*, std::size_t>, facts::max_arrays> blocks_{};
  std::size_t count_ = 0;
};

/// Calls the task's `run` with one device pointer for each array.
template <task T>
requires has_device_run<T>
void run_on_stream(T const& call, native_stream stream, std::span<void* const> pointers) {
  std::apply(
      [&]<class... E>(task_array<E> const&...) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          call.run(stream, static_cast<E*>(pointers[I])...);
        }(std::index_sequence_for<E...>{});
      },
      call.arrays());
}

/// Enqueues a call: copies of arrays that are not on the device, the task's `run`, and copies back
/// of host arrays that the call writes. Empty arrays have null pointers; a call without elements in
/// any array does nothing. Managed arrays are used as they are. Device memory comes from `memory`.
/// `resident` has the copies on the device of arrays that are in host memory too, in the order of
/// the arrays. Blocks as `copy_arrays`. After a failure the stream is drained.
template <task T, class Link, class Memory>
requires has_device_run<T>
void enqueue(T const& call, facts const& known, Link const& link, typename Link::stream_type stream,
             Memory& memory, std::span<void* const> resident = {}) {
  struct {
    std::array<moved_array, facts::max_arrays> all{};
    std::size_t count = 0;
    std::span<moved_array const> arrays() const { return {all.data(), count}; }
  } in, back;
  [[maybe_unused]] auto const current = link.current();
  call_memory<typename Link::stream_type, Memory> temporary{stream, memory};
  std::array<void*, facts::max_arrays> pointers{};
  try {
    std::size_t i = 0;
    std::size_t elements = 0;
    auto const prepare = [&]<class E>(task_array<E> const& array) {
      auto const& fact = known.arrays[i];
      auto* const copy = resident.empty() ? nullptr : resident[i];
      auto& pointer = pointers[i++];
      auto const bytes = array.data.size_bytes();
      elements += array.data.size();
      if (bytes == 0) { return; }
      auto* const data = const_cast<std::remove_const_t<E>*>(array.data.data());
      bool const reached =
          fact.memory == memory_type::device || fact.memory == memory_type::managed;
      if (reached) {
        pointer = copy != nullptr ? copy : data;
        return;
      }
      moved_array const made{reinterpret_cast<std::byte*>(data), temporary.take(bytes), bytes};
      pointer = made.device;
      if (fact.is_read()) { in.all[in.count++] = made; }
      if (fact.is_written()) { back.all[back.count++] = made; }
    };
    std::apply([&](auto const&... each) { (prepare(each), ...); }, call.arrays());
    if (elements == 0) { return; }
    copy_arrays(link, stream, in.arrays(), true);
    run_on_stream(call, link.native(stream), pointers);
    link.require_launched();
    copy_arrays(link, stream, back.arrays(), false);
  } catch (...) {
    link.drain(stream);
    throw;
  }
}

}  // namespace assay::dispatch
