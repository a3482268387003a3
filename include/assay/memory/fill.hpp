// SPDX-License-Identifier: Apache-2.0
/// @file
/// `fill`: sets bytes in the order of a stream.
#pragma once

#include <assay/core/place.hpp>

#include <cstddef>
#include <cstring>

namespace assay::mr {

/// `operator()(stream, block, value, bytes)` sets bytes in the order of the stream.
template <class Stream>
struct fill;

template <>
struct fill<host_stream> {
  void operator()(host_stream, void* block, unsigned char value, std::size_t bytes) const noexcept {
    std::memset(block, value, bytes);
  }
};

}  // namespace assay::mr
