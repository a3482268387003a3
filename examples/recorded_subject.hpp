// SPDX-License-Identifier: Apache-2.0
/// @file
/// `recorded_subject`: a run of a program that timed its launches itself.
#pragma once

#include <assay/measure/subject.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// What one run of a program measured is the cell of its epoch. Runs are the repetitions: launches
/// of one run share a start, a placement and a state of the machine.
class recorded_subject final : public measure::subject {
 public:
  recorded_subject(measure::cell cell, std::string caveat)
      : cell_(std::move(cell)), caveat_(std::move(caveat)) {}

  void warm(int, int) override {}
  measure::cell time(int, int) override { return cell_; }
  /// Such a program has no known answer.
  std::optional<std::string> verify(int) override { return {}; }
  std::vector<std::string> caveats() const override { return {caveat_}; }

 private:
  measure::cell cell_;
  std::string caveat_;
};

/// A program whose runs have such cells, as a variant; `axis` is what its labels name. `caveat`
/// says in the report what a cell is.
inline measure::variant recorded_variant(std::string const& axis, std::string label,
                                         std::string caveat,
                                         std::function<measure::cell(measure::epoch const&)> run) {
  measure::variant made;
  made.axes = {{axis, label}};
  made.label = std::move(label);
  made.renews_code = true;
  made.build = [=](measure::epoch const& now) -> std::unique_ptr<measure::subject> {
    return std::make_unique<recorded_subject>(run(now), caveat);
  };
  return made;
}

}  // namespace assay::examples
