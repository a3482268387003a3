// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/page/sweep.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace assay;

namespace {

measure::variant_result variant(std::string label,
                                std::vector<std::pair<std::string, std::string>> axes = {}) {
  measure::variant_result made;
  made.label = std::move(label);
  made.axes = std::move(axes);
  return made;
}

}  // namespace

TEST_CASE("labels that are numbers are a sweep, and a label without one is outside of it") {
  auto const found =
      report::sweep_of({variant("none"), variant("64"), variant("128"), variant("256")});
  REQUIRE(found);
  REQUIRE(found->fields.size() == 1);
  CHECK(found->fields[0].name == "value");
  CHECK(std::isnan(found->fields[0].values[0]));
  CHECK(found->fields[0].levels() == std::vector<double>{64, 128, 256});
  CHECK(found->series == std::vector<std::string>{"", "all", "all", "all"});
}

TEST_CASE("a field has the name that is written before it") {
  auto const threads = [](std::string const& count) {
    return variant(count, {{"memory", "mr::pool{10 GiB}"},
                           {"submission", "submit::concurrent{threads=" + count + ", items=100}"}});
  };
  auto const found = report::sweep_of({threads("1"), threads("2"), threads("8")});
  REQUIRE(found);
  CHECK(found->fields[0].name == "threads");
  CHECK(found->fields[0].levels() == std::vector<double>{1, 2, 8});
}

TEST_CASE("sizes count as bytes, plurals as one word, and choices without numbers as series") {
  std::vector<measure::variant_result> all;
  for (auto const* stages : {"1 stage", "2 stages"}) {
    for (auto const* size : {"512 KiB", "1.00 MiB", "2.00 MiB"}) {
      for (auto const* strategy : {"copy::regular<16, 4>", "copy::bulk<4>"}) {
        all.push_back(variant("", {{"stages", stages}, {"size", size}, {"strategy", strategy}}));
      }
    }
  }
  auto const found = report::sweep_of(all);
  REQUIRE(found);
  REQUIRE(found->fields.size() == 2);
  CHECK(found->fields[0].name == "size");  // it has the most values
  CHECK(found->fields[0].bytes);
  CHECK(found->fields[0].levels() == std::vector<double>{524288, 1048576, 2097152});
  CHECK(found->fields[1].name == "stage");
  CHECK(found->series[0] == "copy::regular<16, 4>");
  CHECK(found->series[1] == "copy::bulk<4>");
}

TEST_CASE("two levels, three fields, and numbers within words are no sweep") {
  CHECK_FALSE(report::sweep_of({variant("block 64"), variant("block 128")}));
  CHECK_FALSE(
      report::sweep_of({variant("a=1 b=1 c=1"), variant("a=2 b=2 c=2"), variant("a=3 b=3 c=3")}));
  CHECK_FALSE(report::sweep_of({variant("float2"), variant("float4"), variant("float8")}));
  CHECK_FALSE(report::sweep_of({}));
}
