// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O2
// assay-test-alone: it tells times apart, which others would make as they like
/// @file
/// The front door on the host: verdicts on known work, and what is named when something is wrong.

#include "catch.hpp"

#include <assay/compare.hpp>
#include <assay/measure/host_subject.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;

namespace {

/// `steps` dependent multiply-adds, which no compiler shortens.
double chain(int steps) {
  double volatile hidden = 0.999999;
  double const factor = hidden;
  double x = 1;
  for (int i = 0; i < steps; ++i) { x = x * factor + 1e-6; }
  return x;
}
double chain_of_20000() { return chain(20'000); }
double chain_of_40000() { return chain(40'000); }

/// Eight epochs of short cells: where the verdict does not matter.
options brief() {
  options chosen;
  chosen.max_epochs = 8;
  chosen.cell_seconds = 1e-5;
  chosen.warm_up_seconds = 0;
  return chosen;
}

/// Whether one of five comparisons says so: other work on this machine may disturb some.
template <class Compare, class Says>
bool in_five(Compare const& compare_once, Says const& says) {
  for (int i = 0; i < 5; ++i) {
    auto const found = compare_once();
    if (says(found)) { return true; }
    WARN(found);
  }
  return false;
}

/// y = 2 x + 1 over 1000 elements; `wrong_at` gets another value, and no element where it is 1000.
auto doubling(std::size_t wrong_at) {
  return [wrong_at](setup& make) {
    auto const x = make.random<float>(1000, {-1, 1});
    auto const y = make.output<float>(1000);
    make.expect(y, [=](std::size_t i) { return 2 * x.seeded(i) + 1; });
    make.moves(8000);
    make.does(2000);
    return [=] {
      for (std::size_t i = 0; i < 1000; ++i) { y.data()[i] = 2 * x.data()[i] + 1; }
      if (wrong_at < 1000) { y.data()[wrong_at] = 77; }
    };
  };
}

void do_nothing() {}

bool noted(comparison const& found, std::string const& text) {
  return std::any_of(found.notes.begin(), found.notes.end(),
                     [&](std::string const& each) { return each.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("with a margin of 2 % equal work is equivalent, and half the work faster", "[compare]") {
  CHECK(in_five(
      [] {
        return compare("one", chain_of_20000, "other", [] { return chain(20'000); },
                       {.margin = 0.02});
      },
      [](comparison const& found) { return found.is(verdict::equivalent); }));
  CHECK(in_five(
      [] { return compare("whole", chain_of_40000, "half", chain_of_20000, {.margin = 0.02}); },
      [](comparison const& found) {
        return found.is(verdict::faster) && found.effect("whole", "half").low > 0.4 &&
               found.effect("whole", "half").high < 0.6;
      }));
}

TEST_CASE("several callables are compared with the first", "[compare]") {
  auto const once = [] {
    return compare_all("two", chain_of_40000, "one", chain_of_20000, "four",
                       [] { return chain(80'000); });
  };
  CHECK(in_five(once, [](comparison const& found) {
    CHECK(found.findings.size() == 2);
    CHECK(found.variants.size() == 3);
    CHECK(found.variants[2].label == "four");
    return found.outcome("two", "one") == verdict::faster &&
           found.outcome("two", "four") == verdict::slower && found.effect("two", "four").low > 1.5;
  }));
}

TEST_CASE("a list of callables of one type is compared with its first", "[compare]") {
  std::vector<std::pair<std::string, decltype(doubling(0))>> sizes;
  for (std::size_t const wrong_at : {1000, 2000, 3000}) {
    sizes.emplace_back(std::to_string(wrong_at), doubling(wrong_at));
  }
  auto const found = compare_all(sizes, brief());
  CHECK(found.failure == "");
  CHECK(found.findings.size() == 2);
  CHECK(found.variants[2].label == "3000");

  std::vector<std::pair<std::string, std::function<void()>>> erased{{"a", do_nothing}, {"b", {}}};
  CHECK_THROWS_WITH(compare_all(erased), "\"b\" is a null callable: pass a function to time");
  erased.pop_back();
  CHECK_THROWS_AS(compare_all(erased), std::invalid_argument);
}

TEST_CASE("verdicts and clocks print as in reports", "[compare]") {
  std::ostringstream out;
  out << verdict::wrong_answer << ' ' << measure::clock::submit;
  CHECK(out.str() == "WRONG ANSWER submit");
}

TEST_CASE("a comparison of host calls is on the wall clock and says where it ran", "[compare]") {
  auto const found = compare("a", do_nothing, "b", do_nothing, brief());
  CHECK(found.failure == "");
  CHECK(found.primary == measure::clock::wall);
  CHECK(found.where.host_threads > 0);
  CHECK(found.changed == "callable");
  CHECK(found.ceilings.empty());  // no bytes were declared
  CHECK(found.epochs == 8);
  CHECK(noted(found, "callables keep their buffers in all epochs"));
}

TEST_CASE("options come last or not at all, for two callables and for more", "[compare]") {
  options chosen = brief();
  chosen.title = "mine";
  CHECK(compare_all("a", do_nothing, "b", do_nothing, "c", do_nothing, chosen).title == "mine");
  CHECK(compare_all("a", do_nothing, "b", do_nothing, chosen).title == "mine");
  CHECK(compare("a", do_nothing, "b", do_nothing, chosen).title == "mine");
  CHECK(compare(std::string{"a"}, do_nothing, std::string{"b"}, do_nothing).failure == "");
}

TEST_CASE("a callable may be a function, a lambda, a std::function or any object", "[compare]") {
  struct counting {
    std::shared_ptr<int> calls = std::make_shared<int>(0);
    void operator()() const { ++*calls; }
  };
  counting const object;
  std::function<int()> const erased = [] { return 3; };
  auto const found = compare_all(
      "function", do_nothing, "object", object, "erased", erased, "wrapped",
      host_call([](auto... none) { (void)sizeof...(none); }), "mutable",
      [n = 0]() mutable { return ++n; }, brief());
  CHECK(found.failure == "");
  CHECK(*object.calls > 8 * 4);
}

TEST_CASE("a factory is called anew for each epoch, instance and buffer set", "[compare]") {
  std::set<float const*> inputs;
  std::vector<float> first;
  int made = 0;
  auto const counted = [&](setup& make) {
    ++made;
    auto const x = make.random<float>(100);
    first.push_back(x.seeded(0));
    inputs.insert(x.data());
    return [] {};
  };
  auto const found = compare("a", counted, "b", do_nothing, brief());
  CHECK(found.failure == "");
  CHECK(made == 8 * 2 * 2);  // epochs, instances of the control, buffer sets
  CHECK(std::set<float>(first.begin(), first.end()).size() == 8);  // one seed in each epoch
  CHECK(inputs.size() > 4);

  made = 0;
  auto const as_variant = compare("b", do_nothing, "a", counted, brief());
  CHECK(as_variant.failure == "");
  CHECK(made == 8 * 2);
}

TEST_CASE("declared bytes and FLOPs are in the result, with the host's ceiling", "[compare]") {
  auto const found = compare("a", doubling(1000), "b", doubling(1000), brief());
  CHECK(found.failure == "");
  CHECK(found.variants[0].bytes == 8000);
  CHECK(found.variants[1].flops == 2000);
  REQUIRE(found.ceilings.size() == 1);
  CHECK(found.ceilings[0].per_second > 1e8);
  CHECK_FALSE(noted(found, "callables keep their buffers"));
}

TEST_CASE("a wrong result names variant, epoch and element, and is not timed", "[compare]") {
  auto const found = compare("good", doubling(1000), "bad", doubling(123), brief());
  CHECK(found.is(verdict::wrong_answer));
  CHECK_THAT(found.reason(),
             test::contains("variant \"bad\", epoch 1, before timing, buffer set ") &&
                 test::contains("element 123 of array 1 is 77, expected ") &&
                 test::contains("1 of 1000 elements is wrong"));
  CHECK(found.failure == found.reason());
  CHECK(found.cells.empty());
}

TEST_CASE("an output that is not written is found, in whichever variant", "[compare]") {
  auto const idle = [](setup& make) {
    auto const y = make.output<float>(10);
    make.expect(y, [](std::size_t) { return 1; });
    return [] {};
  };
  auto const found = compare("a", idle, "b", do_nothing, brief());
  CHECK(found.is(verdict::wrong_answer));
  CHECK_THAT(found.reason(), test::contains("variant \"a\", epoch 1") &&
                                 test::contains("element 0 of array 0 was never written"));
}

TEST_CASE("where CUDA is in use, an unwritten array on the host names the likely cause",
          "[compare]") {
  std::string const wrong = "element 0 of array 1 was never written, expected 2";
  CHECK_THAT(measure::host_error(wrong, true),
             test::contains("arrays of void() work are in host memory") &&
                 test::contains("void(cudaStream_t)"));
  CHECK(measure::host_error(wrong, false) == wrong);
  CHECK(measure::host_error("element 0 of array 1 is 3, expected 2", true) ==
        "element 0 of array 1 is 3, expected 2");
  CHECK_FALSE(measure::has_loaded_cuda());
}

TEST_CASE("an array that calls read and write is restored before each verification", "[compare]") {
  // Each call doubles: after the calls of a cell nothing would be right.
  auto const growing = [](setup& make) {
    auto const x = make.inout<float>(64, {1, 2});
    make.expect(x, [=](std::size_t i) { return 2 * x.seeded(i); });
    return [=] {
      for (std::size_t i = 0; i < x.size(); ++i) { x.data()[i] *= 2; }
    };
  };
  auto chosen = brief();
  chosen.verify = measure::verification::every_epoch;
  auto const found = compare("a", growing, "b", growing, chosen);
  CHECK(found.failure == "");
  CHECK(found.epochs == 8);
}

TEST_CASE("each call on an array of inout starts from its first content", "[compare]") {
  for (std::size_t const n : {std::size_t{1000}, std::size_t{50'000}}) {
    std::vector<int> data(n);
    for (std::size_t i = 0; i < n; ++i) { data[i] = static_cast<int>((i * 7919 + 13) % n); }
    long fresh = 0;
    long sorted = 0;
    auto const sorting = [&](setup& make) {
      auto const v = make.inout(data);
      return [&fresh, &sorted, v] {
        ++(std::is_sorted(v.data(), v.data() + v.size()) ? sorted : fresh);
        std::sort(v.data(), v.data() + v.size());
      };
    };
    auto const beside = [&](setup& make) {  // no state of its own
      auto const v = make.from(data);
      return [v] { return std::is_sorted(v.data(), v.data() + v.size()); };
    };
    for (auto const& found : {compare("a", sorting, "b", sorting, brief()),
                              compare("a", sorting, "b", beside, brief())}) {
      CHECK(found.failure == "");
    }
    CHECK(fresh > 8 * 4 * 4);
    CHECK(sorted == 0);
  }
}

TEST_CASE("a plain callable lies in another place for each buffer set and epoch", "[compare]") {
  std::set<void const*> places;
  std::set<int> counts;
  auto const found = compare(
      "a",
      [&places, &counts, calls = 0]() mutable {
        places.insert(&calls);
        counts.insert(++calls);
      },
      "b", do_nothing, brief());
  CHECK(found.failure == "");
  CHECK(places.size() > 8);
  CHECK(*counts.begin() == 1);  // a captured counter starts anew

  std::set<void const*> kept;
  auto const immovable = compare(
      "a",
      [&kept, owned = std::make_unique<int>(0)]() mutable {
        kept.insert(&owned);
        ++*owned;
      },
      "b", do_nothing, brief());
  CHECK(immovable.failure == "");
  CHECK(kept.size() == 1);
  CHECK(noted(immovable, "\"a\" cannot be copied"));
  CHECK_FALSE(noted(found, "cannot be copied"));
}

TEST_CASE("lost time is taken off all variants, or off none where calls wait", "[compare]") {
  measure::call_session of;
  CHECK_FALSE(of.waits());
  of.watched = 10;
  of.unclear = 1;  // may happen to any thread
  CHECK_FALSE(of.waits());
  of.unclear = 2;
  CHECK(of.waits());
  of.watched = 1000;
  of.unclear = 21;
  CHECK_FALSE(of.waits());
  of.unclear = 22;
  CHECK(of.waits());
}

TEST_CASE("a hidden control needs buffers that the control does not keep", "[compare]") {
  std::vector<int> x(1000), y(1000);
  auto const reading = [](std::vector<int> const& from) {
    return [&from] { return from[0] + from[999]; };
  };
  auto const factory = [&](setup& make) {
    auto const own = make.from(x);
    return [own] { return own.data()[0]; };
  };
  auto const has_control = [](auto const&... words) {
    auto const found = compare(words...);
    CHECK(found.failure == "");
    return found.hidden_control.has_value();
  };
  CHECK_FALSE(has_control("a", reading(x), "b", reading(y), brief()));
  CHECK_FALSE(has_control("a", reading(x), "b", reading(x), brief()));  // nothing shows it
  CHECK_FALSE(has_control("a", reading(x), "b", factory, brief()));
  CHECK(has_control("a", factory, "b", reading(x), brief()));
  CHECK(has_control("a", factory, "b", factory, brief()));
  auto same = brief();
  same.same_buffers = true;
  CHECK(has_control("a", reading(x), "b", reading(x), same));
  CHECK_FALSE(noted(compare("a", reading(x), "b", reading(x), same), "callables keep"));
  CHECK(noted(compare("a", factory, "b", reading(x), brief()), "effects up to 5 %"));
}

TEST_CASE("work that the compiler removed proves nothing, and kept work is timed", "[compare]") {
  auto const removed = [](int step) {
    return [step] {
      long sum = 0;
      for (int i = 0; i < 100'000; ++i) { sum += i ^ step; }
    };
  };
  auto const kept = [](int step) {
    return [step] {
      long sum = 0;
      for (int i = 0; i < 100'000; ++i) {
        sum += i ^ step;
        keep(sum);
      }
    };
  };
  auto const none = compare("a", removed(1), "b", removed(2), brief());
  CHECK(none.is(verdict::unproven));
  CHECK_THAT(none.reason(),
             test::contains("no longer than an empty call") && test::contains("assay::keep"));
  auto const some = compare("a", kept(1), "b", kept(2), brief());
  CHECK(some.reason().find("empty call") == std::string::npos);
  CHECK(some.variants[0].on(measure::clock::wall).median > 10e-6);
}

TEST_CASE("the error of a callable that throws names variant and epoch", "[compare]") {
  int calls = 0;
  auto const third = [&] {
    if (++calls == 3) { throw std::runtime_error("no more"); }
  };
  auto const found = compare("steady", do_nothing, "tired", third, brief());
  CHECK(found.is(verdict::unproven));
  CHECK_THAT(found.reason(),
             test::contains("variant \"tired\", epoch 1, ") && test::contains(": no more"));
  CHECK(calls == 3);

  auto const throwing = [](setup&) -> std::function<void()> { throw std::logic_error("no room"); };
  auto const unbuilt = compare("a", do_nothing, "b", throwing, brief());
  CHECK(unbuilt.reason() == "variant \"b\", epoch 1, building: no room");

  int epochs = 0;
  auto const later = [&epochs](setup&) {
    return [&epochs, own = ++epochs] {
      if (own > 4) { throw 42; }  // NOLINT: two buffer sets, so in the third epoch
    };
  };
  auto const unknown = compare("a", do_nothing, "b", later, brief());
  CHECK_THAT(unknown.reason(), test::contains("variant \"b\", epoch 3, ") &&
                                   test::contains("an exception of unknown type"));
}

TEST_CASE("null callables are refused, and a factory of one is named", "[compare]") {
  std::function<void()> const none;
  void (*const null)() = nullptr;
  CHECK_THROWS_AS(compare("a", do_nothing, "b", none), std::invalid_argument);
  CHECK_THROWS_WITH(compare("a", do_nothing, "b", none),
                    "\"b\" is a null callable: pass a function to time");
  CHECK_THROWS_WITH(compare("a", null, "b", do_nothing),
                    test::contains("\"a\" is a null callable"));
  CHECK_THROWS_WITH(compare("a", do_nothing, "b", std::function<std::function<void()>(setup&)>{}),
                    test::contains("\"b\" is a null callable"));
  auto const empty = [](setup&) { return std::function<void()>{}; };
  auto const found = compare("a", do_nothing, "b", empty, brief());
  CHECK(found.reason() == "variant \"b\", epoch 1, building: its factory returned a null callable");
}

TEST_CASE("invalid names and options are refused before anything is called", "[compare]") {
  int calls = 0;
  auto const counted = [&calls] { ++calls; };
  CHECK_THROWS_WITH(compare("same", counted, "same", counted),
                    "two variants are labelled \"same\"");
  CHECK_THROWS_WITH(compare("", counted, "b", counted), "a variant needs a name that is not empty");
  CHECK_THROWS_WITH(compare("a", counted, "b", counted, {.margin = -0.01}),
                    test::contains("margin is positive, not -0.01"));
  CHECK_THROWS_WITH(compare("a", counted, "b", counted, {.margin = 2}),
                    "margin is a share below 1, such as 0.02 for 2 %, not 2");
  CHECK_THROWS_WITH(compare("a", counted, "b", counted, {.clock = measure::clock::gpu}),
                    "host calls have no clock but wall");
  CHECK_THROWS_WITH(compare("a", counted, "b", counted, {.clock = measure::clock::submit}),
                    "host calls have no clock but wall");
  CHECK_THROWS_WITH(compare("a", counted, "b", counted, {.cold_cache = true}),
                    test::contains("cold_cache"));
  CHECK_THROWS_WITH(compare("a", counted, "b", counted, {.max_epochs = 3}),
                    test::contains("at most 3 epochs can prove nothing"));
  CHECK_THROWS_WITH(compare_all("a", counted, "b", counted, "a", counted),
                    test::contains("two variants are labelled \"a\""));
  CHECK(calls == 0);
}

TEST_CASE("require passes the verdicts that it allows, and throws the short report", "[compare]") {
  auto const found = compare("a", do_nothing, "b", doubling(5), brief());
  REQUIRE(found.is(verdict::wrong_answer));
  CHECK_NOTHROW(require(found, {verdict::faster, verdict::wrong_answer}));
  CHECK_THROWS_AS(require(found, {verdict::faster, verdict::equivalent}), std::runtime_error);
  CHECK_THROWS_WITH(require(found, {verdict::faster}), report::short_text(found));
  CHECK_THROWS_AS(require(found, {}), std::runtime_error);
  CHECK_NOTHROW(require(comparison{}, {}));  // nothing was asked, so nothing is wrong
}

TEST_CASE("the printed report has at most ten lines and one for each variant", "[compare]") {
  auto chosen = brief();
  chosen.title = "the title";
  for (auto const& found : {compare("first", doubling(1000), "second", doubling(1000), chosen),
                            compare("first", doubling(1000), "second", doubling(7), chosen)}) {
    std::ostringstream out;
    out << found;
    INFO(out.str());
    auto const text = out.str();
    CHECK(std::count(text.begin(), text.end(), '\n') <= 12);
    CHECK(text.find("first") != std::string::npos);
    std::ostringstream whole;
    whole << full(found);
    CHECK(whole.str().size() > text.size());
    CHECK(whole.str().find("Environment") != std::string::npos);
  }
}

TEST_CASE("a factory may name the kind of the work that it returns", "[compare]") {
  auto const generic = [](setup& make) {
    auto const y = make.output<float>(10);
    return host_call([y](auto... nothing) {
      static_assert(sizeof...(nothing) == 0);
      for (std::size_t i = 0; i < 10; ++i) { y.data()[i] = 1; }
    });
  };
  CHECK(compare("a", generic, "b", generic, brief()).failure == "");
}

TEST_CASE("a report says whether results are checked, and checks can be required", "[compare]") {
  auto const making = [](int expected) {
    return [expected](setup& make) {
      auto const y = make.output<float>(10);
      auto const z = make.inout<int>(10);
      if (expected > 0) {
        make.expect(y, [](std::size_t) { return 1; });
      }
      if (expected > 1) {
        make.expect_that(z, [](std::span<int const>) { return std::optional<std::string>{}; });
      }
      return [y] { std::fill(y.data(), y.data() + 10, 1.0F); };
    };
  };
  auto const nothing = [] {};
  auto chosen = brief();
  for (bool const required : {false, true}) {
    chosen.require_checks = required;
    auto const all = compare("a", making(2), "b", making(2), chosen);
    CHECK_THAT(report::short_text(all), test::contains("\n  results: checked\n"));
    CHECK(all.failure.empty());
    auto const part = compare("a", making(2), "b", making(1), chosen);
    CHECK_THAT(report::short_text(part),
               test::contains("\n  results: checked (a); checked in part (b)\n"));
    auto const none = compare("a", making(0), "b", making(0), chosen);
    CHECK_THAT(report::short_text(none), test::contains("\n  results: not checked\n"));
    auto const plain = compare("a", nothing, "b", nothing, chosen);
    CHECK_THAT(report::short_text(plain), test::contains("\n  results: not checked\n"));
    for (auto const* each : {&part, &none, &plain}) {
      CHECK(each->failure.empty() != required);
      if (required) { CHECK(each->is(verdict::unproven)); }
      if (required) { CHECK(each->cells.empty()); }
    }
  }
}

TEST_CASE("a report tells of samples, what they cover and what they miss", "[compare]") {
  auto const filled = [](std::size_t n) {
    return [n](setup& make) {
      auto const y = make.output<float>(matrix{n, 100});
      make.expect(y, [](std::size_t, std::size_t) { return 1; }, sampled{2402});
      return [y] { std::fill(y.data(), y.data() + y.size(), 1.0F); };
    };
  };
  auto const found = compare("a", filled(100), "b", filled(100), brief());
  REQUIRE(found.failure == "");
  // 200 ends of rows, two more, and 2200 parts of at most 5 elements: 5 log(100) are 23.03.
  CHECK(found.caveats == std::vector<std::string>{
                             "array 0 is checked by samples: a check looks at 2402 of 10000 "
                             "elements, and misses 24 wrong ones with a chance of at most 1 %"});
  CHECK_THAT(report::short_text(found), test::contains("array 0 is checked by samples"));
  CHECK(compare("a", filled(24), "b", filled(24), brief()).caveats.empty());
}

TEST_CASE("a difference below the margin is equivalent for require", "[compare]") {
  comparison found;
  found.variants.resize(2);
  measure::finding one;
  one.outcome = verdict::slower;
  one.exceeds_margin = false;
  one.weights = {-1, 1};
  found.findings = {one};
  CHECK_NOTHROW(require(found, {verdict::equivalent}));
  CHECK_THROWS(require(found, {verdict::faster}));
  for (auto const which : {verdict::wrong_answer, verdict::unproven, verdict::inconclusive}) {
    found.findings[0].outcome = which;  // decided after the sign
    CHECK_THROWS(require(found, {verdict::equivalent}));
    CHECK_NOTHROW(require(found, {which}));
  }
}

TEST_CASE("require fails for a difference that is proven to exceed the margin, and no other",
          "[compare]") {
  comparison found;
  found.variants.resize(2);
  found.margin = 0.02;
  measure::finding one;
  one.weights = {-1, 1};
  struct row {
    double low, high;
    bool proven;
  };
  for (auto const& [low, high, proven] :
       {row{1.021, 1.05, true}, row{1.019, 1.05, false}, row{1.001, 1.03, false},
        row{0.9, 0.979, true}, row{0.9, 0.9805, false}, row{0.97, 0.999, false}}) {
    INFO(low << " to " << high);
    bool const slower = low > 1;
    one.outcome = slower ? verdict::slower : verdict::faster;
    one.effect = {0.5 * (low + high), low, high};
    found.findings = {one};
    auto const other = slower ? verdict::faster : verdict::slower;
    if (proven) {
      CHECK_THROWS(require(found, {other, verdict::equivalent}));
    } else {
      CHECK_NOTHROW(require(found, {other, verdict::equivalent}));
    }
    CHECK_NOTHROW(require(found, {one.outcome}));
    CHECK_THROWS(require(found, {other}));
  }
}

TEST_CASE("an exception of an untimed launch names the variant and the step", "[compare]") {
  struct expected {
    int call;
    std::string step;
  };
  // Two verifications come first, one for each buffer set, and then the warm-up.
  for (auto const& row : {expected{1, "verifying"}, expected{2, "verifying"},
                          expected{3, "warming up"}, expected{5, "warming up"}}) {
    auto const calls = std::make_shared<int>(0);
    auto const throws = [calls, row] {
      if (++*calls == row.call) { throw std::runtime_error("no more memory"); }
    };
    auto const found = compare("good", [] {}, "bad", throws, brief());
    INFO(row.call << ": " << found.failure);
    CHECK(found.is(verdict::unproven));
    CHECK(found.reason() == "variant \"bad\", epoch 1, " + row.step + ": no more memory");
  }
}

TEST_CASE("an expectation that throws ends the comparison with its text", "[compare]") {
  auto const bad = [](setup& make) {
    auto const y = make.output<float>(100'000);
    make.expect(y, [](std::size_t i) -> double {
      if (i == 77'777) { throw std::out_of_range("no such row"); }
      return 0;
    });
    return [y] { std::fill_n(y.data(), y.size(), 0.0F); };
  };
  auto const found = compare("good", doubling(1000), "bad", bad, brief());
  CHECK(found.is(verdict::unproven));
  CHECK(found.reason() ==
        "variant \"bad\", epoch 1, verifying: setup.expect: the function of array 0 threw: no such "
        "row");
}

TEST_CASE("variants beside a wrong one are compared, whichever is wrong", "[compare]") {
  auto const timed = [](comparison const& found, char const* control, char const* variant) {
    auto const& of = found.of_pair(control, variant);
    return of.outcome != verdict::wrong_answer && !of.epoch_effects.empty();
  };
  auto const good = doubling(1000);
  auto const bad = doubling(123);
  auto const middle = compare_all("a", good, "wrong", bad, "c", good, brief());
  CHECK(middle.failure.empty());
  CHECK(middle.outcome("a", "wrong") == verdict::wrong_answer);
  CHECK(timed(middle, "a", "c"));

  auto const control = compare_all("wrong", bad, "b", good, "c", good, brief());
  CHECK(control.failure.empty());
  CHECK(control.outcome("wrong", "b") == verdict::wrong_answer);
  CHECK(control.outcome("wrong", "c") == verdict::wrong_answer);
  CHECK(timed(control, "b", "c"));
  std::ostringstream text;
  text << control;
  CHECK_THAT(text.str(), test::contains("element 123 of array 1 is 77"));
}
