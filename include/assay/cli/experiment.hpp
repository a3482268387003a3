// SPDX-License-Identifier: Apache-2.0
/// @file
/// `experiment`: callables and parameters to sweep, as a program with the options, files and exit
/// codes of the shipped experiments. Needs CLI11 and nlohmann_json (CMake target `assay::cli`).
#pragma once

#include <assay/cli/parameters.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/sweep.hpp>
#include <assay/compare.hpp>
#include <assay/core/place.hpp>
#include <assay/race/space.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iostream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

/// Thrown by a function of a point, it leaves the cell of this point out and is its reason.
struct skip : std::runtime_error {
  using runtime_error::runtime_error;
};

namespace cli::detail {

/// The result of `make` for a point; without parameters `make` itself.
template <bool Swept, class F, class... Types>
auto callable_at(F& make, point const& at, type_list<Types...>) {
  if constexpr (Swept) {
    static_assert(std::is_invocable_v<F&, point const&, std::type_identity<Types>...>,
                  "with parameters, each function takes an assay::point const& and, for each "
                  "parameter of types, a std::type_identity; it returns what compare takes");
    return measure::detail::named(make(at, std::type_identity<Types>{}...));
  } else {
    return measure::detail::named(make);
  }
}

/// Adds the callables of one point to a list of `compare`.
template <bool Swept, class... Fs>
struct adding {
  measure::callable_list& list;
  std::vector<std::string> const& names;
  std::tuple<Fs...>& makes;
  point const& at;

  template <class Types>
  void operator()(Types chosen) const {
    std::apply(
        [&](Fs&... make) {
          std::size_t i = 0;
          (list.entries.push_back(measure::erase(names[i++], callable_at<Swept>(make, at, chosen))),
           ...);
        },
        makes);
  }
};

template <class List>
struct first_of;
template <class First, class... Rest>
struct first_of<type_list<First, Rest...>> {
  using type = First;
};

/// Parameters, and callables with their names. `Lists` are the types of the parameters of types.
template <bool Swept, class Lists, class... Fs>
class own_experiment;

template <bool Swept, class... Lists, class... Fs>
class own_experiment<Swept, std::tuple<Lists...>, Fs...> {
  using first = std::tuple_element_t<0, std::tuple<Fs...>>;
  using first_types = type_list<typename first_of<Lists>::type...>;
  static constexpr bool on_stream = measure::runs_on_stream<decltype(callable_at<Swept>(
      std::declval<first&>(), std::declval<point const&>(), first_types{}))>();

 public:
  own_experiment(std::vector<swept> parameters, std::vector<std::string> names, Fs... makes)
      : parameters_(std::move(parameters)), names_(std::move(names)), makes_(std::move(makes)...) {}

  int run(int argc, char const* const* argv, std::string const& question,
          std::ostream& out = std::cout, std::ostream& err = std::cerr) {
    title_ = question;
    return cli::run(
        argc, argv, {question}, [this](CLI::App& app) { declare(app); },
        [&](options const& given) { return measured(given, out); }, out, err);
  }

 private:
  /// Declares an option for each parameter. A refusal waits for `measured`, where it is reported.
  void declare(CLI::App& app) {
    if (on_stream) { app.get_option("--clock")->default_val("gpu"); }
    if (!parameters_.empty()) {
      app.add_option("--axis,-a", axes_, "the same as nvbench has it: n=[1,2], n[pow2]=[10:20:2]")
          ->allow_extra_args(false);
    }
    for (auto& each : parameters_) {
      auto const& name = each.name;
      auto const plain = [](char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' ||
               letter == '_';
      };
      if (name.empty() || name.front() == '-' || !std::ranges::all_of(name, plain)) {
        refusal_ = "parameter \"" + name + "\": a name has letters, digits, - and _";
      } else if (app.get_option_no_throw(each.option()) != nullptr) {
        refusal_ = "parameter \"" + name + "\": there is an option " + each.option() +
                   ": choose another name";
      } else {
        app.add_option_function<std::string>(
               each.option(), [&each](std::string const& text) { each.given = text; },
               each.of == swept::kind::types   ? "some of these types"
               : each.of == swept::kind::texts ? "texts, with commas between them"
                                               : "whole numbers such as 1,2,3 or 2:10:2")
            ->default_str(cli::joined(each.declared, ","));
      }
    }
  }

  std::optional<measure::comparison> measured(cli::options const& given, std::ostream& out) {
    auto const chosen = measuring(given);
    for (auto const& each : axes_) { read_axis(each, parameters_); }
    auto cells = points_of(parameters_);
    if (given.list) {
      for (auto const& at : cells) { list(at, out); }
      return {};
    }
    auto const skipped = without_skipped(cells);  // what a function refuses is told before the run
    auto found = sizeof...(Fs) == 1
                     ? against_first_point(cells, chosen)
                     : sweep(cells, chosen, [this](point const& at, measure::options const& own) {
                         auto all = at_point(at);
                         all.chosen = own;
                         return measure::compare_callables(all);
                       });
    found.notes.insert(found.notes.end(), skipped.begin(), skipped.end());
    return found;
  }

