// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
#include "offload/dispatch_page.hpp"
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "offload/study_json.hpp"
#include "page/count_of.hpp"

#include <cstddef>
#include <limits>
#include <string>

using namespace assay;
using test::contains;
using test::count_of;

namespace {

/// saxpy on two host paths and a device, over resident and over pageable arrays.
examples::dispatch_study device_study() {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 2e-5 + 1e-11 * n; }));
  all.links = {{memory_type::pageable, 1e-5, 2e-10, 2e-10}};
  examples::dispatch_study made{dispatch::costs{all}};
  made.kinds = {{"resident"},
                {"pageable", [](std::size_t n) {
                   auto known = dispatch::facts_of_size(n);
                   known.arrays[known.count++] = {.bytes = 4.0 * static_cast<double>(n)};
                   return known;
                 }}};
  for (auto& kind : made.kinds) {
    for (double const size : {10.0, 1e6, 1e3}) {
      auto known = dispatch::facts_of_size(static_cast<std::size_t>(size));
      kind.timed.calls.push_back(
          {known, {{{1e-9 * size, 1e-6, 2e-5}, {3e-9 * size, 1e-6, 2e-5}}}, {}});
    }
  }
  return made;
}

/// What the experiment writes.
report::document written(examples::dispatch_study const& study) {
  return {{"schema", "assay.dispatch.1"},
          {"where", {{"device", "a <device>"}, {"commit", "abc"}}},
          {"blas", "a BLAS"},
          {"tasks", {examples::to_json(study)}}};
}

}  // namespace

TEST_CASE("the page of dispatch has a chart for each kind, with a curve for each path", "[page]") {
  auto const page = examples::dispatch_page(written(device_study()));
  CHECK(count_of("class=\"chart\"", page) == 2);
  for (auto const* style : {"line s0", "line s1", "line s2"}) {
    CHECK(count_of("class=\"" + std::string{style} + "\"", page) == 2);
  }
  CHECK(count_of("line s3", page) == 0);
  CHECK_THAT(page, contains("saxpy, resident") && contains("a &lt;device&gt;, abc") &&
                       contains("time of a call, wall clock"));
  // The mean of both halves at 1,000, where a call took 1 and 3 us.
  CHECK_THAT(page, contains(">2.000 us</td>"));
  CHECK(page.find("nan") == std::string::npos);
}

TEST_CASE("the crossovers of a page are those that the model predicts", "[page]") {
  auto const study = device_study();
  auto const page = examples::dispatch_page(written(study));
  // Resident: to host{4}, then to the device. Pageable: the device never wins.
  auto const regions = examples::find_regions(study.of);
  REQUIRE(regions.size() == 3);
  CHECK(examples::find_regions(study.of, study.kinds[1].at).size() == 2);
  CHECK(count_of("class=\"analysis\"", page) == 3);
  CHECK(count_of("class=\"band\"", page) == 3);
  auto const words = [](examples::region const& of) {
    return report::count(static_cast<std::uint64_t>(of.from.size)) + " [";
  };
  CHECK_THAT(page, contains("device{0} is the fastest from " + words(regions[2])));
  CHECK_THAT(page, contains(examples::find_crossover(study.of, on::host{1}, on::device{0},
                                                     study.kinds[0].at)
                                .sizes_of_second()));
}

TEST_CASE("a path that is impossible or wrong is named, and other files are refused", "[page]") {
  auto study = device_study();
  for (auto& half : study.kinds[1].timed.calls[0].halves) {
    half[0] = std::numeric_limits<double>::infinity();
  }
  auto from = written(study);
  from["tasks"][0]["paths"][1]["wrong"] = "element 3";
  auto const page = examples::dispatch_page(from);
  CHECK_THAT(page, contains("<td>-</td>") && contains("host{4} is WRONG: element 3"));
  from["tasks"][0].erase("kinds");
  CHECK_THAT(test::message_of([&] { (void)examples::dispatch_page(from); }), contains("kinds"));
  CHECK_THAT(test::message_of([&] { (void)examples::dispatch_page({{"schema", "x"}}); }),
             contains("no result of the experiment dispatch"));
}

TEST_CASE("the charts of dispatch are one SVG, with keys and notes", "[page]") {
  auto const svg = examples::crossover_svg(written(device_study()));
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"820\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of("<svg", svg) == count_of("</svg>", svg));
  CHECK(count_of("class=\"chart\"", svg) == 2);
  CHECK(count_of("class=\"key s", svg) == 6);
  CHECK_THAT(svg, contains(">saxpy, pageable</text>") && contains(">device{0}</text>") &&
                      contains("is the fastest from "));
  CHECK_THAT(test::message_of([&] { (void)examples::crossover_svg({{"schema", "x"}}); }),
             contains("not a result of dispatch"));
}
