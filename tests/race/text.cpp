// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a race says, the header that it writes, its JSON, and spaces of parameters.

#include "catch.hpp"
#include "folder.hpp"

#include <assay/race.hpp>
#include <assay/race/json.hpp>
#include <assay/race/judgement.hpp>
#include <assay/race/result.hpp>
#include <assay/race/space.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// A race of five: a winner, one that is not told from it, one dropped, one cut off, one wrong.
race_result example() {
  race_result made;
  for (auto const* name : {"block=64", "block=128", "block=256", "block=512", "block=1024"}) {
    made.racers.emplace_back().name = name;
    made.racers.back().guess = 1e-5;
    made.racers.back().constants = {{"block", std::stoll(made.racers.back().name.substr(6))}};
  }
  made.racers[3].out = "cut off: it takes 7 times as long as the fastest";
  made.racers[4].out = "variant \"block=1024\", epoch 1, before timing: element 3 is 7";
  double const nan = std::nan("");
  for (int i = 0; i < 12; ++i) {
    double const wave = i % 2 == 0 ? 5e-8 : -2e-8;
    made.epochs.push_back({2, {i < 6 ? 2e-5 : nan, 1e-5 + wave, 1e-5, nan, nan}});
  }
  made.where.device = "a device";
  made.where.started_at = "2026-01-02T03:04:05Z";
  made.seconds = 0.5;
  made.seed = 42;
  measure::detail::judge(made, measure::detail::replayed(made));
  return made;
}

}  // namespace

TEST_CASE("the report names the winner, the survivors, and why the others are out") {
  auto const text = report::race_text(example());
  INFO(text);
  CHECK_THAT(text, contains("WINNER: block=256: none of 5 is faster by more than 1 % "
                            "(false-alarm rate 5 %).\n"));
  CHECK_THAT(text, contains("  block=128    10.02 us    +0.15 %  ") &&
                       contains("not told from the winner\n"));
  CHECK_THAT(text,
             contains("block=64     20.00 us  +100.00 %  dropped: slower in 6 of 6 epochs\n"));
  CHECK_THAT(text, contains("block=512   cut off: it takes 7 times as long as the fastest\n"));
  CHECK_THAT(text, contains("element 3 is 7\n"));
  CHECK_THAT(text, contains("12 epochs in 500.0 ms, ") && contains("saved, on a device\n"));
  CHECK_THAT(report::race_text(example(), 2), contains("  and 3 more\n"));
}

TEST_CASE("a race that is not decided, or has no winner, says so") {
  auto open = example();
  open.epochs.resize(3);
  measure::detail::judge(open, measure::detail::replayed(open));
  CHECK_THAT(report::race_text(open), contains("UNDECIDED: ") &&
                                          contains("may be faster by more") &&
                                          contains("resume it with more time"));
  open.failure = "cancelled in epoch 3";
  CHECK_THAT(report::race_text(open), contains(": cancelled in epoch 3."));
  open.epochs.clear();
  measure::detail::judge(open, measure::detail::replayed(open));
  CHECK_THAT(report::race_text(open), contains("NO WINNER: cancelled in epoch 3."));
}

TEST_CASE("the header has the winner's constants, the device, the date and the evidence") {
  test::folder const at;
  auto const path = (at / "tuning.hpp").string();
  write_header(example(), path);
  auto const text = test::content(path);
  CHECK_THAT(text, contains("on 2026-01-02T03:04:05Z.\n") && contains("on a device, seed 42.\n"));
  CHECK_THAT(text, contains("// WINNER: block=256: none of 5"));
  CHECK_THAT(text, contains("inline constexpr char const* winner = \"block=256\";\n"
                            "inline constexpr long long block = 256;\n"));
  CHECK_THAT(text, contains("#pragma once\n\nnamespace tuning {\n"));
  write_header(example(), path, "tuning::cast");  // of two headers in one unit
  CHECK_THAT(test::content(path), contains("\nnamespace tuning::cast {\n") &&
                                      contains("\n}  // namespace tuning::cast\n"));

  auto odd = example();
  odd.racers[2].name = "a \"b\"\\\n";  // a backslash at its end would continue a comment
  odd.racers[2].texts = {{"way", "by \"tiles\""}};
  auto const escaped = report::race_header(odd);
  CHECK_THAT(escaped, contains("winner = \"a \\\"b\\\"\\\\\\012\";\n") &&
                          contains("//   a \"b\"_ : 10.00 us\n"));
  CHECK_THAT(escaped, contains("inline constexpr char const* way = \"by \\\"tiles\\\"\";\n"));
  odd.leader = -1;
  CHECK_THROWS_WITH(report::race_header(odd), contains("the race has no winner"));
}

