// SPDX-License-Identifier: Apache-2.0
/// @file
/// Comparisons of pipelines: two, several against one, or two axes crossed.
#pragma once

#include <assay/measure/factorial.hpp>
#include <assay/measure/instruments.hpp>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/measure/profile.hpp>

#include <any>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay {

/// Choices on one axis, for `factorial`: `levels{mr::pool{10_GiB}, mr::async{}}`.
template <class... Choices>
struct levels {
  std::tuple<Choices...> choices;
  explicit levels(Choices... each) : choices(std::move(each)...) {}
};

namespace measure {
namespace detail {

/// The arenas that variants with this workload, place and lane count share.
template <class Work, class Place, class State>
struct shared_arenas {
  Work work;
  Place place;
  int lanes;
  std::shared_ptr<arena_cache<State>> cache;
};

/// The variants of one experiment as they are gathered: what the procedure runs, and how each is
/// profiled afterwards.
class line_up {
 public:
  template <class Pipeline>
  void add(Pipeline const& what, std::string label) {
    using place = decltype(Pipeline::place);
    place_traits<place>::require(what.place);
    auto const traffic = what.batch_traffic();
    variants_.push_back(
        {std::move(label), what.axes(), builder(what), traffic.bytes(), traffic.flops});
    profilers_.push_back([what](int batches) { return profile(what, batches); });
    if (!ceilings_) {
      ceilings_ = [at = what.place] { return instruments<place>::ceilings(at); };
      watch_ = [at = what.place] { return instruments<place>::watch(at); };
    }
  }

  /// Measures, then measures the ceilings and profiles each variant, unless it failed before.
  comparison run(std::vector<contrast> const& contrasts, options chosen) const {
    auto watch = watch_();
    chosen.at_epoch_end = [&watch, asked = chosen.at_epoch_end](epoch const& now) {
      auto reasons = watch.vetoes();
      for (auto& more : asked ? asked(now) : std::vector<std::string>{}) {
        reasons.push_back(std::move(more));
      }
      return reasons;
    };
    auto result = measure::run(variants_, contrasts, chosen);
    watch.describe(result);
    if (!result.failure.empty()) { return result; }
    result.ceilings = ceilings_();
    for (std::size_t i = 0; chosen.profiled_batches > 0 && i < profilers_.size(); ++i) {
      if (chosen.progress) {
        chosen.progress(result.epochs, chosen.max_epochs, "profiling " + variants_[i].label);
      }
      auto const found = profilers_[i](chosen.profiled_batches);
      result.arms[i].submission = found.submission;
      result.arms[i].memory = found.memory;
    }
    return result;
  }

 private:
  template <class Pipeline>
  auto builder(Pipeline const& what) {
    return [what, cache = cache_for<rig<Pipeline>>(what)](epoch const& now) {
      place_traits<decltype(Pipeline::place)>::require(what.place);
      auto made =
          std::make_unique<rig<Pipeline>>(what, what.memory.open(what.place),
                                          [&](auto const& make) { return cache->get(now, make); });
      return std::unique_ptr<subject>{new pipeline_subject<Pipeline>{std::move(made)}};
    };
  }

  template <class Rig, class Pipeline>
  auto cache_for(Pipeline const& what) {
    using state = typename Rig::state_type;
    using entry = shared_arenas<typename Rig::work_type, typename Rig::place_type, state>;
    for (auto const& each : shared_) {
      auto const* known = std::any_cast<entry>(&each);
      if (known != nullptr && known->work == what.work && known->place == what.place &&
          known->lanes == what.submit.lanes()) {
        return known->cache;
      }
    }
    auto cache = std::make_shared<arena_cache<state>>();
    shared_.emplace_back(entry{what.work, what.place, what.submit.lanes(), cache});
    return cache;
  }

