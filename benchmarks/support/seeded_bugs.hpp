// SPDX-License-Identifier: Apache-2.0
/// @file
/// Functions that are there twice, right and with one bug: what `verify` and a test by habit find.
///
/// Each bug runs in a process of its own: it may end the process, or all work on a device.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/report/json_values.hpp>
#include <assay/verify.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// The tolerance of a test by habit while one runs.
inline std::optional<tolerance>& habit_tolerance() {
  static std::optional<tolerance> now;
  return now;
}
/// The tolerance of an expectation: `otherwise`, or that of habit.
inline tolerance allowed(tolerance otherwise = default_tolerance<float>) {
  return habit_tolerance().value_or(otherwise);
}

/// A function with a bug and without. `Work` is `void()` or `void(cudaStream_t)`.
template <class Work>
struct seeded_bug {
  using work = std::function<Work>;
  struct variant {
    std::function<verification()> verify;
    std::function<work(setup&)> at_habit;
  };
  std::string kind, name;
  std::array<variant, 2> variants;  ///< the right one, the bug
};

/// Where calls of habit run.
template <class Work>
struct habit_place {
  std::function<std::shared_ptr<arrays::array_store>()> make_store;
  std::function<void(std::function<Work> const&)> call;
};

template <class Work>
class seeded_bugs {
 public:
  /// `variant(bug)` returns a factory. `habit` is the one size that habit tests.
  template <class F, class... N>
  void add(std::string kind, std::string name, F const& variant, sizes const& only, N... habit) {
    // The same types for all factories of one rank, so that `verify` is compiled once for each.
    using factory = std::function<std::function<Work>(setup&, N...)>;
    auto const made = [&](bool bug) -> typename seeded_bug<Work>::variant {
      factory const make = variant(bug);
      return {[=] { return verify(make, {.only = only, .max_call_seconds = 20}); },
              [=](setup& with) { return make(with, habit...); }};
    };
    all_.push_back({std::move(kind), std::move(name), {made(false), made(true)}});
  }
  std::vector<seeded_bug<Work>> const& all() const noexcept { return all_; }

 private:
  std::vector<seeded_bug<Work>> all_;
};

// Factories of y from x. `call` takes the stream, if there is one, the extents and both arrays.

namespace detail {

template <class U>
using wide = std::conditional_t<std::is_integral_v<U>, U, double>;

/// Says that `right(wanted)` writes the elements of y.
template <class U, class Right>
void expect_all(setup& make, array_view<U> y, tolerance of, Right right) {
  make.expect(
      y,
      [right = std::move(right)](std::span<wide<U>> wanted) {
        std::fill(wanted.begin(), wanted.end(), wide<U>{});
        right(wanted);
      },
      std::is_integral_v<U> ? tolerance{} : allowed(of));
}

}  // namespace detail

/// y[i] = right(x[i], i, n).
template <class T = float, class U = T, class Call, class Right>
auto map(Call call, Right right, uniform<T> range = {}) {
  return [=](setup& make, std::size_t n) {
    auto const x = make.random<T>(n, range);
    auto const y = make.output<U>(n);
    make.expect(
        y, [=](std::size_t i) { return right(x.seeded(i), i, n); },
        std::is_integral_v<U> ? tolerance{} : allowed(default_tolerance<U>));
    return [=](auto... stream) { call(stream..., n, x.data(), y.data()); };
  };
}

/// `right(x, wanted)` writes `results(n)` elements, n if that is null; values are finite.
template <class T = float, class U = T, class Call, class Right>
auto from_all(Call call, std::size_t (*results)(std::size_t), Right right, uniform<T> range = {},
              tolerance of = default_tolerance<U>) {
  return [=](setup& make, std::size_t n) {
    make.finite();
    auto const x = make.random<T>(n, range);
    auto const y = make.output<U>(results == nullptr ? n : results(n));
    detail::expect_all(make, y, of, [=](auto wanted) { right(x, wanted); });
    return [=](auto... stream) { call(stream..., n, x.data(), y.data()); };
  };
}