  /// Takes out the cells that a function skips, and returns the reasons.
  std::vector<std::string> without_skipped(std::vector<point>& cells) {
    std::vector<std::string> reasons;
    std::erase_if(cells, [&](point const& at) {
      try {
        (void)at_point(at);
        return false;
      } catch (skip const& why) {
        reasons.push_back("skipped " + at.label() + ": " + why.what());
        return true;
      }
    });
    if (cells.empty()) { throw std::invalid_argument("no cell is left: " + reasons.front()); }
    return reasons;
  }

  measure::options measuring(cli::options const& given) const {
    if (!refusal_.empty()) { throw std::invalid_argument(refusal_); }
    if (on_stream ? given.host : given.device_named) {
      throw std::invalid_argument(
          on_stream ? "--host: this experiment runs on a GPU; leave the option out"
                    : "--device: this experiment runs on the host; leave the option out");
    }
    auto chosen = given.measuring;
    chosen.title = title_;
    if (given.device_named) { chosen.place = on::device{given.device}; }
    return chosen;
  }

  void list(point const& at, std::ostream& out) const {
    auto const where = at.label();
    for (auto const& name : names_) { out << (where.empty() ? "" : where + ": ") << name << '\n'; }
  }

  measure::callable_list at_point(point const& at) {
    measure::callable_list all{measure::detail::supported_place<on_stream>(), {}, {}};
    with_types(at, adding<Swept, Fs...>{all, names_, makes_, at}, type_list<>{}, Lists{}...);
    return all;
  }

  /// One callable: each point against the first one.
  measure::comparison against_first_point(std::vector<point> const& cells,
                                          measure::options const& chosen) {
    measure::callable_list all{measure::detail::supported_place<on_stream>(), {}, {}};
    for (auto const& at : cells) {
      auto one = at_point(at);
      one.entries.front().label = cells.size() == 1 ? names_.front() : at.label();
      all.entries.push_back(std::move(one.entries.front()));
    }
    all.chosen = chosen;
    all.chosen.changed = cli::joined(varied(), ",");
    auto found = measure::compare_callables(all);
    for (std::size_t i = 0; i < found.variants.size(); ++i) {
      found.variants[i].axes.clear();
      add_axes(found.variants[i], cells[i]);
    }
    return found;
  }

  /// The parameters with several values.
  std::vector<std::string> varied() const {
    std::vector<std::string> all;
    for (auto const& each : parameters_) {
      if (values_of(each).size() > 1) { all.push_back(each.name); }
    }
    return all;
  }

  std::vector<swept> parameters_;
  std::vector<std::string> axes_, names_;
  std::tuple<Fs...> makes_;
  std::string title_, refusal_;
};

/// Collects names and callables behind the parameters.
template <bool Swept, class Lists, class... Fs>
auto collect(std::vector<swept> parameters, Lists, std::vector<std::string> names, Fs... makes) {
  return own_experiment<Swept, Lists, Fs...>{std::move(parameters), std::move(names),
                                             std::move(makes)...};
}

template <std::size_t Parameters, class... Args, std::size_t... P, std::size_t... F>
auto experiment_of(std::tuple<Args...> all, std::index_sequence<P...>, std::index_sequence<F...>) {
  std::vector<swept> parameters;
  (parameters.push_back(swept_of(std::get<P>(all))), ...);
  std::vector<std::string> names;
  (names.emplace_back(std::get<Parameters + 2 * F>(all)), ...);
  using lists = decltype(std::tuple_cat(list_of(std::get<P>(all))...));
  return collect<(Parameters > 0)>(std::move(parameters), lists{}, std::move(names),
                                   std::move(std::get<Parameters + 2 * F + 1>(all))...);
}

template <class T>
inline constexpr bool is_parameter = false;
template <class... Types>
inline constexpr bool is_parameter<parameter<Types...>> = true;

/// The experiment of `assay::experiment`, to be run.
template <class... Args>
auto experiment_of(Args... args) {
  constexpr std::size_t parameters = (std::size_t{is_parameter<Args>} + ... + 0);
  constexpr std::size_t rest = sizeof...(Args) - parameters;
  static_assert(rest > 0 && rest % 2 == 0,
                "after the parameters come pairs: a name and a callable, the control first");
  return experiment_of<parameters>(std::tuple<Args...>{std::move(args)...},
                                   std::make_index_sequence<parameters>{},
                                   std::make_index_sequence<rest / 2>{});
}

}  // namespace cli::detail

/// Runs a comparison of one's own as a program, and returns its exit code:
/// `return experiment(argc, argv, "question", parameter..., "name", f, "name", g, ...);`
///
/// Without parameters, `make` is a callable as `compare_all` takes it. With parameters each of them
/// is called with a point, and with a `std::type_identity` for each parameter of types, and returns
/// a callable of `compare_all`. Parameters are options of the command line: `--n 4096,8192`.
///
/// At each point, the callables are compared with the first one; see `cli::sweep` for the error
/// rate. A single callable is compared between points: each with the first. Callables are made once
/// before the run, to refuse values early, and once again for their cell. A function may throw
/// `skip`. Work on streams needs `<assay/compare.cuh>`.
template <class... Args>
int experiment(int argc, char const* const* argv, std::string const& question, Args... args) {
  return cli::detail::experiment_of(std::move(args)...).run(argc, argv, question);
}

}  // namespace assay
