// SPDX-License-Identifier: Apache-2.0
/// @file
/// Races over scripted subjects: who is timed, who is taken out and why, and races that go on.

#include "catch.hpp"

#include <assay/race/run_race.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// What is known of all subjects of one test.
struct script {
  std::map<std::string, int> builds, cells, verifications;
  std::function<double(std::string const&, measure::epoch const&)> factor;  ///< of the time
  int alive = 0, most_alive = 0;
  double empty_seconds = 0;
  std::function<void(std::string const&, measure::epoch const&)> on_build, on_cell;
  std::function<std::optional<std::string>(std::string const&, int)> on_verify;
  stats::random_source noise{1};
};

/// A clock that stands still: a race has more rounds where building takes long by its clock.
struct still_clock {
  using duration = std::chrono::duration<double>;
  using time_point = std::chrono::time_point<still_clock, duration>;
  static time_point now() { return {}; }
};

/// A clock that the destruction of each subject puts forward by a second.
struct teardown_clock : still_clock {
  static inline double seconds = 0;
  static time_point now() { return time_point{duration{seconds}}; }
};

/// Takes `seconds` with 0.1 % of noise.
class scripted final : public measure::subject {
 public:
  scripted(std::shared_ptr<script> in, std::string name, double seconds, measure::epoch now)
      : in_(std::move(in)), name_(std::move(name)), seconds_(seconds), now_(now) {
    in_->most_alive = std::max(in_->most_alive, ++in_->alive);
  }
  ~scripted() override {
    --in_->alive;
    teardown_clock::seconds += 1;
  }
  void warm(int, int) override {}
  measure::cell time(int, int) override {
    ++in_->cells[name_];
    if (in_->on_cell) { in_->on_cell(name_, now_); }
    measure::cell made;
    made[measure::clock::wall] = seconds_ *
                                 (1 + 0.001 * static_cast<double>(in_->noise.below(1000)) / 1000) *
                                 (in_->factor ? in_->factor(name_, now_) : 1);
    return made;
  }
  std::optional<measure::cell> time_empty(int) override {
    measure::cell made;
    made[measure::clock::wall] = in_->empty_seconds;
    return made;
  }
  std::optional<std::string> verify(int) override {
    int const times = ++in_->verifications[name_];
    return in_->on_verify ? in_->on_verify(name_, times) : std::nullopt;
  }

 private:
  std::shared_ptr<script> in_;
  std::string name_;
  double seconds_;
  measure::epoch now_;
};

std::vector<measure::variant> variants_of(std::shared_ptr<script> const& in,
                                          std::map<std::string, double> const& seconds) {
  std::vector<measure::variant> all;
  for (auto const& [name, own] : seconds) {
    all.push_back({name, {}, [in, name = name, own = own](measure::epoch const& now) {
                     ++in->builds[name];
                     if (in->on_build) { in->on_build(name, now); }
                     return std::make_unique<scripted>(in, name, own, now);
                   }});
  }
  return all;
}

std::map<std::string, double> const four{{"a", 1.05e-3}, {"b", 1e-3}, {"c", 1.5e-3}, {"d", 1.2e-3}};

measure::racer const& of(race_result const& found, std::string const& name) {
  return *std::ranges::find(found.racers, name, &measure::racer::name);
}

}  // namespace

TEST_CASE("the fastest of four wins, and the others are in their order") {
  auto const in = std::make_shared<script>();
  auto const found = run_race(variants_of(in, four), {});
  CHECK(found.failure == "");
  CHECK(found.winner() == "b");
  CHECK(found.decided);
  CHECK(found.survivors() == std::vector<std::string>{"b"});
  std::vector<std::string> order;
  for (auto const i : found.order()) { order.push_back(found.racers[i].name); }
  CHECK(order == std::vector<std::string>{"b", "a", "d", "c"});
  CHECK(of(found, "c").ratio == Approx(1.5).epsilon(0.01));
  CHECK(of(found, "c").slower == 6);
  CHECK(found.epochs.size() == 6);
  CHECK(in->builds["a"] == 8);  // alone first, to warm up, and anew in each epoch
  CHECK(in->most_alive == 4);
  CHECK(found.seed != 0);
}

