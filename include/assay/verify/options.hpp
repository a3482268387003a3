// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verify_options`, and what a verification takes.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/callables/callable.hpp>
#include <assay/core/place.hpp>
#include <assay/verify/sizes.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace assay {

/// Options of `verify`.
struct verify_options {
  /// The seed of all random values. Equal seeds give equal values on all machines.
  std::uint64_t seed = 1;
  /// The sizes that are tried, `{257}` or `{{64, 33}}`, or rules for them.
  sizes only{};
  /// Adds a size beyond 2^31 bytes for each array of 4-byte elements, to factories of one size. It
  /// meets one draw of random values alone, as any size from 2^29 + 1 on, and takes some seconds.
  bool huge = false;
  /// Runs two calls at once, on two streams.
  bool concurrent = true;
  /// Sizes that were not begun by then are left out, and the result names them.
  double max_seconds = 60;
  /// A call of the work, of the factory or of another function of the caller that takes longer
  /// ends the process with a message on the standard error: neither a thread nor a kernel can be
  /// stopped.
  double max_call_seconds = 60;
  /// Hears of each size before it is tried: "size 257, 16 of 35".
  std::function<void(std::string const&)> progress{};
  /// The device of launches; the current one if there is none.
  std::optional<on::device> place{};
};

namespace verify_detail {

class call_place;

/// Where calls run.
struct place {
  std::unique_ptr<call_place> (*make)(verify_options const&) = nullptr;
};

/// A factory of any number of extents.
struct factory {
  std::size_t rank = 0;
  std::function<callables::work(setup&, shape const&)> make;
};

}  // namespace verify_detail
}  // namespace assay
