// SPDX-License-Identifier: Apache-2.0
/// @file
/// A temporary of one item.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/submit/lane.hpp>

#include <cstddef>

namespace assay::workloads {

/// Uninitialised room for `count` elements from a lane's memory, in the order of the lane's stream.
/// The destructor gives the room back; work that was submitted in between may outlive the object.
///
/// The object refers to the lane; a `buffer` holds a copy of the resource. A copy counts references
/// in a place that all lanes share, and costs more than a pool's allocation.
template <class T, any_lane Lane>
class scratch {
 public:
  scratch(Lane& where, std::size_t count)
      : where_(where),
        bytes_(count * sizeof(T)),
        first_(
            static_cast<T*>(where.memory.allocate(where.stream, bytes_, mr::default_alignment))) {}
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() {
    where_.memory.deallocate(where_.stream, static_cast<void*>(first_), bytes_,
                             mr::default_alignment);
  }

  T* get() const noexcept { return first_; }

 private:
  Lane& where_;
  std::size_t bytes_;
  T* first_;
};

}  // namespace assay::workloads