TEST_CASE("a race goes to JSON and back without loss") {
  auto const text = report::json(example());
  auto const back = report::parse_race(text);
  CHECK(report::json(back) == text);
  CHECK(back.seed == 42);
  CHECK(back.racers[2].constants == example().racers[2].constants);
  CHECK(std::isnan(back.epochs.back().seconds[0]));
  CHECK(report::race_text(back) == report::race_text(example()));

  CHECK(text.find("texts") == std::string::npos);  // only where there are any
  auto with_texts = example();
  with_texts.racers[2].texts = {{"way", "tiles"}};
  auto const of_texts = report::parse_race(report::json(with_texts));
  CHECK(of_texts.racers[2].texts == with_texts.racers[2].texts);
  CHECK(of_texts.racers[1].texts.empty());

  CHECK_THROWS_WITH(report::parse_race("{"), contains("not a race of assay: "));
  CHECK_THROWS_WITH(report::parse_race("{\"schema_version\": 2}"), contains("race_schema_version"));
  CHECK_THROWS_WITH(report::parse_race("{\"race_schema_version\": 9}"),
                    contains("schema version 9, this program reads 1"));
  auto foreign = example();
  foreign.leader = 5;
  CHECK_THROWS_WITH(report::parse_race(report::json(foreign)),
                    contains("candidate 5, counted from"));
  auto broken = example();
  broken.epochs[4].seconds.pop_back();
  CHECK_THROWS_WITH(report::parse_race(report::json(broken)), contains("4 times for 5 candidates"));
}

TEST_CASE("a space has all allowed combinations, and names what is wrong with it") {
  auto tiles = space{{"block", {128, 256}}, {"items", {1, 2, 4}}};
  CHECK(tiles.points().size() == 6);
  CHECK(tiles.points()[1].label() == "block=128 items=2");
  tiles.where([](point const& at) { return at["block"] * at["items"] <= 512; });
  tiles.where([](point const& at) { return at["items"] != 2; });
  std::vector<std::string> labels;
  for (auto const& each : tiles.points()) { labels.push_back(each.label()); }
  CHECK(labels ==
        std::vector<std::string>{"block=128 items=1", "block=128 items=4", "block=256 items=1"});
  CHECK_THROWS_WITH(tiles.points()[0]["blok"],
                    "the space has no parameter \"blok\", only block=128 items=1");
  CHECK_THROWS_WITH((space{{"a", {1}}, {"a", {2}}}), "two parameters are named \"a\"");
  CHECK_THROWS_WITH((space{{"a", {}}}), "parameter \"a\" needs 1 value or more, not 0");
  CHECK_THROWS_WITH((space{{"", {1}}}), "a parameter needs a name");
}

TEST_CASE("a parameter has numbers or texts, in any spelling") {
  std::vector<int> const blocks{64, 128};
  CHECK(space{{"block", blocks}, {"more", std::vector<std::size_t>{1, 2}}}.points().size() == 4);
  auto const ways = space{{"way", {"slow", "fast"}}};
  REQUIRE(ways.points().size() == 2);
  CHECK(ways.points()[0].text("way") == "slow");
  CHECK(ways.points()[1].label() == "way=fast");
  CHECK(ways.points()[1].values.empty());

  std::string const name = "name";
  std::vector<std::string> const listed{"u", "v"};
  std::vector<long long> const numbers{7, 8};
  auto const all = space{{"zero", {0}},
                         {"flags", {0, 1}},
                         {"one", {"text"}},
                         {"mixed", {"literal", name}},
                         {"views", {std::string_view{"a"}, std::string_view{"b"}}},
                         {"listed", listed},
                         {"numbers", numbers},
                         parameter{"old", {5}},
                         parameter{"older", {"w"}}};
  auto const points = all.points();
  REQUIRE(points.size() == 32);
  CHECK(points.back().label() ==
        "zero=0 flags=1 numbers=8 old=5 one=text mixed=name views=b listed=v older=w");
  CHECK(points[1]["numbers"] == 8);  // the last parameter with several values changes fastest
  CHECK(points[1].text("listed") == "u");
  CHECK(points[2].text("listed") == "v");
  CHECK_THROWS_WITH(points[0]["one"], "parameter \"one\" has texts: read it by text(\"one\")");
  CHECK_THROWS_WITH(points[0].text("old"), "parameter \"old\" has numbers: read it by [\"old\"]");
  CHECK_THROWS_WITH(points[0].text("none"), contains("the space has no parameter \"none\""));
  CHECK(space{std::vector<parameter<>>{{"a", {1, 2}}}}.points().size() == 2);
  CHECK_THROWS_WITH((space{{"a", std::vector<std::string>{}}}),
                    "parameter \"a\" needs 1 value or more, not 0");
}
