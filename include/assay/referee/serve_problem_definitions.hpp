// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: the answers to the referee.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/host_subject.hpp>
#include <assay/referee/call_arrays.hpp>
#include <assay/referee/candidate_library.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/examination.hpp>
#include <assay/referee/problem.hpp>
#include <assay/referee/process_state.hpp>
#include <assay/referee/rotation.hpp>
#include <assay/referee/serve_problem.hpp>
#include <assay/referee/sound_problem.hpp>
#include <assay/serve/answers.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>

#include <sys/prctl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay {
namespace referee_detail {

using measure::served::at;
using measure::served::words;

/// Answers the requests of the referee about a problem, for its reference and one candidate. It
/// draws all inputs itself: what follows from a seed of the referee could be that of an earlier
/// verdict, whose results a candidate may have kept in a file.
///
/// | request                          | reply                                           |
/// |----------------------------------|-------------------------------------------------|
/// | `sound`                          | `ok`, or `wrong TEXT`                           |
/// | `load PATH`                      | `ok`; an empty path loads the reference         |
/// | `examine STEP`                   | `ok`, or `wrong KIND TEXT`                      |
/// | `examined`                       | `ok SECONDS UNDISTURBED SETS`: the least so far |
/// | `ceiling UNIT AMOUNT`            | `ok RATE NAME` for a call of it; `ok`: none     |
/// | `state`                          | the same: compares with the state before `load` |
/// | `clock`                          | `ok NANOSECONDS` of the steady clock            |
/// | `unload PATH`                    | as `examine`; loads it once more before         |
/// | `build`                          | `ok BYTES FLOPS CHECKS SETS NOTE ...`           |
/// | `prepare CALLS SPECIAL`          | `ok`; draws the inputs of a cell                |
/// | `run`                            | `ok SECONDS WALL GPU ...`: all, and a call of it |
/// | `judge WHOLE`                    | as `examine`, of one of these calls             |
class problem_server {
 public:
  /// Processes that a candidate leaves behind stay children of this one, so that they are seen.
  problem_server(candidate_place& where, problem const& of) : place_(where), problem_(of) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  words answer(words const& request) {
    auto const& verb = at(request, 0);
    if (verb == "cases") { return {"ok", "reference", std::string{to_string(place_.decides())}}; }
    if (verb == "load") {
      state_ = measured_state();
      load(at(request, 1));
      return {"ok"};
    }
    if (verb == "sound") {
      auto const loose = loose_expectation(place_, problem_);
      return loose ? words{"wrong", *loose} : words{"ok"};
    }
    if (verb == "examined") {
      return {"ok", measure::served::from_double(examination_.value().seconds()),
              measure::served::from_double(examination_->undisturbed_seconds()),
              std::to_string(examination_->sets())};
    }
    if (verb == "ceiling") {
      auto const amount = measure::served::to_number<double>(at(request, 2));
      auto const most =
          at(request, 1) == "B" ? place_.bytes_ceiling(amount) : place_.flops_ceiling();
      if (!most) { return {"ok"}; }
      return {"ok", measure::served::from_double(most->per_second), most->name};
    }
    if (verb == "examine") {
      if (!examination_) { throw std::logic_error("'examine' before 'load'"); }
      return reply(examination_->run(at(request, 1)));
    }
    if (verb == "state") {
      auto const changed = difference(state_, measured_state());
      if (!changed) { return {"ok"}; }
      return reply(charge{charge::kind::changed_environment, *changed});
    }
    if (verb == "clock") {
      auto const now = std::chrono::steady_clock::now().time_since_epoch();
      return {"ok", std::to_string(std::chrono::nanoseconds{now}.count())};
    }
    if (verb == "unload") { return reply(unload(at(request, 1))); }
    if (verb == "build") { return build(); }
    if (!cells_) { throw std::logic_error(concat({"'", verb, "' before 'build'"})); }
    if (verb == "prepare") {
      bool const special = at(request, 2) == "special" && !problem_.values.empty();
      how_ = {.otherwise = charge::kind::wrong_answer,
              .when = "a timed cell",
              .outputs = poisoned::some,
              .settle = 0.3e-3};
      if (special) { how_ = cells_->special(how_, problem_.values, special_drawn_++); }
      cells_->prepare(measure::served::to_number<std::size_t>(at(request, 1)), how_);
      return {"ok"};
    }
    if (verb == "run") { return run(); }
    if (verb == "judge") {
      how_.whole = at(request, 1) == "whole";
      return reply(cells_->judge(how_));
    }
    throw measure::served::protocol_error(verb);
  }

