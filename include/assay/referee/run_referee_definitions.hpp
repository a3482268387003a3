// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to run_referee.hpp: the processes of the referee, and what it asks them.
#pragma once

#include <assay/core/adopted_orphans.hpp>
#include <assay/core/concat.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/referee/candidate_subject.hpp>
#include <assay/referee/charge.hpp>
#include <assay/referee/run_referee.hpp>
#include <assay/serve/remote_subject.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace referee_detail {

/// What a `referee_session` does.
class session {
 public:
  session(std::vector<std::string> problem, referee_options chosen)
      : problem_(std::move(problem)), options_(std::move(chosen)), next_(start()) {
    auto& measuring = options_.measuring;
    auto const cases = next_->cases();  // refuses a program that is no problem
    if (!measuring.clock) { measuring.clock = cases.at(0).decides; }
    measuring.changed = "implementation";
    for (auto& each : references_) { each = start(); }
    auto const sound = references_[0]->request({"sound"});
    if (sound[0] == "ok") { return; }
    throw std::invalid_argument(concat({problem_.at(0), ": ", measure::served::at(sound, 1)}));
  }

  referee_result judge(std::string const& candidate) {
    using steady_clock = std::chrono::steady_clock;
    auto const begin = steady_clock::now();
    referee_result found;
    found.candidate = candidate;
    waits_.clear();
    examine_reference();
    auto in = std::exchange(next_, start());
    assay::detail::adopted_orphans adopted;
    try {
      examine(*in, found);
      if (!found.is_accused() && options_.timed) { time(in, found); }
      if (!found.is_accused()) { examine_rest(*in, found); }
    } catch (failed_request const& cause) {
      found.charges.push_back({charge::kind::failure, cause.what()});
    }
    for (auto& each : found.charges) {
      std::replace(each.text.begin(), each.text.end(), '\n', ' ');
    }
    end(std::move(in), adopted);
    found.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
    std::sort(waits_.begin(), waits_.end(),
              [](auto const& one, auto const& other) { return one.seconds > other.seconds; });
    found.waits = waits_;
    return found;
  }

 private:
  using process = measure::remote_process;
  static constexpr double calls_of_a_request = 200;  ///< the most, but for those of a cheat

  /// The candidate's process did not do as it was asked.
  struct failed_request : std::runtime_error {
    using runtime_error::runtime_error;
  };

  std::shared_ptr<process> start() {
    auto limits = options_.limits;
    limits.required_call = "assay::serve_problem";
    limits.answered = [this](auto const& request, double seconds) { note(request, seconds); };
    return std::make_shared<process>(problem_, limits);
  }

  /// Adds to what the referee waited for. Of a request of two words and more, the last one tells
  /// what was asked of an examination and of cells.
  void note(measure::served::words const& request, double seconds) {
    auto name = measure::served::at(request, 0);
    if (name == "examine" || name == "prepare" || name == "judge") {
      name = concat({name, " ", request.back()});
    }
    auto const is_it = [&](waiting const& each) { return each.request == name; };
    auto const known = std::find_if(waits_.begin(), waits_.end(), is_it);
    auto& of = known == waits_.end() ? waits_.emplace_back(waiting{name}) : *known;
    ++of.times;
    of.seconds += seconds;
  }

  static measure::served::words ask(process& in, std::string const& doing,
                                    measure::served::words const& what) {
    try {
      return in.request(what);
    } catch (std::exception const& cause) {
      throw failed_request{concat({doing, ": ", cause.what()})};
    }
  }

  /// Asks for a part of the examination, and adds its charge; true if there is one.
  static bool accuses(process& in, referee_result& found, std::string const& doing,
                      measure::served::words const& what) {
    using measure::served::at;
    auto const reply = ask(in, doing, what);
    if (at(reply, 0) == "ok") { return false; }
    found.charges.push_back({charge_kind(at(reply, 1)), at(reply, 2)});
    return true;
  }

  /// Time limits follow the calls that were examined so far.
  void examine(process& in, referee_result& found) {
    in.allow(reference_seconds_ * calls_of_a_request);
    ask(in, "loading", {"load", found.candidate});
    for (auto const each : referee_detail::examination_steps) {
      std::string const step{each};
      if (accuses(in, found, concat({"examining '", step, "'"}), {"examine", step})) {
        if (step == "sizes") { examine_reference_sizes(); }
        return;
      }
      in.allow(std::max(reference_seconds_, examined_seconds(in)) * calls_of_a_request);
    }
  }

