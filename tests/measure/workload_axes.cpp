// SPDX-License-Identifier: Apache-2.0
/// @file
/// An axis that a workload brings is composed, compared, crossed and reported like another.

#include "catch.hpp"
#include "workload/dot_product.hpp"

#include <assay/measure/compare_pipelines.hpp>
#include <assay/report/text.hpp>
#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using assay::test::contains;
using measure::changed_axes;
using measure::labels_of;
using strings = std::vector<std::string>;
using axis_text = std::pair<std::string, std::string>;

pipeline const control{dot_product{}, on::host{}, submit::sequential{.items = 2}};

measure::options quick() {
  measure::options chosen;
  chosen.cell_seconds = 1e-4;
  chosen.warm_up_seconds = 0.01;
  chosen.max_epochs = 12;
  chosen.profiled_batches = 0;
  return chosen;
}

std::string text_of(measure::comparison const& found) {
  std::ostringstream out;
  report::text(out, found);
  return out.str();
}

/// Two types on one axis: a workload that is another type for each choice.
struct flash {
  static constexpr std::string_view axis = "attention";
  static constexpr std::string_view name = "flash";
  bool operator==(flash const&) const = default;
};
struct naive {
  int block = 1;
  static constexpr std::string_view axis = "attention";
  static constexpr std::string_view name = "naive";
  bool operator==(naive const&) const = default;
};

/// A workload by name only, with two axes.
template <class Attention>
struct transformer {
  int layers = 1;
  Attention attention{};
  precision weights{};
  static constexpr std::string_view name = "transformer";
  std::tuple<Attention, precision> axes() const { return {attention, weights}; }
  transformer with(precision other) const { return {layers, attention, other}; }
  transformer<flash> with(flash other) const { return {layers, other, weights}; }
  transformer<naive> with(naive other) const { return {layers, other, weights}; }
  traffic item_traffic() const { return {}; }
  bool operator==(transformer const&) const = default;
};

pipeline const layered{transformer<flash>{.layers = 3}, on::host{2}};

/// A workload by name only, with no axis.
struct plain {
  static constexpr std::string_view name = "plain";
  traffic item_traffic() const { return {}; }
  bool operator==(plain const&) const = default;
};

/// A choice that does not say on which axis.
struct nameless {
  static constexpr std::string_view name = "nameless";
  bool operator==(nameless const&) const = default;
};

template <class P, class Choice>
concept can_change = requires(P const& p, Choice choice) { p.with(choice); };

}  // namespace

TEST_CASE("with changes an axis of the workload and nothing else", "[axes]") {
  auto const single = control.with(precision{32});
  CHECK(single.work == dot_product{.sum = {32}});
  CHECK(single.with(precision{64}) == control);
  CHECK(control.axes().back() == axis_text{"precision", "float64"});
  CHECK(single.axes().front() == axis_text{"workload", "dot_product"});
  CHECK(single.axes().back() == axis_text{"precision", "float32"});

  auto const other = layered.with(naive{4}).with(precision{16});
  STATIC_REQUIRE(std::same_as<decltype(other.work), transformer<naive>>);
  CHECK(other.work == transformer<naive>{3, {4}, {16}});
  CHECK(other.place == layered.place);
}

TEST_CASE("a pipeline takes choices of its workload beside the others, in any order", "[axes]") {
  pipeline const named{transformer<flash>{.layers = 3}, precision{16}, on::host{2}, naive{4}};
  STATIC_REQUIRE(std::same_as<decltype(named.work), transformer<naive>>);
  CHECK(named == layered.with(naive{4}).with(precision{16}));
  pipeline const other{transformer<flash>{.layers = 3}, naive{4}, on::host{2}, precision{16}};
  CHECK(other == named);
  CHECK(pipeline{dot_product{}, precision{32}, on::host{}, submit::sequential{.items = 2}} ==
        control.with(precision{32}));
  STATIC_REQUIRE(assay::detail::each_axis_once<precision, on::host, flash>());
  STATIC_REQUIRE_FALSE(assay::detail::each_axis_once<on::host, naive, on::host>());
  STATIC_REQUIRE_FALSE(assay::detail::each_axis_once<naive, on::host, flash>());
}

