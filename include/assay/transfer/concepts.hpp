// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parts of a transfer: the job that crosses the link, and the policy.
#pragma once

#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>
#include <assay/submit/lane.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

namespace transfer {

/// The kinds of host memory. Copy engines read and write `page_locked` memory, which is pinned or
/// registered. `pageable` memory needs staging by the driver or by threads.
enum class host_memory { pageable, page_locked };

/// An array in host memory that a job reads: element i is at `data + i * element_bytes`. Every kind
/// (pageable, pinned, registered, managed) and every alignment is allowed.
struct input {
  void const* data = nullptr;
  std::size_t element_bytes = 0;
};

/// An array in host memory that a job writes.
struct output {
  void* data = nullptr;
  std::size_t element_bytes = 0;
};

/// The task of one call of a job's `compute`: the elements [first, first + count). The pointers are
/// the first of these elements in each array, and are good on the stream of the call.
struct chunk {
  int number = 0;
  std::int64_t first = 0;  ///< is a multiple of the job's granularity
  std::int64_t count = 0;
  std::span<void const* const> inputs;
  std::span<void* const> outputs;

  template <class T>
  T const* input(std::size_t which) const {
    return static_cast<T const*>(inputs[which]);
  }
  template <class T>
  T* output(std::size_t which) const {
    return static_cast<T*>(outputs[which]);
  }
};

/// Element-wise or block-local work over arrays in host memory: out[i] depends on the elements of
/// its own block of `granularity` only.
///
/// `compute(stream, chunk)` enqueues the work of one chunk and does not block; the device is
/// current. It is called once for each chunk, on the thread that runs the job and in ascending
/// order; chunks may run at once on several streams. An output may be the same array as an input of
/// equal element size; otherwise arrays must not overlap.
template <class Compute>
struct job {
  std::int64_t elements = 0;
  std::int64_t granularity = 1;  ///< chunks start at multiples of it
  std::vector<input> inputs{};
  std::vector<output> outputs{};
  Compute compute{};
  /// Device time of `compute` over all elements, for plans; 0: not known.
  double compute_seconds = 0;
};

/// Names the chunk that failed and its stage; the cause is nested in it
/// (`std::rethrow_if_nested`).
class chunk_error : public std::runtime_error {
 public:
  chunk_error(chunk const& which, std::string_view stage, std::string const& why)
      : std::runtime_error(std::string{stage} + " of chunk " + std::to_string(which.number) +
                           " (elements " + std::to_string(which.first) + " to " +
                           std::to_string(which.first + which.count) + ") failed: " + why),
        number_(which.number),
        first_(which.first),
        count_(which.count) {}
  int number() const noexcept { return number_; }
  std::int64_t first() const noexcept { return first_; }
  std::int64_t count() const noexcept { return count_; }

 private:
  int number_;
  std::int64_t first_, count_;
};

}  // namespace transfer

/// A choice on the transfer axis: the way of a job's bytes between host and device.
///
/// `open(device, resource)` returns an engine, a copyable handle: `engine.run(stream, job)`
/// enqueues the whole job so that work later on `stream` sees its outputs complete; device memory
/// comes from the resource, in stream order. Pageable inputs are read, and pageable outputs may be
/// written, during the call; page-locked ones in stream order. An empty job does nothing. An engine
/// is used by one thread at a time. A failure is thrown as `transfer::chunk_error` if it belongs to
/// a chunk. The engine's streams are drained then, nothing leaks, and the engine can be used again.
///
/// `wants`: the host memory for generated data; a caller's own arrays are taken as they are.
/// `blocks_host`: over data in this memory, `run` returns only once the host is done with it. If
/// not, the arrays must stay until the stream has passed. `capturable`: over data in this memory,
/// `run` can be recorded into a graph, which the engine must outlive.
template <class P>
concept transfer_policy = policy<P> && requires {
  { P::wants } -> std::convertible_to<transfer::host_memory>;
  { P::blocks_host } -> std::convertible_to<bool>;
  { P::capturable } -> std::convertible_to<bool>;
};

/// A device lane with a transfer: its items cross the link by `lane.transfer.run(lane.stream,
/// job)`. `Lane::transfer_type::wants` is the host memory for generated data.
template <class L>
concept link_lane = device_lane<L> && requires {
  { L::transfer_type::wants } -> std::convertible_to<transfer::host_memory>;
};

}  // namespace assay
