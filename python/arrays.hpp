// SPDX-License-Identifier: Apache-2.0
/// @file
/// `python::setup_arrays`: arrays of a setup as Python sees them.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/arrays/small_float.hpp>
#include <assay/stats/number_text.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::python {

namespace nb = nanobind;

using shape_of = std::vector<std::size_t>;

/// One array of a setup. It may be used until the work that the factory returned is gone.
struct array {
  void* data = nullptr;
  shape_of shape;
  nb::dlpack::dtype type{};
  int device = -1;  ///< -1: the host
  /// The values with which its elements start, as float64.
  std::function<std::vector<double>()> seeded;
  /// Declares what is right, by a function that writes all of it.
  std::function<void(setup&, std::function<void(std::span<double>)>, std::optional<tolerance>,
                     std::optional<rounding_rule>)>
      expect;

  std::size_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>{});
  }
  /// A view by DLPack, which owns nothing.
  nb::ndarray<> view() const {
    return {data,
            shape.size(),
            shape.data(),
            nb::none(),
            nullptr,
            type,
            device < 0 ? nb::device::cpu::value : nb::device::cuda::value,
            std::max(device, 0)};
  }
};

using half = arrays::small_float<arrays::half_format>;
using brain_float = arrays::small_float<arrays::bfloat16_format>;

/// The type of elements as DLPack names it.
template <class T>
nb::dlpack::dtype dtype_of() {
  if constexpr (!arrays::small_floating<T>) {
    return nb::dtype<T>();
  } else {
    using nb::dlpack::dtype_code;
    auto const code = std::is_same_v<T, half> ? dtype_code::Float : dtype_code::Bfloat;
    return {static_cast<std::uint8_t>(code), 8 * sizeof(T), 1};
  }
}

/// Calls `body` with a value of the type of that name. Throws `std::invalid_argument` for others.
template <class Body>
array with_type(std::string const& name, Body const& body) {
  if (name == "float32") { return body(float{}); }
  if (name == "float64") { return body(double{}); }
  if (name == "float16") { return body(half{}); }
  if (name == "bfloat16") { return body(brain_float{}); }
  if (name == "int32") { return body(std::int32_t{}); }
  if (name == "int64") { return body(std::int64_t{}); }
  if (name == "uint8") { return body(std::uint8_t{}); }
  if (name == "uint32") { return body(std::uint32_t{}); }
  throw std::invalid_argument("dtype '" + name +
                              "': choose one of float32, float64, float16, bfloat16, int32, int64, "
                              "uint8 and uint32");
}

/// A float64 number as one of the type. Throws `std::invalid_argument` where the type lacks it.
template <class T>
T number_as(double number, std::string const& what) {
  if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    if (!(number == std::trunc(number) && number >= static_cast<double>(limits::min()) &&
          number < static_cast<double>(limits::max()) + 1)) {
      throw std::invalid_argument(what + ": " + stats::number_text(number) + " is no " +
                                  (std::is_signed_v<T> ? "int" : "uint") +
                                  std::to_string(8 * sizeof(T)));
    }
  }
  return static_cast<T>(number);
}

/// The array of Python for a view of C++.
template <class T>
array made(array_view<T> of, shape_of shape, int device) {
  array all{of.data(), std::move(shape), dtype_of<T>(), device, {}, {}};
  all.seeded = [of] {
    std::vector<double> values(of.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(of.seeded(i));
    }
    return values;
  };
  all.expect = [of](setup& with, std::function<void(std::span<double>)> write,
                    std::optional<tolerance> allowed, std::optional<rounding_rule> rule) {
    using wanted = std::conditional_t<std::is_integral_v<T>, T, double>;
    auto const right = [write = std::move(write)](std::span<wanted> to) {
      if constexpr (std::is_same_v<wanted, double>) {
        write(to);
      } else {
        std::vector<double> values(to.size());
        write(values);
        std::string const what = "right values";
        std::ranges::transform(values, to.begin(),
                               [&](double each) { return number_as<T>(each, what); });
      }
    };
    if (rule) {
      with.expect(of, right, *rule);
    } else {
      with.expect(of, right, allowed.value_or(default_tolerance<T>));
    }
  };
  return all;
}

}  // namespace assay::python
