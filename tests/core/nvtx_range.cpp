// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
#include <assay/core/nvtx_range.hpp>
#include <assay/trace/ranges.hpp>

#include "catch.hpp"
#include "record_ranges.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using trace::model;

namespace {

std::string name_of(model const& in, trace::range_record const& row) {
  return std::string{in.strings[row.name]};
}
std::string note(model const& in, std::string const& what) {
  for (auto const& [key, value] : in.notes) {
    if (key == what) { return value; }
  }
  return {};
}

}  // namespace

TEST_CASE("A range is recorded with its name, colour, payload, thread and times") {
  auto const before = system_clock_ns();
  auto const made = test::record_ranges([] {
    nvtx_range const outer{"outer", category::transfer, 4096};
    std::string const gone_soon = std::string(100, 'x') + "inner";
    auto inner = std::make_unique<nvtx_range>(gone_soon.c_str(), category::gpu);
  });
  auto const after = system_clock_ns();
  REQUIRE(made.ranges.size() == 2);
  auto const& outer = made.ranges[0];
  auto const& inner = made.ranges[1];
  CHECK(name_of(made, outer) == "outer");
  CHECK(name_of(made, inner) == std::string(100, 'x') + "inner");
  CHECK(made.strings[outer.domain] == "assay");
  CHECK(outer.category == static_cast<std::uint32_t>(category::transfer));
  CHECK(outer.argb == colour(category::transfer));
  CHECK(outer.payload == 4096);
  CHECK(outer.ended);
  CHECK(outer.thread.thread == static_cast<std::uint32_t>(::gettid()));
  CHECK(outer.thread.process == static_cast<std::uint32_t>(::getpid()));
  CHECK(made.epoch_ns >= before);
  CHECK(outer.when.begin >= 0);
  CHECK(outer.when.begin <= inner.when.begin);
  CHECK(inner.when.begin < inner.when.end);
  CHECK(inner.when.end <= outer.when.end);
  CHECK(outer.when.end <= made.window.end);
  CHECK(made.epoch_ns + made.window.end <= after);
  CHECK(made.lost == trace::losses{});
  CHECK(made.notes.empty());
}

TEST_CASE(
    "Ranges open when a recording begins or ends are counted, and ends find their beginning") {
  std::optional<nvtx_range> before;
  std::optional<nvtx_range> across;
  before.emplace("before");
  auto const first = test::record_ranges([&] {
    { nvtx_range const whole{"whole"}; }
    before.reset();
    across.emplace("across");
  });
  REQUIRE(first.ranges.size() == 2);
  CHECK(name_of(first, first.ranges[0]) == "whole");
  CHECK(name_of(first, first.ranges[1]) == "across");
  CHECK(first.ranges[0].ended);
  CHECK_FALSE(first.ranges[1].ended);
  CHECK(first.ranges[1].when.end == first.window.end);
  CHECK(note(first, "ranges open when the recording began, left out") == "1");
  CHECK(note(first, "ranges open when the recording ended") == "1");

  // The end of `across` belongs to nothing in the second recording.
  auto const second = test::record_ranges([&] {
    { nvtx_range const whole{"again"}; }
    across.reset();
  });
  REQUIRE(second.ranges.size() == 1);
  CHECK(second.ranges[0].ended);
  CHECK(note(second, "ranges open when the recording began, left out") == "1");
}

TEST_CASE("Nothing is noted between recordings; two at once are refused") {
  auto const made = test::record_ranges([] {});
  { nvtx_range const unseen{"unseen"}; }
  CHECK(made.ranges.empty());
  auto const next = test::record_ranges(
      [] { CHECK_THROWS_WITH(range_log::start(), assay::test::contains("already")); });
  CHECK(next.ranges.empty());
  CHECK_THROWS_AS(test::record_ranges([] { throw std::runtime_error("stop"); }),
                  std::runtime_error);
  CHECK_FALSE(range_log::on());
}

