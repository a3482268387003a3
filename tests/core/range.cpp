// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
#include <assay/core/range.hpp>
#include <assay/trace/ranges.hpp>

#include "catch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
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
  auto const before = realtime_ns();
  auto const made = trace::record_ranges([] {
    range const outer{"outer", category::transfer, 4096};
    std::string const gone_soon = std::string(100, 'x') + "inner";
    auto inner = std::make_unique<range>(gone_soon.c_str(), category::gpu);
  });
  auto const after = realtime_ns();
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
  // The counter's times are off the clock's by some 20 ns.
  constexpr std::int64_t counter_error = 500;
  CHECK(outer.when.begin >= -counter_error);
  CHECK(outer.when.begin <= inner.when.begin);
  CHECK(inner.when.begin < inner.when.end);
  CHECK(inner.when.end <= outer.when.end);
  CHECK(outer.when.end <= made.window.end + counter_error);
  CHECK(made.epoch_ns + made.window.end <= after);
  CHECK(made.lost == trace::losses{});
  CHECK(made.notes.empty());
}

TEST_CASE(
    "Ranges open when a recording begins or ends are counted, and ends find their beginning") {
  std::optional<range> before;
  std::optional<range> across;
  before.emplace("before");
  auto const first = trace::record_ranges([&] {
    { range const whole{"whole"}; }
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
  auto const second = trace::record_ranges([&] {
    { range const whole{"again"}; }
    across.reset();
  });
  REQUIRE(second.ranges.size() == 1);
  CHECK(second.ranges[0].ended);
  CHECK(note(second, "ranges open when the recording began, left out") == "1");
}

TEST_CASE("Nothing is noted between recordings; two at once are refused") {
  auto const made = trace::record_ranges([] {});
  { range const unseen{"unseen"}; }
  CHECK(made.ranges.empty());
  auto const next = trace::record_ranges(
      [] { CHECK_THROWS_WITH(range_log::start(), assay::test::contains("already")); });
  CHECK(next.ranges.empty());
  CHECK_THROWS_AS(trace::record_ranges([] { throw std::runtime_error("stop"); }),
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
  auto const made = trace::record_ranges([&] {
    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        ids[static_cast<std::size_t>(t)] = static_cast<std::uint32_t>(::gettid());
        auto& mine = expected[static_cast<std::size_t>(t)];
        std::mt19937_64 random{seed + static_cast<std::uint64_t>(t)};
        auto const nest = [&](auto const& self, int depth) -> void {
          std::string const name(random() % 60, static_cast<char>('a' + random() % 26));
          mine.emplace_back(name, depth);
          range const here{name.c_str(), category::cpu, static_cast<std::uint64_t>(depth)};
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
  constexpr std::size_t room = 3 * sizeof(detail::range_chunk);
  constexpr std::uint64_t total = 20'000;
  auto const made = trace::record_ranges(
      [] {
        range const outermost{"outermost"};
        for (std::uint64_t i = 0; i < total; i += 2) {
          range const outer{"outer"};
          range const inner{"inner"};
        }
      },
      room);
  CHECK(made.lost.dropped > 0);
  CHECK(made.ranges.size() + made.lost.dropped == total + 1);
  CHECK(made.ranges.size() > 2000);  // three chunks hold them
  CHECK(std::all_of(made.ranges.begin(), made.ranges.end(),
                    [](auto const& row) { return row.ended; }));
  CHECK(note(made, "ranges open when the recording began, left out").empty());
  CHECK(note(made, "ranges dropped, since their memory was full") ==
        std::to_string(made.lost.dropped));
}

TEST_CASE("Stamps lie between reads of the clock around them, by the counter and by the clock") {
  for (auto const by : {range_log::stamps::fastest, range_log::stamps::clock}) {
    std::vector<std::int64_t> before;
    std::vector<std::int64_t> after;
    range_log::start(std::size_t{64} << 20U, by);
    for (int i = 0; i < (assay::test::small() ? 100 : 3000); ++i) {
      before.push_back(realtime_ns());
      { range const here{"here"}; }
      after.push_back(realtime_ns());
      // Longer than anchors are apart, too.
      if (i % 500 == 0) { std::this_thread::sleep_for(std::chrono::milliseconds{2}); }
    }
    auto const recorded = range_log::stop();
    REQUIRE(recorded.threads.size() == 1);
    std::vector<range_event> events;
    recorded.threads[0].each([&](range_event const& event) { events.push_back(event); });
    REQUIRE(events.size() == 2 * before.size());
    std::int64_t worst = 0;
    std::int64_t last = 0;
    bool ordered = true;
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto const& begin = events[2 * i];
      auto const& end = events[2 * i + 1];
      CHECK(begin.what == range_event::kind::push);
      CHECK(begin.name == "here");
      CHECK(end.what == range_event::kind::pop);
      worst = std::max({worst, before[i] - begin.at, end.at - after[i]});
      ordered = ordered && last <= begin.at && begin.at <= end.at;
      last = end.at;
    }
    INFO("outside by " << worst << " ns");
    CHECK(worst <= (by == range_log::stamps::clock ? 0 : 200));
    CHECK(ordered);
  }
}

TEST_CASE("Ranges one behind the other do not overlap") {
  auto const made = trace::record_ranges([] {
    for (int i = 0; i < (assay::test::small() ? 1000 : 100'000); ++i) { range const here{"here"}; }
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
  auto const made = trace::record_ranges([&] {
    for (auto const& name : names) { range const here{name.c_str(), category::measurement, 77}; }
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

TEST_CASE("Ticks become times by the anchors among them; one read too early is put in order") {
  auto const chunk = std::make_shared<assay::detail::range_chunk>();
  std::size_t used = 0;
  auto const add = [&](range_event::kind what, std::int64_t ticks, std::int64_t anchored_at = 0) {
    assay::detail::event_head const head{ticks, 1, 0, what};
    std::memcpy(chunk->bytes.data() + used, &head, sizeof head);
    used += sizeof head;
    if (what == assay::detail::anchor_event) {
      std::memcpy(chunk->bytes.data() + used, &anchored_at, sizeof anchored_at);
      used += sizeof anchored_at;
    } else if (what == range_event::kind::push) {
      assay::detail::write_body(chunk->bytes.data() + used, {.name = {}});
      used += sizeof(assay::detail::event_body);
    }
  };
  add(range_event::kind::push, 1'000'000);
  add(assay::detail::anchor_event, 1'000'100, 5'000'000);
  add(range_event::kind::pop, 1'000'300);
  add(range_event::kind::push, 1'000'290);
  add(range_event::kind::pop, 1'000'500);
  range_recording::thread_events thread;
  thread.ns_per_tick = 0.5;
  thread.chunks.emplace_back(chunk, used);
  std::vector<std::int64_t> times;
  thread.each([&](range_event const& event) { times.push_back(event.at); });
  CHECK(times == std::vector<std::int64_t>{4'999'950, 5'000'100, 5'000'100, 5'000'200});

  thread.ns_per_tick = 0;  // nanoseconds already
  times.clear();
  thread.each([&](range_event const& event) { times.push_back(event.at); });
  CHECK(times == std::vector<std::int64_t>{1'000'000, 1'000'300, 1'000'290, 1'000'500});
}

TEST_CASE("Starts and ends match by their id across threads; marks are moments") {
  auto const made = trace::record_ranges([] {
    range_log::begin({.what = range_event::kind::start, .id = 7, .name = "long one"});
    range_log::begin({.what = range_event::kind::start, .id = 8, .name = "never ended"});
    range_log::begin({.what = range_event::kind::mark, .name = "here"});
    std::thread{[] {
      range_log::end(0, 7);
      range_log::end(0, 99);  // of a start before the recording
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
        range const outer{"outer"};
        range const inner{"inner"};
      }
    });
  }
  int const rounds = assay::test::small() ? 20 : 200;
  for (int i = 0; i < rounds; ++i) {
    auto const made = trace::record_ranges([] { std::this_thread::yield(); }, 1U << 20U);
    std::map<std::uint32_t, std::size_t> open;
    bool sane = true;
    for (auto const& row : made.ranges) {
      auto const name = name_of(made, row);
      sane = sane && (name == "outer" || name == "inner") && row.when.begin <= row.when.end;
      if (!row.ended) { ++open[row.thread.thread]; }
    }
    for (auto const& [thread, count] : open) { sane = sane && count <= 2; }
    REQUIRE(sane);
    std::thread{[] { range const brief{"brief"}; }}.join();  // threads come and go as well
  }
  done = true;
  for (auto& each : crew) { each.join(); }
}

namespace {
struct ends_with_thread {
  std::optional<range> held;
};
}  // namespace

TEST_CASE("A range in a destructor of a thread-local object does no harm") {
  auto const made = trace::record_ranges([] {
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