  /// The least seconds of an examined call, or of one that nothing disturbed.
  static double examined_seconds(process& in, bool undisturbed = false) {
    using namespace measure::served;
    return to_number<double>(at(ask(in, "examining", {"examined"}), undisturbed ? 2 : 1));
  }

  /// Once: examines the first calls of the reference.
  void examine_reference() {
    if (reference_seconds_ > 0) { return; }
    referee_result found;
    auto& in = *references_[0];
    try {
      ask(in, "loading", {"load", ""});
      for (auto const* step : {"first", "answer", "again"}) {
        if (accuses(in, found, "examining", {"examine", step})) { break; }
      }
      using namespace measure::served;
      auto const told = ask(in, "examining", {"examined"});
      reference_seconds_ = to_number<double>(at(told, 1));
      undisturbed_seconds_ = to_number<double>(at(told, 2));
      // Unless asked for more, a cell goes through each buffer set once.
      auto& most = options_.measuring.most_launches;
      if (!most) { most = std::max(5, to_number<int>(at(told, 3))); }
    } catch (failed_request const& cause) {
      found.charges.push_back({charge::kind::failure, cause.what()});
    }
    if (found.is_accused()) { refuse_reference(found.charges[0].text); }
    for (auto& each : references_) { each->allow(reference_seconds_ * calls_of_a_request); }
  }

  /// Once, and not before a candidate is wrong there: throws if the reference is wrong too.
  void examine_reference_sizes() {
    if (std::exchange(sizes_known_, true)) { return; }
    referee_result found;
    try {
      accuses(*references_[0], found, "examining", {"examine", "sizes"});
    } catch (failed_request const& cause) {
      found.charges.push_back({charge::kind::failure, cause.what()});
    }
    if (found.is_accused()) { refuse_reference(found.charges[0].text); }
  }

  [[noreturn]] void refuse_reference(std::string const& why) {
    for (auto& each : references_) { each = start(); }
    reference_seconds_ = 0;
    references_known_ = sizes_known_ = false;
    throw std::runtime_error("the problem's own reference: " + why);
  }

  /// Ends the process of a candidate. A device needs a while to let a process go, so the next
  /// verdict waits for that, unless the candidate has started processes: these end at once.
  void end(std::shared_ptr<process> in, assay::detail::adopted_orphans& adopted) {
    // In this order: children of a process that ends become children of this one.
    bool const started = !assay::detail::children_of(in->pid()).empty() || adopted.has_any();
    in->begin_to_end();
    last_ = std::move(in);
    if (!started) { return; }
    last_.reset();
    (void)adopted.end_all();
  }

  /// Its clock, its process, and what stays when it is unloaded.
  static void examine_rest(process& in, referee_result& found) {
    using std::chrono::steady_clock;
    auto const before = steady_clock::now().time_since_epoch();
    std::chrono::nanoseconds const told{measure::served::to_number<std::int64_t>(
        measure::served::at(ask(in, "reading its clock", {"clock"}), 1))};
    auto const after = steady_clock::now().time_since_epoch();
    if (told < before || told > after) {  // all processes of a machine have one such clock
      auto const off = told < before ? told - before : told - after;
      found.charges.push_back(
          {charge::kind::changed_environment,
           concat({"the steady clock of its process is off by ",
                   stats::number_text(std::chrono::duration<double>(off).count()), " s"})});
      return;
    }
    if (accuses(in, found, "looking at its process", {"state"})) { return; }
    try {
      accuses(in, found, "unloading", {"unload", found.candidate});
    } catch (failed_request const& cause) {  // such as a thread of which the code is gone
      found.charges.push_back({charge::kind::left_behind, cause.what()});
    }
  }

  measure::variant variant_of(std::string label, std::shared_ptr<outside_watch> watch,
                              std::function<std::shared_ptr<process>(int instance)> in) const {
    measure::variant made;
    made.axes = {{"implementation", label}};
    made.build = [in = std::move(in), watch = std::move(watch)](measure::epoch const& now) {
      return std::make_unique<candidate_subject>(in(now.instance), watch);
    };
    made.label = std::move(label);
    return made;
  }