  std::vector<variant> variants_;
  std::vector<std::function<profiled(int)>> profilers_;
  std::function<std::vector<ceiling>()> ceilings_;
  std::function<environment_watch()> watch_;
  std::vector<std::any> shared_;
};

/// What sets pipelines apart, one label each: the choices on the axes on which they differ, by name
/// where names differ, else with their parameters.
inline std::vector<std::string> labels_of(
    std::vector<std::vector<std::pair<std::string, std::string>>> const& variants) {
  std::vector<std::string> labels(variants.size());
  for (std::size_t axis = 0; axis < variants.front().size(); ++axis) {
    std::set<std::string> choices, names;
    auto const name_of = [](std::string const& choice) {
      return choice.substr(0, choice.find('{'));
    };
    for (auto const& each : variants) {
      choices.insert(each[axis].second);
      names.insert(name_of(each[axis].second));
    }
    if (choices.size() == 1) { continue; }
    for (std::size_t i = 0; i < variants.size(); ++i) {
      auto const& choice = variants[i][axis].second;
      labels[i] += (labels[i].empty() ? "" : ", ") +
                   (names.size() == choices.size() ? name_of(choice) : choice);
    }
  }
  std::map<std::string, int> seen;
  for (auto& label : labels) {
    if (label.empty()) { label = "control"; }
    int const times = ++seen[label];
    if (times > 1) { label += " (" + std::to_string(times) + ")"; }
  }
  return labels;
}

/// Every level of `rows` with every level of `columns`, row-major. (Functions, not nested lambdas
/// over packs: nvcc 13.0 cannot translate those.)
template <class Pipeline, class... Columns>
auto with_each(Pipeline const& row, std::tuple<Columns...> const& columns) {
  return std::apply(
      [&row](Columns const&... column) { return std::make_tuple(row.with(column)...); }, columns);
}
template <class Pipeline, class... Rows, class Columns>
auto crossed(Pipeline const& control, std::tuple<Rows...> const& rows, Columns const& columns) {
  return std::apply(
      [&](Rows const&... row) { return std::tuple_cat(with_each(control.with(row), columns)...); },
      rows);
}

}  // namespace detail
}  // namespace measure

/// Measures each of several pipelines against the first and says which is faster, or that they do
/// not differ by more than the margin.
///
/// Takes anything that a `rig` can be made of. Times whole batches: allocations, launches, copies
/// and frees are inside. Afterwards it measures the limit that the report divides by, and profiles
/// each pipeline in batches of their own (`options::profiled_batches`). Blocks until done; needs
/// memory for all of them and one more of the first at the same time. See `measure::run` for what
/// is verified, vetoed and thrown.
template <class Control, class... Variants>
requires(sizeof...(Variants) >= 1)
measure::comparison compare_all(measure::options const& chosen, Control const& control,
                                Variants const&... variants) {
  auto labels = measure::detail::labels_of({control.axes(), variants.axes()...});
  measure::detail::line_up all;
  std::size_t next = 0;
  all.add(control, labels[next++]);
  (all.add(variants, labels[next++]), ...);
  return all.run(measure::against_first(labels), chosen);
}

/// Measures a variant against a control; see `compare_all`.
template <class Control, class Variant>
measure::comparison compare(Control const& control, Variant const& variant,
                            measure::options const& chosen = {}) {
  return compare_all(chosen, control, variant);
}

/// Crosses two axes: every choice of `rows` with every choice of `columns`, all else as in
/// `control`, and judges their interaction, main effects and simple effects together.
///
/// The first choice of each is what the others are held against. See `compare_all`.
template <class Control, class... Rows, class... Columns>
measure::comparison factorial(Control const& control, levels<Rows...> const& rows,
                              levels<Columns...> const& columns,
                              measure::options const& chosen = {}) {
  using place = decltype(Control::place);
  using first_row = std::tuple_element_t<0, std::tuple<Rows...>>;
  using first_column = std::tuple_element_t<0, std::tuple<Columns...>>;
  static_assert(detail::axis_of<first_row, place>() != detail::axis_of<first_column, place>(),
                "a factorial crosses two different axes");
  static_assert(
      ((detail::axis_of<Rows, place>() == detail::axis_of<first_row, place>()) && ...) &&
          ((detail::axis_of<Columns, place>() == detail::axis_of<first_column, place>()) && ...),
      "all levels of a factor must be choices on one axis");

  auto const pipelines = measure::detail::crossed(control, rows.choices, columns.choices);
  auto const axes =
      std::apply([](auto const&... each) { return std::vector{each.axes()...}; }, pipelines);

  auto const factor_of = [&]<std::size_t Count>(std::array<std::size_t, Count> members) {
    // The levels of one factor are the variants in which the other is at its first level.
    std::vector<std::vector<std::pair<std::string, std::string>>> along;
    for (auto const member : members) { along.push_back(axes[member]); }
    measure::factor found;
    found.levels = measure::detail::labels_of(along);
    for (std::size_t axis = 0; axis < along[0].size(); ++axis) {
      if (along[0][axis].second != along[1][axis].second) { found.name = along[0][axis].first; }
    }
    return found;
  };
  std::array<std::size_t, sizeof...(Rows)> row_members{};
  std::array<std::size_t, sizeof...(Columns)> column_members{};
  for (std::size_t r = 0; r < row_members.size(); ++r) {
    row_members[r] = r * column_members.size();
  }
  for (std::size_t c = 0; c < column_members.size(); ++c) { column_members[c] = c; }
  measure::crossing const design{factor_of(row_members), factor_of(column_members)};

  auto const labels = measure::detail::labels_of(axes);
  measure::detail::line_up all;
  std::size_t next = 0;
  std::apply([&](auto const&... each) { (all.add(each, labels[next++]), ...); }, pipelines);
  return all.run(design.contrasts(), chosen);
}

}  // namespace assay
