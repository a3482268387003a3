// SPDX-License-Identifier: Apache-2.0
/// @file
/// Unmodified programs that were built with nvbench, and what their runs measure.
#pragma once

#include "command_subject.hpp"
#include "nvbench_results.hpp"
#include "recorded_subject.hpp"

#include <assay/core/concat.hpp>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::examples {

/// A folder of its own, gone with its content when it goes out of scope.
class scratch_folder {
 public:
  scratch_folder() {
    auto name = (std::filesystem::temp_directory_path() / "assay_nvbench.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), concat({"no folder ", name}));
    }
    path_ = name;
  }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path const& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// A program that was built with nvbench.
struct nvbench_program {
  std::string path;
  std::chrono::duration<double> timeout = std::chrono::seconds{60};  ///< of a run

  /// Runs it, and reads what it measured. Throws `std::runtime_error` with its name where it
  /// fails, `std::invalid_argument` for a file that is not known.
  std::vector<nvbench_state> run(std::vector<std::string> const& arguments) const {
    scratch_folder const here;
    auto const file = here.path() / "result.json";
    command all{{path, "--jsonbin", file.string()}, timeout};
    all.words.insert(all.words.end(), arguments.begin(), arguments.end());
    all.run();
    try {
      return read_nvbench(file);
    } catch (std::invalid_argument const& cause) {
      throw std::invalid_argument(concat({"'", path, "': ", cause.what()}));
    }
  }
};

/// The user's selection as arguments. Axes before all benchmarks hold for each of them.
inline std::vector<std::string> nvbench_selection(std::vector<std::string> const& benchmarks,
                                                  std::vector<std::string> const& axes) {
  std::vector<std::string> all;
  for (auto const& each : axes) { all.insert(all.end(), {"--axis", each}); }
  for (auto const& each : benchmarks) { all.insert(all.end(), {"--benchmark", each}); }
  return all;
}

/// The options of the user by word, and one that leaves out launches in batches where all programs
/// have it. Throws `std::invalid_argument` for a program that is not one of nvbench.
inline std::vector<std::string> nvbench_settings(std::vector<nvbench_program> const& of,
                                                 std::string const& options) {
  std::istringstream words{options};
  std::vector<std::string> all{std::istream_iterator<std::string>{words}, {}};
  bool batches = false;
  for (auto const& each : of) {
    auto const help = output_of(command{{each.path, "--help"}, each.timeout});
    if (help.find("--min-samples") == help.npos) {
      throw std::invalid_argument(concat({"--nvbench: '", each.path,
                                          "' was not built with nvbench: "
                                          "its --help does not name --min-samples"}));
    }
    batches = batches || help.find("--no-batch") == help.npos;
  }
  if (!batches) { all.emplace_back("--no-batch"); }
  return all;
}

/// The runs of two programs, each for all states that are still to be judged. The comparisons of
/// several states share them: a run of an epoch happens once.
class nvbench_runs {
 public:
  /// Runs each program once, as briefly as it can, to learn its states. `selection` are the
  /// `--benchmark` and `--axis` of the user. Throws `std::invalid_argument` where no state is in
  /// both.
  nvbench_runs(std::vector<nvbench_program> programs, std::vector<std::string> settings,
               std::vector<std::string> const& selection)
      : programs_(std::move(programs)), settings_(std::move(settings)) {
    std::vector<std::vector<nvbench_state>> all;
    for (auto const& each : programs_) {
      std::vector<std::string> brief{"--min-samples", "1", "--timeout", "0.001"};
      brief.insert(brief.end(), selection.begin(), selection.end());
      all.push_back(each.run(brief));
    }
    auto const only = [&](std::size_t program, nvbench_state const& state) {
      auto const in_other = [&](std::string const& what, std::string nvbench_state::*member) {
        return std::ranges::find(all[1 - program], what, member) != all[1 - program].end();
      };
      if (in_other(state.key, &nvbench_state::key)) {
        left_out_.push_back(state.name + ": it is there again, and the first one is compared");
      } else {
        bool const on_another_device = in_other(state.name, &nvbench_state::name);
        left_out_.push_back(concat({on_another_device ? state.key : state.name, ": only ",
                                    programs_[program].path, " has it"}));
      }
    };
    auto rest = all[1];
    for (auto const& each : all[0]) {
      auto const other = std::ranges::find(rest, each.key, &nvbench_state::key);
      if (other == rest.end()) {
        only(0, each);
      } else if (!each.skipped.empty() || !other->skipped.empty()) {
        bool const first = !each.skipped.empty();
        left_out_.push_back(concat({each.name, ": ", programs_[first ? 0 : 1].path,
                                    " skips it: ", first ? each.skipped : other->skipped}));
      } else if ((each.gpu_seconds > 0) != (other->gpu_seconds > 0)) {
        left_out_.push_back(concat({each.name, ": ", programs_[each.gpu_seconds > 0 ? 1 : 0].path,
                                    " times it on the host alone"}));
      } else if (std::ranges::find(both_, each.key, &nvbench_state::key) != both_.end()) {
        left_out_.push_back(each.name + ": it is there again, and the first one is compared");
      } else {
        both_.push_back(each);
      }
      if (other != rest.end()) { rest.erase(other); }
    }
    for (auto const& each : rest) { only(1, each); }
  }