TEST_CASE("a workload takes choices on its own axes alone", "[axes]") {
  STATIC_REQUIRE(can_change<decltype(control), precision>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control), flash>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control), nameless>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control.with(plain{})), precision>);
}

TEST_CASE("the workload is the same whatever the choices on its own axes", "[axes]") {
  auto const single = control.with(precision{32});
  CHECK(changed_axes(control, single) == strings{"precision"});
  CHECK(labels_of(control, single) == strings{"float64", "float32"});
  CHECK(changed_axes(layered, layered.with(naive{})) == strings{"attention"});
  CHECK(changed_axes(layered, layered.with(naive{}).with(precision{16})) ==
        strings{"attention", "precision"});
  CHECK(changed_axes(control, single.with(on::host{2})) == strings{"place", "precision"});
  CHECK(changed_axes(control, control.with(dot_product{.elements = 3, .sum = {32}})) ==
        strings{"workload", "precision"});
  CHECK(changed_axes(layered, layered.with(transformer<naive>{.layers = 4})) ==
        strings{"workload", "attention"});
}

TEST_CASE("axes are matched by name where workloads bring different ones", "[axes]") {
  auto const other = layered.with(dot_product{});
  CHECK(changed_axes(layered, other) == strings{"workload"});
  CHECK(changed_axes(layered.with(precision{8}), other) == strings{"workload", "precision"});
  CHECK(labels_of(layered, other) == strings{"transformer", "dot_product"});
  CHECK(changed_axes(layered.with(plain{}), other) == strings{"workload"});
  CHECK(labels_of(layered.with(naive{1}), layered.with(naive{2}), layered.with(plain{})) ==
        strings{"transformer, naive", "transformer, naive (2)", "plain"});
}

TEST_CASE("both precisions are right", "[axes]") {
  for (int const bits : {32, 64}) {
    rig both{control.with(precision{bits})};
    both.run();
    CHECK_FALSE(both.verify().has_value());
  }
}

TEST_CASE("a comparison names the axis that the workload brings", "[axes]") {
  auto const found = compare(control, control.with(precision{32}), quick());
  REQUIRE(found.failure == "");
  CHECK(found.changed == "precision");
  CHECK(found.variants.at(1).label == "float32");
  CHECK_THAT(text_of(found), contains("precision"));
}

TEST_CASE("a factorial crosses an axis of the workload with one of the library", "[axes]") {
  auto const found =
      factorial(control, levels{precision{64}, precision{32}},
                levels{submit::sequential{.items = 2}, submit::serialized{.items = 2}}, quick());
  REQUIRE(found.failure == "");
  CHECK(found.changed == "submission x precision");
  REQUIRE(found.variants.size() == 4);
  CHECK(found.variants[1].label == "submit::serialized, float64");
  CHECK(found.variants[2].label == "submit::sequential, float32");
  auto const& axes = found.variants[3].axes;
  CHECK(std::ranges::find(axes, axis_text{"workload", "dot_product"}) != axes.end());
  CHECK(std::ranges::find(axes, axis_text{"precision", "float32"}) != axes.end());
  CHECK(found.findings.front().contrast_name.starts_with("precision x submission: "));
  CHECK_THAT(text_of(found), contains("precision"));
}

TEST_CASE("a factorial crosses workloads with an axis that they bring", "[axes]") {
  auto const found = factorial(control, levels{dot_product{}, dot_product{.elements = 64}},
                               levels{precision{64}, precision{32}}, quick());
  REQUIRE(found.failure == "");
  CHECK(found.findings.front().contrast_name.starts_with("workload x precision: "));
}
