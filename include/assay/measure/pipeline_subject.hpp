// SPDX-License-Identifier: Apache-2.0
/// @file
/// `pipeline_subject`: a pipeline, whose launches are batches of its rig; instruments of a place.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/place.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/rig.hpp>
#include <assay/submit/concepts.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// The instruments of a place, specialised for each. `instruments.cuh` has those of a device.
///
/// - `batch_timer{place, lanes}` times batches by the clocks of the place. Its `probe()` watches a
///   batch, and `gpu_seconds()` is the device time of the last batch. `cell_begin()` and
///   `cell_end()` enclose a cell, and `sm_hertz()` is its mean SM clock. Unknown values are NaN.
/// - `ceilings(place)` measures the limits that reports divide by, once a process.
/// - `watch(place)` returns an `environment_watch`.
template <class Place>
struct instruments;

template <std::same_as<on::host> Place>
struct instruments<Place> {
  class batch_timer {
   public:
    batch_timer(on::host, int /*lanes*/) {}
    submit::no_probe& probe() noexcept { return probe_; }
    double gpu_seconds() const noexcept { return std::numeric_limits<double>::quiet_NaN(); }
    void cell_begin() noexcept {}
    void cell_end() noexcept {}
    double sm_hertz() const noexcept { return std::numeric_limits<double>::quiet_NaN(); }

   private:
    submit::no_probe probe_;
  };

  static environment_watch watch(on::host) { return host_watch(); }

  static std::vector<ceiling> ceilings(on::host) { return host_ceilings(); }
};

/// A rig and its instruments. A launch is a batch, which drains before the next one.
template <class Pipeline>
class pipeline_subject final : public subject {
 public:
  using rig_type = rig<Pipeline>;
  using place_type = typename rig_type::place_type;

  /// A rig of these arguments. Throws `std::invalid_argument` where an item would be timed on what
  /// another one left.
  template <class... Parts>
  explicit pipeline_subject(Pipeline const& what, Parts&&... parts)
      : rig_(what, std::forward<Parts>(parts)...), timer_(what.place, what.submit.lanes()) {
    if (!rig_.changes_inputs() || what.submit.batch_items() <= what.submit.lanes()) { return; }
    throw std::invalid_argument(
        std::string{decltype(what.work)::name} + " changes its input, and a batch has " +
        std::to_string(what.submit.batch_items()) + " items on " +
        std::to_string(what.submit.lanes()) +
        " lanes: an item would be timed on the result of another; submit one item to each lane "
        "(.items = 1)");
  }

  void warm(int buffer_set, int launches) override {
    nvtx_range const scope{"warm", category::measurement};
    for (int i = 0; i < launches; ++i) { rig_.run(buffer_set, timer_.probe()); }
  }

  cell time(int buffer_set, int launches) override {
    nvtx_range const scope{"cell", category::measurement};
    double wall = 0;
    double gpu = 0;
    double submit = 0;
    timer_.cell_begin();
    for (int i = 0; i < launches; ++i) {
      auto const batch = rig_.run(buffer_set, timer_.probe());
      wall += batch.wall;
      submit += batch.submit_per_item;
      gpu += timer_.gpu_seconds();
    }
    timer_.cell_end();
    cell mean;
    mean[clock::wall] = wall / launches;
    mean[clock::gpu] = gpu / launches;
    mean[clock::submit] = submit / launches;
    mean.sm_hertz = timer_.sm_hertz();
    return mean;
  }

  std::optional<std::string> verify(int buffer_set) override { return rig_.verify(buffer_set); }
  checks checked() const override { return rig_.checks_all() ? checks::all : checks::part; }

 private:
  rig_type rig_;
  typename instruments<place_type>::batch_timer timer_;
};

/// The buffer sets of an epoch, shared by variants until the last of their rigs ends. The control's
/// second instance has its own.
template <class State>
class buffer_set_cache {
 public:
  /// The buffer sets of this epoch and instance. The first call makes them by `make`.
  template <class Make>
  std::shared_ptr<buffer_sets<State>> get(epoch const& when, Make const& make) {
    auto& [held, number] = of_[static_cast<std::size_t>(when.instance)];
    auto sets = held.lock();
    if (sets == nullptr || number != when.number) {
      sets = make();
      held = sets;
      number = when.number;
    }
    return sets;
  }

 private:
  struct entry {
    std::weak_ptr<buffer_sets<State>> held;
    int number = -1;
  };
  std::array<entry, 2> of_;
};

}  // namespace assay::measure
