// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "page/count_of.hpp"

#include <assay/page/crossover_chart.hpp>

#include <cstddef>
#include <string>

using namespace assay;
using test::contains;
using test::count_of;

namespace {

/// saxpy on two host paths and a device, over resident and over pageable arrays.
measure::dispatch_study device_study() {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 2e-5 + 1e-11 * n; }));
  all.machine.links = {{"", dispatch::to::device, memory_type::pageable, 1e-5, 5e9, 0.01},
                       {"", dispatch::to::host, memory_type::pageable, 1e-5, 5e9, 0.01}};
  measure::dispatch_study made{dispatch::costs{all}};
  made.kinds = {{"resident"},
                {"pageable", [](std::size_t n) {
                   auto known = dispatch::facts_of_size(n);
                   known.arrays[known.count++] = {.bytes = 4.0 * static_cast<double>(n)};
                   return known;
                 }}};
  return made;
}

}  // namespace

TEST_CASE("a chart of costs has a curve for each host path, and on a device for each kind",
          "[page]") {
  auto const svg = report::crossover_svg({device_study()});
  for (auto const* style : {"line s0", "line s1", "line s2", "line s3"}) {
    CHECK(count_of("class=\"" + std::string{style} + "\"", svg) == 1);
  }
  CHECK(count_of("class=\"between", svg) == 4);
  CHECK(count_of("line s4", svg) == 0);
  CHECK_THAT(svg, contains(">device{0}, pageable</text>"));
  CHECK_THAT(svg, contains("xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.find("href") == std::string::npos);
  CHECK(count_of("<svg", svg) == count_of("</svg>", svg));
}

TEST_CASE("the crossings of a chart are marked at their sizes", "[page]") {
  auto const study = device_study();
  auto const svg = report::crossover_svg({study});
  // Resident: to host{4}, then to the device. Pageable: the device never wins.
  auto const regions = dispatch::find_regions(study.of);
  REQUIRE(regions.size() == 3);
  CHECK(dispatch::find_regions(study.of, study.kinds[1].at).size() == 2);
  CHECK(count_of("class=\"rule", svg) + count_of("class=\"analysis\"", svg) == 2);
  for (auto const& each : {regions[1], regions[2]}) {
    auto const size = dispatch::detail::whole(each.from.size);
    CHECK_THAT(svg, contains(">" + size + "</text>"));
    CHECK_THAT(svg, contains(" from " + size + " on</title>"));
  }
  // The mark of the device is as far along the axis as its size is between 1 and 2^20.
  auto const share = 100 * std::log2(regions[2].from.size) / 20;
  CHECK_THAT(svg, contains("class=\"mark s2 open\" x=\"" + report::detail::hundredths(share)));
}

TEST_CASE("a wrong path has no curve, and each task has a chart", "[page]") {
  auto all = test::saxpy_measurements();
  all.paths[1] = {.where = on::host{4}, .wrong = "element 3"};
  measure::dispatch_study one{dispatch::costs{all}};
  CHECK(count_of("class=\"chart\"", report::crossover_svg({one})) == 0);  // no kind of calls
  one.kinds = {{"resident"}};
  auto const svg = report::crossover_svg({one, one});
  CHECK(count_of("class=\"chart\"", svg) == 2);
  CHECK(count_of("class=\"line s0\"", svg) == 2);
  CHECK(count_of("line s1", svg) == 0);
}
