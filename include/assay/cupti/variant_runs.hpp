// SPDX-License-Identifier: Apache-2.0
/// @file
/// `variant_runs`: a type-erased pipeline for `explain` to run; needs no CUPTI.
#pragma once

#include <assay/core/place.hpp>
#include <assay/memory/watched.hpp>
#include <assay/rig/any_rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace assay::trace {

/// A variant that an explanation runs. `open()` prepares the variant and returns a function that
/// runs one batch, blocks until the batch has drained and returns its wall-clock seconds.
struct variant_runs {
  std::string label;
  std::function<std::function<double()>()> open;
  std::optional<on::device> device = {};  ///< the device for counters; none: no counters
  traffic required = {};                  ///< the bytes and FLOPs that a batch needs
  /// `open` for a single item in one stream, to count each of its kernels alone. Empty: kernels are
  /// not counted.
  std::function<std::function<double()>()> open_item = {};
};

/// A variant of a comparison, by its index there.
struct compared_runs {
  std::size_t variant = 0;
  variant_runs runs;
};

namespace detail {

/// Runs batches of a rig.
inline std::function<double()> batches_of(std::shared_ptr<any_rig> real) {
  return [real = std::move(real)] {
    batch_watch unwatched;
    return real->run(0, unwatched).wall;
  };
}

/// Compiled once for all workloads.
template <class Pipeline>
[[gnu::noinline]] variant_runs runs_of_any(Pipeline const& what, std::string label) {
  variant_runs made;
  made.label = std::move(label);
  made.open = [what] { return batches_of(open_rig(what)); };
  if constexpr (std::same_as<decltype(Pipeline::place), on::device>) {
    made.device = what.place;
    made.open_item = [item = what.with(submit::sequential{.items = 1})] {
      return batches_of(open_rig(mr::with_watched_memory(item)));
    };
  }
  made.required = what.batch_traffic();
  return made;
}

}  // namespace detail

/// The runs of a pipeline; each `open()` makes a rig of its own.
template <class Pipeline>
variant_runs runs_of(Pipeline const& what, std::string label) {
  return detail::runs_of_any(with_any_work(what), std::move(label));
}

}  // namespace assay::trace