TEST_CASE("Random nests on several threads, through many chunks, come back exactly") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  constexpr int threads = 6;
  int const rounds = assay::test::small() ? 200 : 2000;
  std::vector<std::vector<std::pair<std::string, int>>> expected(threads);  // name, depth
  std::vector<std::uint32_t> ids(threads);
  auto const made = test::record_ranges([&] {
    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        ids[static_cast<std::size_t>(t)] = static_cast<std::uint32_t>(::gettid());
        auto& mine = expected[static_cast<std::size_t>(t)];
        std::mt19937_64 random{seed + static_cast<std::uint64_t>(t)};
        auto const nest = [&](auto const& self, int depth) -> void {
          std::string const name(random() % 60, static_cast<char>('a' + random() % 26));
          mine.emplace_back(name, depth);
          nvtx_range const here{name.c_str(), category::cpu, static_cast<std::uint64_t>(depth)};
          for (auto more = random() % 3; more > 0 && depth < 12; --more) { self(self, depth + 1); }
        };
        for (int i = 0; i < rounds; ++i) { nest(nest, 0); }
      });
    }
    for (auto& each : crew) { each.join(); }
  });
  CHECK(made.lost.dropped == 0);
  for (std::size_t t = 0; t < threads; ++t) {
    std::vector<trace::range_record> rows;
    for (auto const& row : made.ranges) {
      if (row.thread.thread == ids[t]) { rows.push_back(row); }
    }
    REQUIRE(rows.size() == expected[t].size());
    std::vector<std::int64_t> ends;
    bool same = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const depth = static_cast<std::size_t>(rows[i].payload);
      same = same && rows[i].ended && name_of(made, rows[i]) == expected[t][i].first &&
             static_cast<int>(depth) == expected[t][i].second;
      // Each lies in the one that is open one level up.
      ends.resize(depth);
      if (depth > 0) { same = same && rows[i].when.end <= ends.back(); }
      ends.push_back(rows[i].when.end);
    }
    CHECK(same);
  }
}

TEST_CASE("A full recording drops whole ranges, counts them, and keeps the ends of the others") {
  // A range and the bytes of its name, which has 5 letters.
  constexpr std::size_t fit = 3000;
  constexpr std::size_t room = fit * (sizeof(recorded_range) + 5) + 4;  // 4: the outermost's
  constexpr std::uint64_t total = 20'000;
  auto const made = test::record_ranges(
      [] {
        nvtx_range const outermost{"outermost"};
        for (std::uint64_t i = 0; i < total; i += 2) {
          nvtx_range const outer{"outer"};
          nvtx_range const inner{"inner"};
        }
      },
      room);
  CHECK(made.lost.dropped > 0);
  CHECK(made.ranges.size() + made.lost.dropped == total + 1);
  CHECK(made.ranges.size() == fit);
  CHECK(std::all_of(made.ranges.begin(), made.ranges.end(),
                    [](auto const& row) { return row.ended; }));
  CHECK(note(made, "ranges open when the recording began, left out").empty());
  CHECK(note(made, "ranges dropped, since their memory was full") ==
        std::to_string(made.lost.dropped));
}

TEST_CASE("Stamps lie between reads of the clock around them") {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  range_log::start(std::size_t{64} << 20U);
  for (int i = 0; i < (assay::test::small() ? 100 : 3000); ++i) {
    before.push_back(system_clock_ns());
    { nvtx_range const here{"here"}; }
    after.push_back(system_clock_ns());
  }
  auto const recorded = range_log::stop();
  REQUIRE(recorded.threads.size() == 1);
  auto const& ranges = recorded.threads[0].ranges;
  REQUIRE(ranges.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    REQUIRE(ranges[i].name == "here");
    REQUIRE(before[i] <= ranges[i].begin);
    REQUIRE(ranges[i].begin <= ranges[i].end);
    REQUIRE(ranges[i].end <= after[i]);
  }
}

TEST_CASE("Ranges that a full log dropped take their own ends with them, domain by domain") {
  auto const other = range_log::domain("another domain");
  auto const made = test::record_ranges(
      [&] {
        range_log::begin({.domain = other, .name = "kept"});
        while (range_log::begin({.name = "fills"})) { range_log::pop(0); }
        range_log::begin({.domain = other, .name = "dropped too"});
        range_log::pop(other);  // of the second, which was dropped
        range_log::pop(other);  // of the first
        range_log::pop(0);      // of the one that was refused
      },
      std::size_t{4} << 10U);
  CHECK(made.lost.dropped == 2);
  CHECK(std::all_of(made.ranges.begin(), made.ranges.end(),
                    [](auto const& row) { return row.ended; }));
  CHECK(note(made, "ranges open when the recording began, left out").empty());
}

