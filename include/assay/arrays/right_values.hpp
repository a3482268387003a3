// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: functions that say what is right, with erased types.
#pragma once

#include <assay/arrays/array_view.hpp>
#include <assay/arrays/element.hpp>
#include <assay/arrays/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

/// The type behind `cudaStream_t`, declared here so that no CUDA header is needed.
struct CUstream_st;

namespace assay::arrays::detail {

/// A function that writes right values of type `wanted`, and their permitted errors where it is of
/// the form `part`.
struct right_values {
  enum class form { element, part, whole };
  element type = element::f64;    ///< of the array
  element wanted = element::f64;  ///< f64 for floating arrays, else an integer
  form of = form::element;
  std::function<void(std::size_t first, std::size_t count, void* wanted, double* errors)> write;
};

/// Returns the error in an array, if it has one.
using array_judge = std::function<std::optional<std::string>(void const* got, std::size_t size)>;

/// Runs a reference on a stream, which a host ignores.
using reference_run = std::function<void(void* out, void* stream)>;

template <class T, class F>
reference_run reference_by(F reference) {
  return [reference = std::move(reference)](void* out, [[maybe_unused]] void* stream) mutable {
    auto* const to = static_cast<T*>(out);
    if constexpr (std::is_invocable_v<F&, T*>) {
      reference(to);
    } else {
      reference(to, static_cast<CUstream_st*>(stream));
    }
  };
}

/// The function of a call of `setup::expect`, of any of its three forms.
template <numeric T, class F>
right_values right_values_by(F f) {
  using whole = std::conditional_t<std::is_integral_v<T>, T, double>;
  using form = right_values::form;
  if constexpr (std::is_same_v<F, right_values>) {
    return f;  // one of several arrays
  } else if constexpr (std::is_invocable_v<F const&, std::size_t>) {
    using result = std::remove_cvref_t<std::invoke_result_t<F const&, std::size_t>>;
    if constexpr (std::is_integral_v<T>) {
      static_assert(std::is_integral_v<result>,
                    "setup.expect: f(i) must return an integer for an array of integers, because "
                    "64 bits do not fit a double");
    } else {
      static_assert(std::is_convertible_v<result, double>,
                    "setup.expect: f(i) must return a number");
    }
    using value = std::conditional_t<
        std::is_integral_v<T>,
        std::conditional_t<std::is_signed_v<result>, std::int64_t, std::uint64_t>, double>;
    return {element_of<T>, element_of<value>, form::element,
            [f = std::move(f)](std::size_t first, std::size_t count, void* wanted, double*) {
              for (std::size_t i = 0; i < count; ++i) {
                static_cast<value*>(wanted)[i] = static_cast<value>(f(first + i));
              }
            }};
  } else if constexpr (std::is_invocable_v<F const&, std::size_t, std::span<whole>,
                                           std::span<double>>) {
    return {element_of<T>, element_of<whole>, form::part,
            [f = std::move(f)](std::size_t first, std::size_t count, void* wanted, double* errors) {
              f(first, std::span{static_cast<whole*>(wanted), count}, std::span{errors, count});
            }};
  } else {
    static_assert(std::is_invocable_v<F const&, std::span<whole>>,
                  "setup.expect needs a const callable: f(std::size_t i) that returns the expected "
                  "element i, f(std::span<double> wanted) that writes all of them, or "
                  "f(std::size_t first, std::span<double> wanted, std::span<double> errors) that "
                  "writes some; the span of wanted elements has the array's own type where that is "
                  "an integer");
    if constexpr (std::is_invocable_v<F const&, std::span<whole>>) {
      return {element_of<T>, element_of<whole>, form::whole,
              [f = std::move(f)](std::size_t, std::size_t count, void* wanted, double*) {
                f(std::span{static_cast<whole*>(wanted), count});
              }};
    } else {
      return {};  // so that the message above stands alone
    }
  }
}

/// The same for an array, whose rows `f(row, column)` may take.
template <class View, class F>
right_values right_values_of(View const& array, F f) {
  constexpr bool by_row = std::is_invocable_v<F const&, std::size_t, std::size_t>;
  if constexpr (by_row && requires { array.leading_dimension(); }) {
    matrix const rows{array.rows(), array.columns(), array.leading_dimension()};
    return right_values_by<viewed<View>>(by_index(rows, std::move(f)));
  } else {
    return right_values_by<viewed<View>>(std::move(f));
  }
}

}  // namespace assay::arrays::detail