/// `right(x, rows, columns, wanted)` writes `results(rows, columns)` elements; values are finite.
template <class Call, class Right>
auto from_rows(Call call, std::size_t (*results)(std::size_t rows, std::size_t columns),
               Right right, uniform<float> range = {}, tolerance of = default_tolerance<float>) {
  return [=](setup& make, std::size_t rows, std::size_t columns) {
    make.finite();
    auto const x = make.random<float>(rows * columns, range);
    auto const y = make.output<float>(results(rows, columns));
    detail::expect_all(make, y, of, [=](auto wanted) { right(x, rows, columns, wanted); });
    return [=](auto... stream) { call(stream..., rows, columns, x.data(), y.data()); };
  };
}

// Numbers of results.
template <std::size_t N>
std::size_t always(std::size_t) {
  return N;
}
inline std::size_t all_of(std::size_t rows, std::size_t columns) { return rows * columns; }
inline std::size_t each_row(std::size_t rows, std::size_t) { return rows; }
inline std::size_t each_column(std::size_t, std::size_t columns) { return columns; }

// What is right, for host and device.
inline constexpr auto right_twice = [](double x, std::size_t, std::size_t) { return 2 * x; };
inline constexpr auto right_clamp = [](double x, std::size_t, std::size_t) {
  return x < -0.5 ? -0.5 : x > 0.5 ? 0.5 : x;
};
inline constexpr auto right_rectify = [](double x, std::size_t, std::size_t) {
  return x < 0 ? 0 : x;
};
inline constexpr auto right_digitize = [](int x, std::size_t, std::size_t) {
  return std::clamp(x / 10 + 1, 0, 16);
};
inline constexpr auto right_nearest = [](double x, std::size_t, std::size_t) {
  return static_cast<int>(std::floor(x + 0.5));
};
inline constexpr auto right_triangle = [](int x, std::size_t i, std::size_t) {
  return x + static_cast<long long>(i * (i + 1) / 2);
};
inline constexpr auto right_sum = [](auto x, auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) { wanted[0] += x.seeded(i); }
};
inline constexpr auto right_mean = [](auto x, auto wanted) {
  right_sum(x, wanted);
  if (x.size() > 0) { wanted[0] /= static_cast<double>(x.size()); }
};
inline constexpr auto right_square_sum = [](auto x, auto wanted) {
  using wide = std::remove_reference_t<decltype(wanted[0])>;
  for (std::size_t i = 0; i < x.size(); ++i) {
    wanted[0] += static_cast<wide>(x.seeded(i)) * static_cast<wide>(x.seeded(i));
  }
};
inline constexpr auto right_variance = [](auto x, auto wanted) {
  right_mean(x, wanted);
  double const mean = wanted[0];
  wanted[0] = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    wanted[0] += (x.seeded(i) - mean) * (x.seeded(i) - mean);
  }
};
inline constexpr auto right_moving_sum = [](auto x, auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = i < 4 ? 0 : i - 4; k <= i; ++k) { wanted[i] += x.seeded(k); }
  }
};
inline constexpr auto right_differences = [](auto x, auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    wanted[i] = x.seeded(i);
    if (i > 0) { wanted[i] -= x.seeded(i - 1); }
  }
};
/// Counts of x modulo `wanted.size()`.
inline constexpr auto right_counts = [](auto x, auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) { ++wanted[x.seeded(i) % wanted.size()]; }
};
inline constexpr auto right_transpose = [](array_view<float> x, std::size_t rows,
                                           std::size_t columns, auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    wanted[i] = x.seeded(i % rows * columns + i / rows);
  }
};
inline constexpr auto right_row_sums = [](array_view<float> x, std::size_t, std::size_t columns,
                                          auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) { wanted[i / columns] += x.seeded(i); }
};
inline constexpr auto right_column_sums = [](array_view<float> x, std::size_t, std::size_t columns,
                                             auto wanted) {
  for (std::size_t i = 0; i < x.size(); ++i) { wanted[i % columns] += x.seeded(i); }
};
inline constexpr auto right_softmax = [](array_view<float> x, std::size_t, std::size_t columns,
                                         auto wanted) {
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double most = x.seeded(row), all = 0;
    for (auto i = row; i < row + columns; ++i) { most = std::max<double>(most, x.seeded(i)); }
    for (auto i = row; i < row + columns; ++i) { all += wanted[i] = std::exp(x.seeded(i) - most); }
    for (auto i = row; i < row + columns; ++i) { wanted[i] /= all; }
  }
};