TEST_CASE("dropped candidates are built no more, and their cells are saved") {
  auto const in = std::make_shared<script>();
  measure::options chosen;
  chosen.seed = 1;  // for 4 of 100 seeds "b" is slower in each of 6 epochs, and nothing is saved
  auto const found = run_race<still_clock>(
      variants_of(in, {{"a", 1e-3}, {"b", 1.00001e-3}, {"c", 1.4e-3}, {"d", 1.5e-3}}), chosen);
  CHECK(found.decided);
  CHECK(found.survivors().size() >= 1);
  CHECK(in->builds["c"] == 8);
  CHECK(found.epochs.size() > 6);
  CHECK(std::isnan(found.epochs.back().seconds[2]));
  CHECK(found.cells_saved > 0.2);
  double spent = 0;
  double all = 0;
  for (auto const& each : found.epochs) {
    for (std::size_t i = 0; i < 4; ++i) {
      bool const timed = std::isfinite(each.seconds[i]);
      spent += timed ? each.cells * each.seconds[i] : 0;
      all += each.cells * (timed ? each.seconds[i] : found.racers[i].seconds);
    }
  }
  CHECK(found.cells_saved == Approx(1 - spent / all));
}

TEST_CASE("wrong candidates are never timed, failing ones are listed, and the race goes on") {
  auto const in = std::make_shared<script>();
  in->on_verify = [](std::string const& name, int) {
    return name == "b" ? std::optional<std::string>{"element 3 is 7"} : std::nullopt;
  };
  in->on_build = [](std::string const& name, measure::epoch const&) {
    if (name == "d") { throw std::runtime_error("too many registers"); }
  };
  auto const found = run_race(variants_of(in, four), {});
  CHECK(found.winner() == "a");
  CHECK(in->cells["b"] == 0);
  CHECK_THAT(of(found, "b").out, contains("\"b\"") && contains("element 3 is 7"));
  CHECK_THAT(of(found, "d").out, contains("building: too many registers"));
  CHECK(std::isnan(of(found, "b").seconds));
  CHECK_FALSE(of(found, "b").survived);
}

TEST_CASE("a leader that turns out wrong takes the epochs with it") {
  auto const in = std::make_shared<script>();
  in->on_verify = [](std::string const& name, int times) {
    return name == "b" && times > 2 ? std::optional<std::string>{"stale"} : std::nullopt;
  };
  auto const found = run_race(variants_of(in, four), {});
  CHECK(found.winner() == "a");
  CHECK_THAT(of(found, "b").out, contains("after timing"));
  REQUIRE(found.notes.size() == 1);
  CHECK_THAT(found.notes[0], contains("6 epochs until then are void"));
  CHECK(found.epochs.size() == 6);
  CHECK(in->builds["a"] == 2 + 6 + 6);  // alone, to warm up, and both times
  CHECK(of(found, "c").slower == 6);
}

TEST_CASE(
    "a leader that takes no longer than an empty call is no winner, nor where its race goes on") {
  auto const in = std::make_shared<script>();
  in->empty_seconds = 0.9e-3;
  std::map<std::string, double> const seconds{{"a", 1e-3}, {"b", 2e-3}};
  auto const found = run_race(variants_of(in, seconds), {});
  CHECK_FALSE(found.decided);
  CHECK_THAT(report::race_text(found),
             contains("UNDECIDED: a leads 2") && contains("no longer than an empty"));
  auto const further = run_race(variants_of(in, seconds), {}, found);
  CHECK(further.epochs.size() == found.epochs.size());
  CHECK_FALSE(further.decided);
  in->empty_seconds = 0.7e-3;
  CHECK(run_race(variants_of(in, seconds), {}).decided);
}

TEST_CASE("a failure in an epoch repeats the epoch without the candidate") {
  auto const in = std::make_shared<script>();
  in->on_cell = [](std::string const& name, measure::epoch const& now) {
    if (name == "c" && now.number == 3) { throw std::runtime_error("gone"); }
  };
  auto const found = run_race(variants_of(in, four), {});
  CHECK(found.winner() == "b");
  CHECK(found.notes.empty());  // nothing was held against "c"
  CHECK(found.epochs.size() == 6);
  CHECK_THAT(of(found, "c").out, contains("timing: gone"));
}

