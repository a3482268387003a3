// SPDX-License-Identifier: Apache-2.0
/// @file
/// `copy::regular`: loads into registers. `copy/regular.cuh` has what kernels use of it.
#pragma once

#include <assay/copy/concepts.hpp>

#include <string>
#include <string_view>

namespace assay::copy {

/// Each thread loads `VectorBytes` at a time into registers, with `Unroll` loads in flight. It
/// stores them to shared memory, or uses them directly where no other thread needs them.
///
/// Four loads of 16 bytes are the default: 32 warps have 64 KiB in flight, more than an H200 needs.
template <int VectorBytes = 16, int Unroll = 4>
struct regular {
  static_assert(VectorBytes == 4 || VectorBytes == 8 || VectorBytes == 16,
                "copy::regular loads 4, 8 or 16 bytes at a time");
  static_assert(Unroll >= 1 && Unroll <= 16, "copy::regular has 1 to 16 loads in flight");
  static constexpr std::string_view name = "copy::regular";
  static constexpr int stages = 1;
  static constexpr int capability = 75;
  static constexpr int vector_bytes = VectorBytes;
  static constexpr int unroll = Unroll;

  std::string describe() const {
    return std::string{name} + '<' + std::to_string(VectorBytes) + ", " + std::to_string(Unroll) +
           '>';
  }
  bool operator==(regular const&) const = default;
};
static_assert(copy_strategy<regular<>>);

}  // namespace assay::copy
