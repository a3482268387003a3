// SPDX-License-Identifier: Apache-2.0
/// @file
/// Headers of races compile, whatever parameters, candidates and devices are called.

#include "catch.hpp"
#include "folder.hpp"

#include <assay/race.hpp>
#include <assay/race/judgement.hpp>
#include <assay/race/names.hpp>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// Names that no constant can have, or that are one by accident.
std::vector<std::string> const odd_names{"class",
                                         "winner",
                                         "and",
                                         "typeof",
                                         "linux",
                                         "a b",
                                         "a-b",
                                         "2 wide",
                                         "a\nb",
                                         "a\r",
                                         "path\\",
                                         "gr\xC3\xB6\xC3\x9F"
                                         "e",
                                         "__x",
                                         "x__y",
                                         "_X",
                                         "\xFF",
                                         "a\?\?/",
                                         "a;",
                                         "\t",
                                         "*/",
                                         "int x = 0; //"};

/// Texts that could end a literal, continue a comment, or turn a line around.
std::vector<std::string> const odd_texts{"plain",
                                         "",
                                         "\"",
                                         "\\",
                                         "a\\\n",
                                         "line\nint x = 0;",
                                         "\r",
                                         "\?\?/",
                                         "\?\?/\n",
                                         "\"; int y; //",
                                         "gr\xC3\xB6\xC3\x9F"
                                         "e 1",
                                         "\xFF\xFE",
                                         "\xE2\x80\xAE reversed",
                                         "\xE2\x81\xA6",
                                         "\xE2\x80",
                                         "*/ /*",
                                         "%s %d",
                                         "\x7F"
                                         "1",
                                         "R\"(",
                                         "\\u12",
                                         "\\",
                                         std::string{"a\0b", 3}};

/// A race of two that ended, with these names.
race_result race_of(std::string const& name, measure::constants of = {},
                    measure::constant_texts texts = {}) {
  race_result made;
  for (auto const* const end : {"", "'"}) {
    made.racers.emplace_back().name = name + end;
    made.racers.back().guess = 1e-5;
    made.racers.back().constants = of;
    made.racers.back().texts = texts;
  }
  for (int i = 0; i < 8; ++i) { made.epochs.push_back({2, {1e-5, 1.001e-5}}); }
  made.where.device = name;
  made.where.started_at = name;
  measure::detail::judge(made, measure::detail::replayed(made));
  return made;
}

/// True if a compiler accepts this header twice, and a program that holds its constants against
/// `checks`. All warnings are errors.
bool compiles(std::vector<std::string> const& headers, std::string const& checks = {}) {
  test::folder const at;
  std::ofstream program{at / "program.cpp"};
  for (std::size_t i = 0; i < headers.size(); ++i) {
    auto const name = "header" + std::to_string(i) + ".hpp";
    std::ofstream{at / name, std::ios::binary} << headers[i];
    program << "#include \"" << name << "\"\n";
  }
  program << "#include <string_view>\nint main() { " << checks << " }\n";
  program.close();
  auto const command = "c++ -std=c++20 -Wall -Wextra -Werror -pedantic -trigraphs -fsyntax-only '" +
                       (at / "program.cpp").string() + "'";
  bool const accepted = std::system(command.c_str()) == 0;

  return accepted;
}

}  // namespace