TEST_CASE("those left are verified when the last open candidate fails in an epoch") {
  auto const in = std::make_shared<script>();
  // "b" is bounded after six epochs. "b" and "c" are faster in every other epoch, and never lead.
  in->factor = [](std::string const& name, measure::epoch const& now) {
    bool const faster = now.number > 1 && now.number % 2 == 1;
    return name == "a" ? 1 : name == "b" ? (faster ? 0.998 : 1.004) : faster ? 0.9 : 1.3;
  };
  in->on_cell = [](std::string const& name, measure::epoch const& now) {
    if (name == "c" && now.number == 10) { throw std::runtime_error("gone"); }
  };
  in->on_verify = [](std::string const& name, int times) {
    return name == "b" && times > 2 ? std::optional<std::string>{"stale"} : std::nullopt;
  };
  options chosen;
  chosen.seed = 1;
  auto const found =
      run_race<still_clock>(variants_of(in, {{"a", 1e-3}, {"b", 1e-3}, {"c", 1e-3}}), chosen);
  CHECK_THAT(of(found, "c").out, contains("gone"));
  CHECK_THAT(of(found, "b").out, contains("stale"));
  CHECK(in->verifications["a"] > 2);
  CHECK(found.winner() == "a");
}

TEST_CASE("a race whose time runs out while an epoch is torn down verifies all that are left") {
  auto const in = std::make_shared<script>();
  options chosen;
  auto const begin = teardown_clock::seconds;
  chosen.max_seconds = 9;  // 2 subjects qualify, 2 warm up, and each epoch destroys 2
  auto const found = run_race<teardown_clock>(variants_of(in, {{"a", 1e-3}, {"b", 1e-3}}), chosen);
  CHECK(found.failure == "");
  CHECK_FALSE(found.decided);
  CHECK(teardown_clock::seconds - begin > chosen.max_seconds);
  CHECK(in->verifications["a"] == 4);  // in both buffer sets, before and after timing
  CHECK(in->verifications["b"] == 4);
}

TEST_CASE("long candidates are cut off after a few cells") {
  auto const in = std::make_shared<script>();
  auto const found = run_race(
      variants_of(in, {{"a", 1e-3}, {"b", 1.1e-3}, {"hopeless", 1.0}, {"long", 2.5e-3}}), {});
  CHECK(found.winner() == "a");
  CHECK_THAT(of(found, "hopeless").out,
             contains("cut off: it takes ") && contains(" times as long"));
  CHECK_THAT(of(found, "long").out, contains("cut off"));
  CHECK(in->cells["hopeless"] <= 4);
  CHECK(in->builds["long"] == 2);  // alone, and to warm up
  CHECK(found.cells_saved > 0.9);
}

TEST_CASE("the time of an epoch is the mean of its cells, however long one of them is") {
  auto const in = std::make_shared<script>();
  std::map<int, std::vector<double>> cells;  // by epoch
  in->factor = [&](std::string const& name, measure::epoch const& now) {
    if (name != "a") { return 1.0; }
    cells[now.number].push_back(cells[now.number].size() % 4 == 3 ? 50 : 1);
    return cells[now.number].back();
  };
  options chosen;
  chosen.seed = 2;
  // A quarter of the candidates is left after six epochs, so an epoch has eight cells.
  std::map<std::string, double> field{{"a", 1e-3}, {"b", 1e-3 * (1 + 49.0 / 4)}};
  for (auto const* name : {"c", "d", "e", "f", "g", "h"}) { field[name] = 20e-3; }
  auto const found = run_race<still_clock>(variants_of(in, field), chosen);
  REQUIRE(found.epochs.size() > 6);
  for (std::size_t i = 0; i < found.epochs.size(); ++i) {
    auto const& all = cells.at(static_cast<int>(i) + 2);  // after qualification and warm-up
    REQUIRE(all.size() == static_cast<std::size_t>(found.epochs[i].cells));
    CHECK(found.epochs[i].seconds[0] == Approx(1e-3 * stats::mean(all)).epsilon(1.1e-3));
  }
  CHECK(found.epochs.back().cells == 8);
}