 private:
  static words reply(std::optional<charge> const& found) {
    if (!found) { return {"ok"}; }
    return {"wrong", std::string{to_string(found->what)}, found->text};
  }

  state measured_state() {
    auto now = state_now();
    place_.describe(now);
    return now;
  }

  /// A library that GCC before 13 links by `-ffast-math` flushes subnormals of the thread that
  /// loads it. Checks run on this thread, so its mode is restored.
  void load(std::string const& path) {
    float_guard const guard;
    if (!path.empty()) { library_ = std::make_unique<candidate_library>(path); }
    examination_.emplace(place_, problem_, candidate(), stats::draw_seed());
  }

  candidate_function candidate() const {
    if (!library_) { return problem_.reference; }
    return library_->entry();
  }

  /// Unloads the candidate, then loads, calls and unloads it once more: the first time may leave
  /// what a runtime keeps for the whole process.
  std::optional<charge> unload(std::string const& path) {
    cells_.reset();
    examination_.reset();
    library_.reset();
    auto const cycle = [&] {
      load(path);
      call_arrays{place_, problem_, library_->entry(), problem_.sizes.front(), stats::draw_seed()}
          .call();
      examination_.reset();
      library_.reset();
      place_.settle(1e-3);
      return holdings_now(place_.device_bytes());
    };
    return found_each_time([&]() -> std::optional<charge> {
      constexpr std::array<double, 5> least{1, 1, 1, 1 << 20, 4 << 20};
      auto const grown = least_growth(2, cycle);
      for (std::size_t k = 0; k < grown.size(); ++k) {
        if (grown[k] < least[k]) { continue; }
        return charge{charge::kind::left_behind,
                      concat({stats::number_text(grown[k]), " ", holdings::names[k],
                              " stay after it was loaded, called once and unloaded: give "
                              "them back in the destructor of a static object"})};
      }
      return {};
    });
  }

  words build() {
    if (examination_) { examination_->clear(); }
    cells_.reset();
    called_ = candidate();
    cells_.emplace(place_, problem_, called_, problem_.sizes.front(), stats::draw_seed());
    auto const& made = cells_->arrays();
    words told{"ok", measure::served::from_double(made.bytes()),
               measure::served::from_double(made.flops()),
               measure::served::to_word(measure::checks_of(made)), std::to_string(cells_->sets())};
    for (auto& note : measure::sample_notes(made)) { told.push_back(std::move(note)); }
    return told;
  }

  words run() {
    auto const begin = std::chrono::steady_clock::now();
    auto reply = measure::served::from_cell(cells_->run());
    std::chrono::duration<double> const whole = std::chrono::steady_clock::now() - begin;
    reply.insert(reply.begin() + 1, measure::served::from_double(whole.count()));
    return reply;
  }

  candidate_place& place_;
  problem const& problem_;
  state state_;
  std::unique_ptr<candidate_library> library_;
  std::optional<examination> examination_;
  candidate_function called_;  ///< by `cells_`
  std::optional<rotation> cells_;
  asked how_{};
  std::size_t special_drawn_ = 0;
};

ASSAY_INLINE int serve_on(problem const& of,
                          std::function<std::unique_ptr<candidate_place>()> const& make) {
  namespace served = measure::served;
  try {
    require_whole(of);
    auto const descriptor = served::inherited_descriptor();
    if (!descriptor) {
      if (auto const loose = loose_expectation(*make(), of)) {
        throw std::invalid_argument(*loose);
      }
      std::printf(
          "This program has a problem and its reference. It judges candidates in the hands of the "
          "referee: assay_referee THIS_PROGRAM CANDIDATE.so\n");
      return 0;
    }
    served::channel with{*descriptor};
    std::unique_ptr<candidate_place> where;
    try {
      where = make();
    } catch (std::exception const& cause) {
      with.send({"error", cause.what()});
      return 4;
    }
    problem_server server{*where, of};
    served::converse(with, served::greeting_words(),
                     [&](words const& request) { return server.answer(request); });
    return 0;
  } catch (std::exception const& cause) {
    std::fprintf(stderr, "error: %s\n", cause.what());
    return 2;
  }
}

}  // namespace referee_detail

ASSAY_INLINE int serve_problem(problem const& of) {
  return referee_detail::serve_on(
      of, [] { return std::make_unique<referee_detail::host_candidate_place>(); });
}

}  // namespace assay
