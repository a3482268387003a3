// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pipeline as a thing to measure: batches of its rig are the launches.
#pragma once

#include <assay/core/range.hpp>
#include <assay/measure/instruments.hpp>
#include <assay/measure/subject.hpp>
#include <assay/rig.hpp>

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

  void warm(int arena, int launches) override {
    range const scope{"warm", category::measurement};
    for (int i = 0; i < launches; ++i) { rig_->run(arena, timer_.probe()); }
  }

  cell time(int arena, int launches) override {
    range const scope{"cell", category::measurement};
    double wall = 0;
    double gpu = 0;
    double submit = 0;
    timer_.cell_begin();
    for (int i = 0; i < launches; ++i) {
      auto const batch = rig_->run(arena, timer_.probe());
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

  std::optional<std::string> verify(int arena) override { return rig_->verify(arena); }

 private:
  std::unique_ptr<rig_type> rig_;
  typename instruments<place_type>::batch_timer timer_;
};

/// The arenas of an epoch, shared by the variants that can share them; gone with its last rig.
template <class State>
class arena_cache {
 public:
  /// The arenas of this epoch, made by `make` for the first who asks.
  template <class Make>
  std::shared_ptr<arenas<State>> get(epoch const& when, Make const& make) {
    auto held = held_.lock();
    if (held == nullptr || epoch_ != when.number) {
      held = make();
      held_ = held;
      epoch_ = when.number;
    }
    return held;
  }

 private:
  std::weak_ptr<arenas<State>> held_;
  int epoch_ = -1;
};

}  // namespace assay::measure