TEST_CASE("one cell that is long by chance cuts nothing off") {
  auto const in = std::make_shared<script>();
  auto seconds = four;
  seconds["odd"] = 0.9e-3;
  for (int slow = 1; slow < 12; ++slow) {
    in->cells.clear();
    in->factor = [&in = *in, slow](std::string const& name, measure::epoch const&) {
      return name == "odd" && in.cells[name] == slow ? 1000.0 : 1.0;
    };
    INFO("cell " << slow << " is slow");
    CHECK(run_race(variants_of(in, seconds), {}).winner() == "odd");
  }
}

TEST_CASE("candidates that do not fit together run one at a time") {
  auto const in = std::make_shared<script>();
  in->on_build = [&in = *in](std::string const&, measure::epoch const&) {
    if (in.alive >= 2) { throw std::bad_alloc(); }
  };
  auto const found = run_race(variants_of(in, four), {});
  CHECK(found.winner() == "b");
  CHECK(found.decided);
  REQUIRE(found.notes.size() == 1);
  CHECK_THAT(found.notes[0], contains("do not fit into memory together"));
}

TEST_CASE("a race that was cancelled goes on from its result") {
  auto const in = std::make_shared<script>();
  options chosen;
  chosen.seed = 7;
  chosen.cancelled = [&in = *in] { return in.builds["b"] > 5; };
  auto const first = run_race(variants_of(in, four), chosen);
  CHECK_THAT(first.failure, contains("cancelled in epoch "));
  CHECK_FALSE(first.decided);
  CHECK(first.epochs.size() == 3);
  CHECK(first.winner() == "b");

  chosen.cancelled = {};
  in->builds.clear();
  auto const whole = run_race(variants_of(in, four), chosen, first);
  CHECK(whole.failure == "");
  CHECK(whole.decided);
  CHECK(whole.winner() == "b");
  CHECK(whole.epochs.size() == 6);
  CHECK(whole.epochs[2].seconds == first.epochs[2].seconds);
  CHECK(whole.seed == 7);
  for (std::size_t i = 0; i < 4; ++i) {  // the bets replay from the same first leader
    CHECK(whole.racers[i].guess == first.racers[i].guess);
  }
  CHECK(whole.launches == first.launches);
  CHECK(in->builds["b"] == 5);  // verified once more, warmed up, and three epochs

  auto const done = run_race(variants_of(in, four), chosen, whole);  // nothing is left to do
  CHECK(done.epochs.size() == 6);
  CHECK(done.winner() == "b");
}

TEST_CASE("a resumed race keeps its candidates, level, margin and clock") {
  auto const in = std::make_shared<script>();
  auto const found = run_race(variants_of(in, four), {});
  CHECK_THROWS_WITH(run_race(variants_of(in, {{"a", 1}, {"b", 1}}), {}, found),
                    "the race to resume has 4 candidates, not 2");
  CHECK_THROWS_WITH(run_race(variants_of(in, {{"a", 1}, {"b", 1}, {"c", 1}, {"e", 1}}), {}, found),
                    "candidate 4 of the race to resume is \"d\", not \"e\"");
  CHECK_THROWS_WITH(run_race(variants_of(in, four), {.margin = 0.02}, found),
                    contains("keeps its alpha, its margin and its clock"));
}

TEST_CASE("disturbed epochs are repeated, and too many of them end the race") {
  auto const in = std::make_shared<script>();
  options chosen;
  int asked = 0;
  chosen.at_epoch_end = [&](measure::epoch const&) {
    return ++asked % 3 == 0 ? std::vector<std::string>{"heat"} : std::vector<std::string>{};
  };
  auto const found = run_race(variants_of(in, four), chosen);
  CHECK(found.winner() == "b");
  CHECK(found.epochs.size() == 6);
  CHECK(asked == 8);  // not for the warm-up

  chosen.at_epoch_end = [](measure::epoch const&) { return std::vector<std::string>{"heat"}; };
  auto const hot = run_race(variants_of(in, four), chosen);
  CHECK(hot.failure == "8 epochs were disturbed, the last by: heat");
  CHECK_THROWS_WITH(hot.winner(), contains("the race has no winner: 8 epochs were disturbed"));
}

