// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/format.hpp>

#include <limits>
#include <sstream>

using namespace assay;

namespace {
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("a change of a time is a percentage, and above 100 % a factor") {
  CHECK(report::change_text(1.5, 1) == "+50.0 %");
  CHECK(report::change_text(0.25, 0) == "-75 %");
  CHECK(report::change_text(2, 1) == "+100.0 %");
  CHECK(report::change_text(4.017, 1) == "4.02x");
  CHECK(report::change_text(1234.6, 1) == "1235x");
}

TEST_CASE("durations have the unit in which they read best") {
  CHECK(report::duration(0) == "0 s");
  CHECK(report::duration(3e-10) == "0.300 ns");
  CHECK(report::duration(5.12e-7) == "512.0 ns");
  CHECK(report::duration(1.2345e-2) == "12.35 ms");
  CHECK(report::duration(1) == "1.000 s");
  CHECK(report::duration(12345) == "12345 s");
  CHECK(report::duration(-2e-3) == "-2.000 ms");
  CHECK(report::duration(unknown) == "-");
  CHECK(report::duration(infinite) == "inf");
}

TEST_CASE("rounding moves a value into the next unit, never to four digits before the point") {
  CHECK(report::duration(999.99e-9) == "1.000 us");
  CHECK(report::duration(999.94e-6) == "999.9 us");
  CHECK(report::duration(999.996e-6) == "1.000 ms");
  CHECK(report::duration(9.9999e-3) == "10.00 ms");
  CHECK(report::rate(999.9e9, "B") == "1.00 TB/s");
  CHECK(report::byte_size(1023.9 * 1024 * 1024) == "1.00 GiB");
}

TEST_CASE("sizes are binary and exact below a KiB; rates are decimal") {
  CHECK(report::byte_size(0) == "0 B");
  CHECK(report::byte_size(1023) == "1023 B");
  CHECK(report::byte_size(1024) == "1.00 KiB");
  CHECK(report::byte_size(10.0 * (1ULL << 30U)) == "10.0 GiB");
  CHECK(report::byte_size(unknown) == "-");
  CHECK(report::rate(3.97e12, "B") == "3.97 TB/s");
  CHECK(report::rate(512, "FLOP") == "512 FLOP/s");
  CHECK(report::rate(unknown, "B") == "-");
  CHECK(report::frequency(1.98e9) == "1.98 GHz");
}

TEST_CASE("whole numbers are grouped") {
  CHECK(report::count(0) == "0");
  CHECK(report::count(999) == "999");
  CHECK(report::count(1000) == "1,000");
  CHECK(report::count(2'684'354) == "2,684,354");
  CHECK(report::count(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("percentages have about three digits, and a sign only where they are not 0") {
  CHECK(report::percent(0.003) == "0.30 %");
  CHECK(report::percent(0.0312) == "3.12 %");
  CHECK(report::percent(0.312) == "31.2 %");
  CHECK(report::percent(4.8) == "480 %");
  CHECK(report::percent(0.0003) == "0.030 %");
  CHECK(report::percent(unknown) == "- %");
  CHECK(report::signed_percent(0.003, 2) == "+0.30");
  CHECK(report::signed_percent(-0.003, 2) == "-0.30");
  CHECK(report::signed_percent(0.00001, 2) == "0.00");
  CHECK(report::signed_percent(-0.00001, 2) == "0.00");
  CHECK(report::signed_percent(infinite, 2) == "+inf");
  CHECK(report::setting_percent(0.01) == "1 %");
  CHECK(report::setting_percent(0.005) == "0.5 %");
  CHECK(report::setting_percent(1 - 0.05) == "95 %");
}

TEST_CASE("an upper bound is rounded up") {
  CHECK(report::percent_upper(0.00411, 2) == "0.42 %");
  CHECK(report::percent_upper(0.00401, 2) == "0.41 %");
  CHECK(report::percent_upper(0.004, 2) == "0.40 %");
  CHECK(report::percent_upper(infinite, 2) == "inf %");
}

TEST_CASE("text is wrapped between words, and a policy with its parameters is one word") {
  CHECK(report::wrapped("one two three", "- ", "  ", 9) == "- one two\n  three\n");
  CHECK(report::wrapped("a pool{10 GiB} b", "", "", 8) == "a\npool{10 GiB}\nb\n");
  CHECK(report::wrapped("by 3.1 % [1, 2]", "", "", 5) == "by\n3.1 %\n[1, 2]\n");
  CHECK(report::wrapped("", "- ", "  ") == "- \n");
  CHECK(report::wrapped("two\nlines", "", "") == "two lines\n");
  CHECK(report::wrapped("open{ brace", "", "", 4) == "open{ brace\n");
}

TEST_CASE("no wrapped line is longer than asked while its words allow") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int run = 0; run < 200; ++run) {
    std::string text;
    for (int word = 0; word < 30; ++word) { text += std::string(1 + random() % 12, 'x') + " "; }
    auto const width = 20 + random() % 80;
    std::istringstream lines{report::wrapped(text, "  ", "    ", width)};
    std::string back;
    for (std::string line; std::getline(lines, line);) {
      REQUIRE(line.size() <= width);
      back += line.substr(line.find_first_not_of(' ')) + " ";
    }
    REQUIRE(back == text);
  }
}