/// The tolerances of habit: those of `allclose`, and a generous one.
inline constexpr std::array habits{tolerance{1e-5, 1e-8}, tolerance{1e-3, 1e-8}};
inline constexpr std::array habit_names{"rtol 1e-5", "rtol 1e-3"};

/// The text with the names of files from this repository's root on.
inline std::string without_folders(std::string text) {
  for (std::string_view const inside : {"/include/assay/", "/benchmarks/"}) {
    for (auto at = text.find(inside); at != text.npos; at = text.find(inside)) {
      auto const begin = text.rfind(' ', at) + 1;
      text.erase(begin, at + 1 - begin);
    }
  }
  return text;
}

/// The failure that `verify` finds, its cases and seconds.
template <class Work>
report::document verified(typename seeded_bug<Work>::variant const& of) {
  auto const seen = of.verify();
  return {{"failure", seen                   ? ""
                      : seen.failure.empty() ? "nothing was checked"
                                             : without_folders(seen.failure)},
          {"cases", seen.cases},
          {"seconds", seen.seconds}};
}

/// The failure that one call with random values shows, by each tolerance of habit.
template <class Work>
report::document by_habit(typename seeded_bug<Work>::variant const& of,
                          habit_place<Work> const& place) {
  report::document found;
  std::vector<std::pair<std::shared_ptr<arrays::array_store>, std::unique_ptr<setup>>> made;
  for (std::size_t i = 0; i < habits.size(); ++i) {
    habit_tolerance() = habits[i];
    auto const store = place.make_store();
    made.emplace_back(store, std::make_unique<setup>(store, 1));
    auto const work = of.at_habit(*made[i].second);
    store->finish();
    if (i == 0) { place.call(work); }
    // The results of the one call are looked at with each tolerance.
    auto const from = made[0].second->declared();
    auto const to = made[i].second->declared();
    for (std::size_t k = 0; k < to.size() && i > 0; ++k) {
      if (to[k].is_result()) { store->copy(to[k].data, from[k].data, to[k].bytes); }
    }
    found[habit_names[i]] = made[i].second->verify().value_or("");
    habit_tolerance().reset();
  }
  return found;
}

/// Runs this program once more with other arguments. Returns the last line that it printed, and
/// whether it ended by itself.
inline std::pair<std::string, bool> run_apart(std::string const& arguments) {
  auto const command =
      "'" + std::filesystem::read_symlink("/proc/self/exe").string() + "' " + arguments + " 2>&1";
  auto* const out = popen(command.c_str(), "r");  // NOLINT: the path of this program
  if (out == nullptr) { throw std::runtime_error("no process for " + command); }
  std::string last;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), out) != nullptr) {
    last = line.data();
  }
  int const status = pclose(out);
  while (!last.empty() && last.back() == '\n') { last.pop_back(); }
  if (status != 0) { last += " (status " + std::to_string(status) + ")"; }
  return {last, status == 0};
}

/// The same for a mode that prints JSON. A process that does not end by itself has a failure of
/// each name.
template <class Names>
report::document found_apart(std::string const& arguments, Names const& names) {
  auto const [last, ended] = run_apart(arguments);
  if (ended) { return report::document::parse(last); }
  report::document found;
  for (auto const* name : names) { found[name] = "the process was ended: " + last; }
  return found;
}

/// What was found in functions of one class, or of all.
struct bugs_found {
  int bugs = 0, verify = 0, accused = 0;
  std::array<int, habits.size()> habit{}, habit_accused{};
  double seconds = 0, worst = 0;

  void add(report::document const& row) {
    auto const failed = [&](char const* which, char const* name) {
      return !row.at(which).at(name).template get<std::string>().empty();
    };
    bugs += 1;
    verify += failed("bug", "failure");
    accused += failed("right", "failure");
    for (std::size_t i = 0; i < habits.size(); ++i) {
      habit[i] += failed("bug", habit_names[i]);
      habit_accused[i] += failed("right", habit_names[i]);
    }
    for (auto const* which : {"right", "bug"}) {
      auto const each = row.at(which).value("seconds", 0.0);
      seconds += each;
      worst = std::max(worst, each);
    }
  }
  report::document json() const {
    report::document found{{"bugs", bugs},
                           {"found", verify},
                           {"accused", accused},
                           {"seconds", seconds},
                           {"worst_seconds", worst}};
    for (std::size_t i = 0; i < habits.size(); ++i) {
      found["habit"][habit_names[i]] = {{"found", habit[i]}, {"accused", habit_accused[i]}};
    }
    return found;
  }
  void print(std::string const& name) const {
    std::printf("%-28s %3d of %2d %9.2f %8.2f %9d %9d\n", name.c_str(), verify, bugs, seconds,
                worst, habit[0], habit[1]);
  }
};