  void time(std::shared_ptr<process> const& in, referee_result& found) {
    auto const begin = std::chrono::steady_clock::now();
    last_.reset();
    note({"the end of a process"},
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    (void)next_->cases();  // no process ends or starts beside the cells
    auto const reference = [this](int instance) {
      return references_.at(static_cast<std::size_t>(instance));
    };
    auto const own = std::make_shared<outside_watch>();
    auto const usual = std::make_shared<outside_watch>();
    usual->is_known = references_known_;
    std::vector const variants{variant_of("reference", usual, reference),
                               variant_of("candidate", own, [in](int) { return in; })};
    found.timed = measure::compare_variants(
        variants, measure::against_first({"reference", "candidate"}), options_.measuring);
    auto const& failure = found.timed->failure;
    references_known_ = references_known_ || failure.empty();
    if (failure.starts_with("variant \"reference\"")) {  // text of a candidate comes later
      refuse_reference(failure);
    }
    if (failure.starts_with("variant \"candidate\"")) {
      bool const escaped = failure.find("other streams") != failure.npos;
      found.charges.push_back({own->found ? own->found->what
                               : escaped  ? charge::kind::escaped_work
                                          : charge::kind::failure,
                               failure});
    } else if (auto const late = found_behind(in, own)) {
      found.charges.push_back(*late);
    } else if (failure.empty()) {  // else it was cancelled, or the machine was restless
      examine_times(*in, found, *usual, *own);
    }
  }

  /// Holds the times of a comparison against the clock of this process, against what is possible,
  /// and against those of examined calls.
  void examine_times(process& in, referee_result& found, outside_watch const& usual,
                     outside_watch const& own) {
    using stats::number_text;
    if (auto const wrong = wrong_clock(usual, own)) {
      found.charges.push_back(*wrong);
      return;
    }
    auto const clock = static_cast<std::size_t>(*options_.measuring.clock);
    auto const seconds = [&](std::size_t which) {
      return found.timed->variants.at(which).seconds[clock].median;
    };
    struct claim {
      std::string declared, unit;
      double amount;
    };
    auto const& claimed = found.timed->variants.at(1);
    double const fastest = std::min(seconds(0), seconds(1));
    for (auto const& [declared, unit, amount] :
         {claim{"moves", "B", claimed.bytes}, claim{"does", "FLOP", claimed.flops}}) {
      if (amount <= 0) { continue; }
      using namespace measure::served;
      words most;
      double per_second = 0;
      // A busy machine slows what a ceiling is measured by: the highest of some decides.
      for (int asked = 0; asked < 10 && amount / fastest > per_second; ++asked) {
        most = references_[0]->request({"ceiling", unit, from_double(amount)});
        if (most.size() < 2) { break; }
        per_second = std::max(per_second, to_number<double>(at(most, 1)));
      }
      if (most.size() < 2) { continue; }
      // Clang before 16 captures no binding by itself.
      auto const text = [&, of_call = amount, what = unit](std::size_t which) {
        return concat({number_text(of_call / seconds(which)), " ", what, "/s where ", at(most, 2),
                       " reach ", number_text(per_second), " ", what, "/s"});
      };
      if (amount / seconds(0) > per_second) {
        refuse_reference(concat({text(0), ": too many for `", declared, "`"}));
      }
      if (amount / seconds(1) > per_second) {
        found.charges.push_back({charge::kind::impossible_rate, text(1)});
        return;
      }
    }
    // By the slow ones of the timed calls: a busy machine slows some of them too.
    double const examined = examined_seconds(in, true) / undisturbed_seconds_;
    double const timed = quantile(found.timed->variants.at(1).cells[clock], 0.9) / seconds(0);
    constexpr double far = 4;
    if (!std::isfinite(examined) || examined < far * timed) { return; }
    found.charges.push_back(
        {charge::kind::kept_results, concat({"its calls took ", number_text(examined),
                                             " times those of the reference when examined, and ",
                                             number_text(timed), " times when timed"})});
  }

  std::vector<std::string> problem_;
  referee_options options_;
  std::vector<waiting> waits_;     ///< of this verdict
  std::shared_ptr<process> next_;  ///< for the next candidate
  std::shared_ptr<process> last_;  ///< of the candidate before, which ends
  std::array<std::shared_ptr<process>, 2> references_;
  double reference_seconds_ = 0;  ///< the least of its examined calls; 0: not examined
  double undisturbed_seconds_ = 0;
  bool references_known_ = false;  ///< both were judged whole in a comparison
  bool sizes_known_ = false;       ///< one is right at all sizes and special values
};

}  // namespace referee_detail

ASSAY_INLINE referee_session::referee_session(std::vector<std::string> problem,
                                              referee_options chosen)
    : session_(std::make_shared<referee_detail::session>(std::move(problem), std::move(chosen))) {}

ASSAY_INLINE referee_result referee_session::judge(std::string const& candidate) {
  return session_->judge(candidate);
}

ASSAY_INLINE referee_result referee(std::vector<std::string> const& problem,
                                    std::string const& candidate, referee_options const& chosen) {
  return referee_session{problem, chosen}.judge(candidate);
}

}  // namespace assay
