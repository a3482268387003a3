// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `experiment.hpp`: parameters as options of a command line, and the types among them.
#pragma once

#include <assay/race/space.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace assay::cli::detail {

/// A parameter as the command line has it: the values that the program declares, and those that
/// `--name` or `--axis` puts in their place.
struct swept {
  enum class kind { numbers, texts, types };
  std::string name;
  kind of = kind::numbers;
  std::vector<std::string> declared;
  std::optional<std::string> given{};
  bool powers = false;  ///< the given values are exponents of 2

  std::string option() const { return "--" + name; }
};

swept swept_of(parameter<> const& of);

swept swept_of(parameter<text_values> const& of);
template <class... Types>
swept swept_of(parameter<Types...> const& of) {
  return {of.name, swept::kind::types, {type_name<Types>()...}};
}

/// The values of a parameter as texts. Throws `std::invalid_argument` for values that it cannot
/// have, for an empty list, and for a value that is named twice.
std::vector<std::string> values_of(swept const& of);

/// Reads an axis as nvbench has it: `n=4096`, `n=[1,2]`, `n[pow2]=[10:20:2]`, `type=[F32,F64]`.
void read_axis(std::string const& spec, std::vector<swept>& all);

/// Calls `then` with the types that a point names, one for each list.
template <class Then, class... Chosen>
void with_types(point const&, Then const& then, type_list<Chosen...> chosen) {
  then(chosen);
}
template <class Then, class... Chosen, class... Types, class... Rest>
void with_types(point const& at, Then const& then, type_list<Chosen...>, type_list<Types...>,
                Rest... rest) {
  auto const& name = at.types[sizeof...(Chosen)].second;
  ((type_name<Types>() == name ? with_types(at, then, type_list<Chosen..., Types>{}, rest...)
                               : void()),
   ...);
}

/// The lists of types among parameters, as a tuple.
std::tuple<> list_of(parameter<> const&);

std::tuple<> list_of(parameter<text_values> const&);
template <class... Types>
std::tuple<type_list<Types...>> list_of(parameter<Types...> const&) {
  return {};
}

/// All combinations of values: of numbers, then of texts, then of types.
std::vector<point> points_of(std::vector<swept> const& parameters);

}  // namespace assay::cli::detail

#ifndef ASSAY_DECLARED
#include <assay/cli/parameters_definitions.hpp>
#endif