TEST_CASE("names that no constant can have are refused before anything runs, with a remedy") {
  int calls = 0;
  auto const made = [&](point const&) {
    ++calls;
    return [&calls] { ++calls; };
  };
  for (auto const& name : odd_names) {
    INFO(measure::detail::literal(name));
    auto const shown = measure::detail::one_line(name);
    auto const of_space = test::message_of([&] { (void)race(space{{name, {1, 2}}}, made); });
    CHECK_THAT(of_space, contains("parameter \"" + shown + "\" is ") && contains(": name it "));
    CHECK(of_space.find_first_of("\r\n\t") == std::string::npos);
    auto const remedy = of_space.substr(of_space.rfind(' ') + 1);
    CHECK(measure::detail::not_a_constant(remedy) == "");
    auto const of_texts = test::message_of([&] { (void)race(space{{name, {"a", "b"}}}, made); });
    CHECK(of_texts == of_space);
    auto const of_candidate = test::message_of(
        [&] { (void)race({{"a", [&] { ++calls; }}, {"b", [&] { ++calls; }, {{name, 1}}}}); });
    CHECK(of_candidate == of_space);
    auto const of_header =
        test::message_of([&] { (void)report::race_header(race_of("a", {{name, 1}})); });
    CHECK(of_header == of_space);
  }
  CHECK(calls == 0);
  CHECK(test::message_of([&] { (void)race(space{{"a b", {1}}, {"a-b", {2, 3}}}, made); }) ==
        "the name of parameter \"a b\" is no identifier of C++, and write_header makes a constant "
        "of it: name it a_b");
  CHECK(test::message_of([&] { (void)race({{"a", [] {}}, {"b", [] {}, {{"n", 1}, {"n", 2}}}}); }) ==
        "two parameters are named \"n\"");
}

TEST_CASE("headers with all other names and any texts compile, and say what was found") {
  std::vector<std::string> headers;
  std::string checks;
  for (std::size_t i = 0; i < odd_texts.size(); ++i) {
    auto const& text = odd_texts[i];
    auto const in = "tuning::n" + std::to_string(i);
    headers.push_back(report::race_header(
        race_of(text, {{"x", static_cast<long long>(i)}}, {{"text", text}}), in));
    checks += "static_assert(" + in + "::x == " + std::to_string(i) + ");\n";
    checks += "static_assert(" + in + "::winner[" + std::to_string(text.size()) + "] == 0);\n";
    for (std::size_t k = 0; k < text.size(); ++k) {
      auto const code = std::to_string(static_cast<int>(static_cast<unsigned char>(text[k])));
      for (auto const* const name : {"winner", "text"}) {
        checks += "static_assert(static_cast<unsigned char>(" + in + "::" + name + "[" +
                  std::to_string(k) + "]) == " + code + ");\n";
      }
    }
  }
  CHECK(compiles(headers, checks));

  auto undecided = race_of("a\\");
  undecided.epochs.resize(2);
  measure::detail::judge(undecided, measure::detail::replayed(undecided));
  undecided.failure = "two lines\n#error of a failure";
  for (int i = 0; i < 198; ++i) { undecided.failure += i < 99 ? " \?\?/" : " \\"; }  // at line ends
  auto const least = std::numeric_limits<long long>::min();
  CHECK(compiles(
      {report::race_header(undecided),
       report::race_header(
           race_of("a", {{"tuning", 1}, {"main", 2}, {"_2", least}, {"Class", 3}, {"final", 4}}),
           "winner::tuning")},
      "static_assert(winner::tuning::_2 < -9223372036854775807);"));
}

TEST_CASE("the test of headers is able to fail") {
  CHECK_FALSE(compiles({"namespace tuning { inline constexpr long long class = 1; }"}));
  CHECK_FALSE(compiles({"// a comment that goes on \\\n#pragma once\n"}));
  CHECK_FALSE(compiles({}, "static_assert(1 == 2);"));
}

TEST_CASE("a namespace that no header can have is refused") {
  test::folder const at;
  auto const path = (at / "tuning.hpp").string();
  for (auto const* const name : {"", "::a", "a::", "a::::b", "a:b", "a b", "class", "a::new", "1",
                                 "a\n", "a {", "inline a", "a::inline b", "a.b"}) {
    INFO(measure::detail::literal(name));
    auto const message = test::message_of([&] { write_header(race_of("x"), path, name); });
    CHECK_THAT(message,
               contains("of the namespace \"" + measure::detail::one_line(name) + "\" is "));
    CHECK_THAT(message, contains(": write names as in tuning::copy"));
  }
  CHECK(at.entries() == 0);
  CHECK_NOTHROW(write_header(race_of("x"), path, "a::b_c::D1"));
}
