// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/dispatch/engine.hpp>

#include <atomic>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;
using test::saxpy;

namespace {

struct other_task : saxpy {
  static constexpr std::string_view name = "other";
};
struct bad_counts : saxpy {
  dispatch::work work() const { return {.size = x.size(), .bytes = NAN}; }
};
struct of_library : saxpy {
  static constexpr std::string_view library() { return "OpenBLAS 0.3.21"; }
};
/// A chooser of a user that asks nobody.
struct second_path {
  static constexpr std::string_view name = "second_path";
  bool operator==(second_path const&) const = default;
  auto bound(dispatch::costs const&) const {
    return [](dispatch::facts const&) noexcept { return std::size_t{1}; };
  }
};
struct failing : saxpy {
  void run(on::host, float const*, float*) const { throw std::runtime_error("no luck"); }
};

dispatch::costs saxpy_costs() {  // host{2} instead of 4: tests run on few cores
  auto all = test::saxpy_measurements();
  all.paths[1].where = on::host{2};
  return dispatch::costs{all};
}

}  // namespace

TEST_CASE("an engine runs each call on the path that its chooser picks", "[dispatch]") {
  dispatch::engine const run{saxpy_costs()};
  for (std::size_t const size : {0U, 1U, 997U, 100'003U}) {
    std::vector<float> const x(size, 3.0F);
    std::vector<float> y(size, 1.0F);
    run(saxpy{2.0F, x, y});
    CHECK(y == std::vector<float>(size, 7.0F));
    CHECK(run.last().where() == dispatch::path{on::host{size > 10'000 ? 2 : 1}});
  }
  std::ostringstream text;
  text << run.last();
  CHECK(text.str() == "host{2}: 32 us [32, 32]; host{1} 100 us [99, 101]");

  std::vector<float> const x(std::size_t{1} << 22, 3.0F);
  std::vector<float> y(x.size());
  run(saxpy{2.0F, x, y});
  CHECK_THAT(run.last().describe(), contains("(outside the calibrated sizes)"));

  dispatch::engine const forced{saxpy_costs(), dispatch::choose::always{on::host{1}}};
  forced(saxpy{2.0F, x, y});
  CHECK(forced.last().where() == dispatch::path{on::host{1}});
  CHECK(forced.last().describe().ends_with(" (by choose::always{host{1}})"));
}

TEST_CASE("what an engine cannot run is refused in a line", "[dispatch]") {
  dispatch::engine const run{saxpy_costs()};
  std::vector<float> const x(5, 3.0F);
  std::vector<float> y(5);
  CHECK(message_of([&] { run(other_task{{1.0F, x, y}}); }) ==
        "unknown task other: this engine has the costs of saxpy");
  CHECK(message_of([&] { run(of_library{{1.0F, x, y}}); }) ==
        "the costs of saxpy are of '', and this program has 'OpenBLAS 0.3.21': calibrate again");
  auto with_library = test::saxpy_measurements();
  with_library.library = "OpenBLAS 0.3.21";
  dispatch::engine const with{dispatch::costs{with_library}};
  CHECK_NOTHROW(with(of_library{{1.0F, x, y}}));
  CHECK_THAT(message_of([&] { run(bad_counts{{1.0F, x, y}}); }), contains("bytes = nan"));
  CHECK(message_of([&] { run(failing{{1.0F, x, y}}); }) == "no luck");
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double) { return 1e-5; }));
  CHECK_THAT(message_of([&] { dispatch::engine{dispatch::costs{all}}; }),
             contains("have the path device{0}, and this engine runs host paths"));
  CHECK_THAT(
      message_of([&] { dispatch::engine{saxpy_costs(), dispatch::choose::always{on::host{4}}}; }),
      contains("no path host{4}: there are host{1}, host{2}"));
}

TEST_CASE("a path with wrong results is never run, whatever chooses it", "[dispatch]") {
  auto all = test::saxpy_measurements();
  all.paths[1] = {.where = on::host{2}, .wrong = "element 3"};
  dispatch::engine const run{dispatch::costs{all}, second_path{}};
  std::vector<float> const x(5, 3.0F);
  std::vector<float> y(5);
  CHECK(message_of([&] { run(saxpy{1.0F, x, y}); }) ==
        "host{2} computes wrong results for saxpy, choose another path: element 3");
  CHECK(y == std::vector<float>(5));
}

TEST_CASE("a decision says what copies take, of which memory, and where to", "[dispatch]") {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 1e-5 + 1e-11 * n; }));
  all.links = {{memory_type::pageable, 1e-5, 1e-10, 1e-10},
               {memory_type::page_locked, 5e-6, 2e-11, 2e-11}};
  dispatch::costs const of{all};
  auto known = dispatch::facts_of_size(100'000);
  known.count = 2;
  known.arrays[0] = {.bytes = 4e5, .way = dispatch::direction::in};
  known.arrays[1] = {.bytes = 4e5, .way = dispatch::direction::inout};
  auto const said = [&] {
    dispatch::decision made{.chosen = of.best(known), .predictions = {}};
    for (std::size_t i = 0; i < 3; ++i) { made.predictions.push_back(of.predict(i, known)); }
    return made.describe();
  };
  // docs: decision
  CHECK(said() ==
        "host{4}: 32 us [32, 32]; host{1} 100 us [99, 101]; device{0} 161 us [161, 161], "
        "of it 100 us to the device (pageable) and 50 us to the host (pageable)");
  // docs: end
  known.arrays[0].memory = memory_type::page_locked;
  CHECK_THAT(said(), contains(" to the device (mixed) and 50 us to the host (pageable)"));
}

TEST_CASE("the last decision is one of the calling thread and of this engine", "[dispatch]") {
  dispatch::engine const first{saxpy_costs()};
  dispatch::engine const second{saxpy_costs()};
  std::vector<float> const x(5, 3.0F);
  std::vector<float> y(5);
  std::string const none = "last(): this thread's latest call was not of this engine";
  CHECK(message_of([&] { first.last(); }) == none);
  first(saxpy{1.0F, x, y});
  CHECK(first.last().predictions.size() == 2);
  CHECK(message_of([&] { second.last(); }) == none);
  dispatch::engine const other{saxpy_costs(), dispatch::choose::always{on::host{1}}};
  other(saxpy{1.0F, x, y});  // of another type
  CHECK(message_of([&] { first.last(); }) == none);
  first(saxpy{1.0F, x, y});
  std::thread{[&] { CHECK(message_of([&] { first.last(); }) == none); }}.join();
}

TEST_CASE("16 threads call one engine at the same time", "[dispatch]") {
  dispatch::engine const run{saxpy_costs()};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 16; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 20; ++i) {
        auto const size = static_cast<std::size_t>(caller % 2 == 0 ? 100 + i : 40'000 + i);
        std::vector<float> const x(size, 3.0F);
        std::vector<float> y(size, 1.0F);
        run(saxpy{2.0F, x, y});
        bool const right = y == std::vector<float>(size, 7.0F) &&
                           run.last().where() == dispatch::path{on::host{1 + caller % 2}};
        wrong += right ? 0 : 1;
      }
    });
  }
  for (auto& each : callers) { each.join(); }
  CHECK(wrong == 0);
}