TEST_CASE("a race without a candidate that works has no winner") {
  auto const in = std::make_shared<script>();
  in->on_build = [](std::string const&, measure::epoch const&) { throw std::runtime_error("no"); };
  auto const found = run_race(variants_of(in, four), {});
  CHECK_THROWS_WITH(found.winner(), contains("no candidate is left: variant \""));
  CHECK(found.survivors().empty());

  in->on_build = [](std::string const& name, measure::epoch const&) {
    if (name != "c") { throw std::runtime_error("no"); }
  };
  auto const alone = run_race(variants_of(in, four), {});
  CHECK(alone.winner() == "c");
  CHECK(alone.epochs.size() == 1);
}

TEST_CASE("epochs and time end a race that is not decided") {
  auto const in = std::make_shared<script>();
  std::map<std::string, double> const tied{{"a", 1e-3}, {"b", 1e-3}};
  auto const few = run_race(variants_of(in, tied), {.alpha = 0.04, .max_epochs = 7});
  CHECK(few.decided);  // within the margin in each of 7 epochs
  measure::options chosen{.margin = 1e-9, .max_epochs = 8};
  chosen.seed = 1;  // for some seeds one of two equal candidates is slower in 6 of 6 epochs
  auto const none = run_race<still_clock>(variants_of(in, tied), chosen);
  CHECK_FALSE(none.decided);
  CHECK(none.epochs.size() == 8);
  CHECK(none.survivors().size() == 2);
  auto const brief = run_race(variants_of(in, tied), {.max_seconds = 1e-9});
  CHECK(brief.epochs.size() == 1);
}

TEST_CASE("progress tells how many are left, and a seed repeats the choices") {
  auto const in = std::make_shared<script>();
  options chosen;
  chosen.seed = 3;
  std::vector<std::string> told;
  int last = 0;
  chosen.progress = [&](int epoch, int of, std::string_view what) {
    CHECK(of == 96);
    last = epoch;
    told.emplace_back(what);
  };
  auto const found = run_race(variants_of(in, four), chosen);
  CHECK(last == static_cast<int>(found.epochs.size()));
  CHECK(std::ranges::count(told, "4 of 4 left") == 7);
  CHECK_THAT(told.front(), contains("qualifying "));
  CHECK_THAT(told[1], contains("verifying "));
  CHECK(std::ranges::count(told, "verifying b") == 4);  // both buffer sets, at both ends
}

TEST_CASE("the checks after the last epoch count against the time of a race") {
  auto const in = std::make_shared<script>();
  in->on_verify = [](std::string const&, int) -> std::optional<std::string> {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    return {};
  };
  std::map<std::string, double> const tied{{"a", 1e-3}, {"b", 1e-3}};
  auto const epochs_in = [&](double seconds) {
    return run_race<still_clock>(variants_of(in, tied), {.max_seconds = seconds}).epochs.size();
  };
  CHECK(epochs_in(0.15) == 1);  // four checks take 0.2 s, and all else no time
  CHECK(epochs_in(0.5) > 1);
}

TEST_CASE("checks that take most of the time are noted") {
  auto const in = std::make_shared<script>();
  in->on_verify = [](std::string const&, int) -> std::optional<std::string> {
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    return {};
  };
  std::map<std::string, double> const two{{"a", 1e-3}, {"b", 1.5e-3}};
  auto const noted = run_race<still_clock>(variants_of(in, two), {.max_seconds = 1.5});
  REQUIRE(noted.notes.size() == 1);
  CHECK_THAT(noted.notes[0],
             contains("checks of results took 2 s, which count against max_seconds = 1.5: "));
  CHECK(run_race(variants_of(in, two), {.max_seconds = 10}).notes.empty());
}

TEST_CASE("what cannot race is refused in one line") {
  auto const in = std::make_shared<script>();
  CHECK_THROWS_WITH(run_race(variants_of(in, {{"a", 1}}), {}),
                    "a race needs 2 candidates or more, not 1");
  CHECK_THROWS_WITH(run_race({}, {}), "a race needs 2 candidates or more, not 0");
  auto twice = variants_of(in, {{"a", 1}});
  twice.push_back(twice.front());
  CHECK_THROWS_WITH(run_race(twice, {}), "two variants are labelled \"a\"");
  CHECK_THROWS_WITH(run_race(variants_of(in, four), {.max_epochs = 3}),
                    contains("at most 3 epochs can prove nothing"));
}