/// The modes of one bug, before a benchmark reads its own options. Returns the exit code, or
/// nothing where no such mode is named.
template <class Work>
std::optional<int> run_one(int argc, char const* const* argv, seeded_bugs<Work> const& of,
                           habit_place<Work> const& place) {
  std::string_view const mode = argc > 1 ? argv[1] : "";
  if (mode == "--help") {
    std::cout << "verifies functions that are right, and the same with bugs: --json PATH writes "
                 "what was found\n  --list prints the functions; --run-bug N, --run-right N call "
                 "one as habit does\n  --verify-bug N, --verify-right N verify one\n";
    return 0;
  }
  if (mode == "--list") {
    for (std::size_t i = 0; i < of.all().size(); ++i) {
      std::cout << i << ' ' << of.all()[i].kind << ": " << of.all()[i].name << '\n';
    }
    return 0;
  }
  bool const verifies = mode == "--verify-bug" || mode == "--verify-right";
  bool const runs = mode == "--run-bug" || mode == "--run-right";
  if (!verifies && !runs) { return {}; }
  try {
    auto const& one = of.all().at(argc > 2 ? std::stoul(argv[2]) : of.all().size());
    auto const& variant = one.variants[mode.ends_with("bug") ? 1 : 0];
    alarm(120);  // a call that does not end
    std::cout << (verifies ? verified<Work>(variant) : by_habit<Work>(variant, place)).dump()
              << std::endl;
    std::_Exit(0);  // after an error that ends all work on a device, destructors would report it
  } catch (std::exception const& error) {
    std::cerr << error.what() << std::endl;
    std::_Exit(1);
  }
}

/// Verifies all functions, prints what was found, and fills the figures in. True where at most
/// `most_missed` bugs were missed and no right function was accused. Missed races do not count: a
/// race shows only where the threads meet.
template <class Work>
bool examine_all(seeded_bugs<Work> const& of, habit_place<Work> const& place, int most_missed,
                 report::document& figures) {
  std::map<std::string, bugs_found> kinds;
  bugs_found total;
  std::string words;
  int missed = 0;
  for (std::size_t i = 0; i < of.all().size(); ++i) {
    auto const& one = of.all()[i];
    auto right = verified<Work>(one.variants[0]);
    right.update(by_habit<Work>(one.variants[0], place));
    auto const number = std::to_string(i);
    auto bug = found_apart("--verify-bug " + number, std::array{"failure"});
    bug.update(found_apart("--run-bug " + number, habit_names));
    report::document const row{
        {"kind", one.kind}, {"name", one.name}, {"right", right}, {"bug", bug}};
    auto const name = one.kind + ", " + one.name + " (" + number + ")";
    if (auto const& wrong = right.at("failure").template get<std::string>(); !wrong.empty()) {
      words += "ACCUSED " + name + ": " + wrong + '\n';
    }
    if (bug.at("failure") == "") {
      words += "MISSED " + name + '\n';
      missed += one.kind.starts_with("race") ? 0 : 1;
    }
    kinds[one.kind].add(row);
    total.add(row);
    figures["rows"].push_back(row);
  }
  std::printf("%-28s %9s %9s %8s %9s %9s\n", "class", "found", "seconds", "worst", habit_names[0],
              habit_names[1]);
  for (auto const& [name, found] : kinds) {
    found.print(name);
    figures["kinds"][name] = found.json();
  }
  total.print("all");
  figures["total"] = total.json();
  std::printf("right ones accused: %d; by habit %d and %d\n%s", total.accused,
              total.habit_accused[0], total.habit_accused[1], words.c_str());
  return total.accused == 0 && missed <= most_missed;
}

}  // namespace assay::benchmark
