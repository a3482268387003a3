// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pipeline as a thing to measure: batches of its rig are the launches.
#pragma once

#include <assay/core/range.hpp>
#include <assay/measure/instruments.hpp>
#include <assay/measure/subject.hpp>
#include <assay/rig.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace assay::measure {

/// One rig and its instruments; a launch is a batch, drained before the next.
template <class Pipeline>
class pipeline_subject final : public subject {
 public:
  using rig_type = rig<Pipeline>;
  using place_type = typename rig_type::place_type;

  explicit pipeline_subject(std::unique_ptr<rig_type> made)
      : rig_(std::move(made)), timer_(rig_->what().place, static_cast<int>(rig_->lanes().size())) {}

  void warm(int buffer_set, int launches) override {
    range const scope{"warm", category::measurement};
    for (int i = 0; i < launches; ++i) { rig_->run(buffer_set, timer_.probe()); }
  }

  cell time(int buffer_set, int launches) override {
    range const scope{"cell", category::measurement};
    double wall = 0;
    double gpu = 0;
    double submit = 0;
    timer_.cell_begin();
    for (int i = 0; i < launches; ++i) {
      auto const batch = rig_->run(buffer_set, timer_.probe());
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

  std::optional<std::string> verify(int buffer_set) override { return rig_->verify(buffer_set); }

 private:
  std::unique_ptr<rig_type> rig_;
  typename instruments<place_type>::batch_timer timer_;
};

/// The buffer sets of an epoch, shared by the variants that can share them; gone with their last
/// rig. The control's second instance has its own.
template <class State>
class buffer_set_cache {
 public:
  /// The buffer sets of this epoch and instance, made by `make` for the first that asks.
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