TEST_CASE("Ranges one behind the other do not overlap") {
  auto const made = test::record_ranges([] {
    for (int i = 0; i < (assay::test::small() ? 1000 : 100'000); ++i) {
      nvtx_range const here{"here"};
    }
  });
  std::int64_t last = 0;
  std::size_t overlaps = 0;
  for (auto const& row : made.ranges) {
    overlaps += row.when.begin < last || row.when.end < row.when.begin ? 1 : 0;
    last = row.when.end;
  }
  CHECK(overlaps == 0);
}

TEST_CASE("Names of every length come back, and nothing beside them is touched") {
  std::vector<std::string> names;
  for (std::size_t length = 0; length < 100; ++length) {
    std::string name;
    for (std::size_t i = 0; i < length; ++i) {
      name.push_back(static_cast<char>('!' + (i * 7 + length) % 90));
    }
    names.push_back(name);
  }
  auto const made = test::record_ranges([&] {
    for (auto const& name : names) {
      nvtx_range const here{name.c_str(), category::measurement, 77};
    }
  });
  REQUIRE(made.ranges.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto const& row = made.ranges[i];
    CHECK(name_of(made, row) == names[i]);
    CHECK(row.argb == colour(category::measurement));
    CHECK(row.category == static_cast<std::uint32_t>(category::measurement));
    CHECK(row.payload == 77);
    CHECK(row.ended);
  }
}

TEST_CASE("Starts and ends match by their id across threads; marks are moments") {
  auto const made = test::record_ranges([] {
    range_log::begin({.what = recorded_range::kind::start_end, .id = 7, .name = "long one"});
    range_log::begin({.what = recorded_range::kind::start_end, .id = 8, .name = "never ended"});
    range_log::begin({.what = recorded_range::kind::mark, .name = "here"});
    std::thread{[] {
      range_log::end(7);
      range_log::end(99);  // of a start before the recording
    }}.join();
  });
  REQUIRE(made.ranges.size() == 3);
  for (auto const& row : made.ranges) {
    auto const name = name_of(made, row);
    CHECK(row.domain == 0);
    CHECK(row.ended == (name != "never ended"));
    CHECK((row.style == trace::range_style::mark) == (name == "here"));
    if (name == "long one") {
      CHECK(row.end_thread != row.thread);
      CHECK(row.when.length() > 0);
    }
    if (name == "here") { CHECK(row.when.length() == 0); }
  }
  CHECK(note(made, "ranges open when the recording began, left out") == "1");
}

TEST_CASE("Recordings begin and end while threads open and close ranges") {
  std::atomic<bool> done{false};
  std::vector<std::thread> crew;
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&] {
      while (!done) {
        nvtx_range const outer{"outer"};
        nvtx_range const inner{"inner"};
      }
    });
  }
  int const rounds = assay::test::small() ? 20 : 200;
  for (int i = 0; i < rounds; ++i) {
    auto const made = test::record_ranges([] { std::this_thread::yield(); }, 1U << 20U);
    std::map<std::uint32_t, std::size_t> open;
    bool sane = true;
    for (auto const& row : made.ranges) {
      auto const name = name_of(made, row);
      sane = sane && (name == "outer" || name == "inner") && row.when.begin <= row.when.end;
      if (!row.ended) { ++open[row.thread.thread]; }
    }
    for (auto const& [thread, count] : open) { sane = sane && count <= 2; }
    REQUIRE(sane);
    std::thread{[] { nvtx_range const brief{"brief"}; }}.join();  // threads come and go as well
  }
  done = true;
  for (auto& each : crew) { each.join(); }
}

namespace {
struct ends_with_thread {
  std::optional<nvtx_range> held;
};
}  // namespace

TEST_CASE("A range in a destructor of a thread-local object does no harm") {
  auto const made = test::record_ranges([] {
    std::thread{[] {
      // Made before the log meets this thread, so destroyed after the log has left it.
      thread_local ends_with_thread last;
      last.held.emplace("until the thread ends");
    }}.join();
  });
  REQUIRE(made.ranges.size() == 1);
  CHECK_FALSE(made.ranges[0].ended);
  CHECK(note(made, "ranges open when the recording began, left out").empty());
}
