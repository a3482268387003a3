// SPDX-License-Identifier: Apache-2.0
#include "support/ncu.hpp"
#include "catch.hpp"

using namespace assay::benchmark;

TEST_CASE("what ncu prints is read by its columns' names, launch by launch") {
  auto const launches = read_ncu(
      "==PROF== Connected to process 12\n"
      "known_copy: some line of the program's\n"
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\","
      "\"Metric Value\"\n"
      "\"0\",\"12\",\"copy<T>(int, "
      "int)\",\"s\",\"dram__bytes_read.sum\",\"byte\",\"1,073,741,824\"\n"
      "\"0\",\"12\",\"copy<T>(int, int)\",\"s\",\"gpu__time_duration.sum\",\"nsecond\",\"512.5\"\n"
      "\"10\",\"12\",\"say(\"\"x\"\")\",\"s\",\"gpu__time_duration.sum\",\"nsecond\",\"7\"\n"
      "\"2\",\"12\",\"two\",\"s\",\"gpu__time_duration.sum\",\"nsecond\",\"9\"\n"
      "==PROF== Disconnected");
  REQUIRE(launches.size() == 3);
  CHECK(launches[0].kernel == "copy<T>(int, int)");
  CHECK(launches[0].values.at("dram__bytes_read.sum") == 1073741824);
  CHECK(launches[0].values.at("gpu__time_duration.sum") == 512.5);
  CHECK(launches[1].kernel == "two");  // by number, not by the order of digits
  CHECK(launches[2].kernel == "say(\"x\")");
  CHECK(launches[2].values.size() == 1);
}

TEST_CASE("output without a table has no launches") {
  CHECK(read_ncu("").empty());
  CHECK(read_ncu("==ERROR== ERR_NVGPUCTRPERM\n").empty());
}

TEST_CASE("a command's output comes with whether it worked") {
  std::string text;
  CHECK(output_of("echo one; echo two >&2", text));
  CHECK(text == "one\ntwo\n");
  CHECK(!output_of("exit 3", text));
  CHECK(!output_of("assay-no-such-program --version", text));
}