  std::string settings() const {
    std::string all;
    for (auto const& each : settings_) { all += (all.empty() ? "" : " ") + each; }
    return all;
  }
  /// The states that both programs measure, and a line for each other one.
  std::vector<nvbench_state> const& states() const noexcept { return both_; }
  std::vector<std::string> const& left_out() const noexcept { return left_out_; }

  /// Only state number `which` is judged.
  void keep_only(std::size_t which) { both_ = {both_[which]}; }
  /// Runs leave out the states before number `first` from now on.
  void begin(std::size_t first) { first_ = first; }

  /// What a program measured of state number `which` in an epoch.
  nvbench_state const& at(std::size_t program, measure::epoch const& now, std::size_t which) {
    auto& kept = runs_[{program, now.number, now.instance}];
    if (!kept.contains(which)) {
      auto arguments = settings_;
      for (auto i = first_; i < both_.size(); ++i) {
        arguments.insert(arguments.end(), both_[i].selection.begin(), both_[i].selection.end());
      }
      auto found = programs_[program].run(arguments);
      if (found.size() != both_.size() - first_) {
        throw std::runtime_error(
            concat({"'", programs_[program].path, "': it measured ", std::to_string(found.size()),
                    " states of ", std::to_string(both_.size() - first_)}));
      }
      for (auto i = first_; i < both_.size(); ++i) {
        auto at = std::ranges::find(found, both_[i].key, &nvbench_state::key);
        if (at == found.end()) {  // real numbers of axes are rounded in a selection
          at = std::ranges::find(found, both_[i].selected, &nvbench_state::selected);
        }
        if (at == found.end()) {
          throw std::runtime_error(
              concat({"'", programs_[program].path, "': it measured '", found.front().key,
                      "' where '", both_[i].selected, "' was asked for"}));
        }
        kept[i] = std::move(*at);
        found.erase(at);
      }
    }
    auto const& state = kept.at(which);
    if (state.skipped.empty()) { return state; }
    throw std::runtime_error(concat({"'", programs_[program].path, "' skips it: ", state.skipped}));
  }

 private:
  std::vector<nvbench_program> programs_;
  std::vector<std::string> settings_;
  std::vector<nvbench_state> both_;
  std::vector<std::string> left_out_;
  std::map<std::tuple<std::size_t, int, int>, std::map<std::size_t, nvbench_state>> runs_;
  std::size_t first_ = 0;
};

/// One side of a comparison over nvbench's runs.
inline measure::variant nvbench_variant(std::string label, std::shared_ptr<nvbench_runs> runs,
                                        std::size_t program, std::size_t which) {
  auto const caveat =
      concat({"a cell is the mean of the isolated launches that nvbench timed in one run, with ",
              runs->settings()});
  auto const run = [=](measure::epoch const& now) {
    auto const& state = runs->at(program, now, which);
    measure::cell timed;
    timed[measure::clock::wall] = state.cpu_seconds;
    timed[measure::clock::gpu] = state.gpu_seconds;
    timed.launches = state.samples;
    return timed;
  };
  return recorded_variant("program", std::move(label), caveat, run);
}

}  // namespace assay::examples
