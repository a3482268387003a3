// SPDX-License-Identifier: Apache-2.0
/// @file
/// `experiment`: callables and parameters to sweep, as a program with the options, files and exit
/// codes of the shipped experiments. Needs CLI11 and nlohmann_json (CMake target `assay::cli`).
#pragma once

#include <assay/cli/options.hpp>
#include <assay/cli/parameters.hpp>
#include <assay/compare.hpp>
#include <assay/measure/callables.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/race/space.hpp>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

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
    return callables::detail::named(make(at, std::type_identity<Types>{}...));
  } else {
    return callables::detail::named(make);
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
          (list.entries.push_back(
               callables::erase(names[i++], callable_at<Swept>(make, at, chosen))),
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

/// An experiment without the types of its callables.
class erased_experiment {
 public:
  erased_experiment(std::vector<swept> parameters, std::vector<std::string> names, bool on_stream);
  virtual ~erased_experiment() = default;
  erased_experiment(erased_experiment const&) = delete;
  erased_experiment& operator=(erased_experiment const&) = delete;

  int run(int argc, char const* const* argv, std::string const& question);
  int run(int argc, char const* const* argv, std::string const& question, std::ostream& out,
          std::ostream& err);

 private:
  /// The callables of a point, in the order of their names.
  virtual measure::callable_list at_point(point const& at) = 0;

  void declare(CLI::App& app);
  std::optional<measure::comparison> measured(cli::options const& given, std::ostream& out);
  std::vector<std::string> without_skipped(std::vector<point>& cells);
  measure::options measuring(cli::options const& given) const;
  void list(point const& at, std::ostream& out) const;
  measure::comparison against_first_point(std::vector<point> const& cells,
                                          measure::options const& chosen);
  std::vector<std::string> varied() const;

  std::vector<swept> parameters_;
  std::vector<std::string> axes_;
  std::string title_, refusal_;
  bool on_stream_;

 protected:
  std::vector<std::string> names_;
};

/// Parameters, and callables with their names. `Lists` are the types of the parameters of types.
template <bool Swept, class Lists, class... Fs>
class own_experiment;

template <bool Swept, class... Lists, class... Fs>
class own_experiment<Swept, std::tuple<Lists...>, Fs...> final : public erased_experiment {
  using first = std::tuple_element_t<0, std::tuple<Fs...>>;
  using first_types = type_list<typename first_of<Lists>::type...>;
  static constexpr bool on_stream = callables::runs_on_stream<decltype(callable_at<Swept>(
      std::declval<first&>(), std::declval<point const&>(), first_types{}))>();

 public:
  own_experiment(std::vector<swept> parameters, std::vector<std::string> names, Fs... makes)
      : erased_experiment(std::move(parameters), std::move(names), on_stream),
        makes_(std::move(makes)...) {}

 private:
  measure::callable_list at_point(point const& at) override {
    measure::callable_list all{measure::detail::supported_place<on_stream>(), {}, {}};
    with_types(at, adding<Swept, Fs...>{all, names_, makes_, at}, type_list<>{}, Lists{}...);
    return all;
  }

  std::tuple<Fs...> makes_;
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

#ifndef ASSAY_DECLARED
#include <assay/cli/experiment_definitions.hpp>
#endif
