// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explained_runs`: a pipeline as `explain` runs it, without its type; needs no CUPTI.
#pragma once

#include <assay/core/place.hpp>
#include <assay/rig.hpp>
#include <assay/submit/sequential.hpp>
#include <assay/workload/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace assay::trace {

/// A side of an explanation as it is to be run. `open()` makes it ready and returns what runs one
/// batch, blocks until it has drained and returns its seconds on the wall clock.
struct explained_runs {
  std::string label;
  std::function<std::function<double()>()> open;
  std::optional<on::device> device = {};  ///< where counters are read; none: nowhere
  traffic must = {};                      ///< what a batch has to move and do
  /// The same for one item alone, in one stream: each of its kernels is counted by itself. Empty:
  /// none is.
  std::function<std::function<double()>()> open_item = {};
};

/// An arm of a comparison, by its place there, and how it is run.
struct compared_runs {
  std::size_t arm = 0;
  explained_runs runs;
};

namespace detail {

/// Opens a rig of its own for a pipeline.
template <class Pipeline>
std::function<double()> open_rig(Pipeline const& what) {
  auto real = std::shared_ptr<rig<Pipeline>>{new rig<Pipeline>{what}};
  return [real] { return real->run(0).wall; };
}

}  // namespace detail

/// A pipeline as a side of an explanation, with a rig of its own.
template <class Pipeline>
explained_runs runs_of(Pipeline const& what, std::string label) {
  explained_runs made;
  made.label = std::move(label);
  made.open = [what] { return detail::open_rig(what); };
  if constexpr (std::same_as<decltype(Pipeline::place), on::device>) {
    made.device = what.place;
    made.open_item = [item = what.with(submit::sequential{.items = 1})] {
      return detail::open_rig(item);
    };
  }
  made.must = what.batch_traffic();
  return made;
}

}  // namespace assay::trace
