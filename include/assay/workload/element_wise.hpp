// SPDX-License-Identifier: Apache-2.0
/// @file
/// The common half of element-wise workloads: arrays, generated or a caller's own, and the check of
/// every element. `workload/element_wise.cuh` adds devices and transfers.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay::workloads {

/// Arrays in host memory of any kind that belong to a caller, each with `elements` elements. The
/// result of the only lane goes to `output`, if that is given and items cross the link.
template <class T, std::size_t Inputs>
struct arrays_view {
  std::array<T const*, Inputs> inputs{};
  std::int64_t elements = 0;
  T* output = nullptr;
  bool operator==(arrays_view const&) const = default;
};

/// The first elements of the inputs.
template <class T, std::size_t Inputs>
using element_inputs = std::array<T const*, Inputs>;

/// The arrays of a lane.
template <class T, std::size_t Inputs>
struct element_arrays {
  element_inputs<T, Inputs> inputs{};
  T* output = nullptr;
};

/// A workload in which element i of the output follows from elements i of the inputs:
/// `reference(inputs, wanted, errors)` writes expected elements, in float64 or in the integer type,
/// and the largest permitted error of each.
template <class W>
concept element_wise =
    requires(W const& work, element_inputs<typename W::value_type, W::inputs> const& inputs,
             std::span<double> each) {
      { work.count() } -> std::same_as<std::int64_t>;
      work.reference(inputs, each, each);
      work.seed;
      work.data;
    };

/// Generated inputs: floats in [-1, 1); integers in [-2^29, 2^29), so that no sum of two is what
/// poisoned outputs hold.
template <class T>
constexpr uniform<T> element_range() noexcept {
  if constexpr (std::is_integral_v<T>) {
    return {-(T{1} << 29), (T{1} << 29) - 1};
  } else {
    return {};
  }
}

/// All bytes of poisoned outputs: NaN as floating numbers, and a larger integer than any sum of two
/// generated ones.
template <class T>
inline constexpr unsigned char element_poison =
    std::is_integral_v<T> ? 0x7F : arrays::default_poison;

/// The expectation of an output. `element(k, i)` returns element i of input number k.
template <element_wise Work, class Element>
auto expect_elements(Work const& work, Element const& element) {
  using value = typename Work::value_type;
  return [work, element](std::size_t first, auto wanted, std::span<double> errors) {
    constexpr std::size_t step = 256;  // elements of inputs on the stack at a time
    std::array<std::array<value, step>, Work::inputs> copies;
    element_inputs<value, Work::inputs> from;
    for (std::size_t done = 0; done < wanted.size(); done += step) {
      auto const many = std::min(step, wanted.size() - done);
      for (std::size_t k = 0; k < Work::inputs; ++k) {
        for (std::size_t i = 0; i < many; ++i) { copies[k][i] = element(k, first + done + i); }
        from[k] = copies[k].data();
      }
      work.reference(from, wanted.subspan(done, many), errors.subspan(done, many));
    }
  };
}

/// Declares the arrays of one lane, and what the output must be.
template <element_wise Work>
auto declare_elements(Work const& work, setup& make) {
  using value = typename Work::value_type;
  constexpr auto poison = element_poison<value>;
  auto const n = size_of(work.count());
  bool const own_output = work.data && work.data->output != nullptr;
  std::array<array_view<value>, Work::inputs> in;
  element_arrays<value, Work::inputs> all;
  for (std::size_t k = 0; k < Work::inputs; ++k) {
    in[k] = work.data ? make.from(std::span{work.data->inputs[k], n})
                      : make.random<value>(n, element_range<value>());
    all.inputs[k] = in[k].data();
  }
  auto const out = own_output ? make.output_in(std::span{work.data->output, n}, poison)
                              : make.output<value>(n, poison);
  all.output = out.data();
  make.expect(
      out, expect_elements(work, [in](std::size_t k, std::size_t i) { return in[k].seeded(i); }));
  return all;
}

/// Throws `std::invalid_argument` with the field, its value and the permitted values.
template <element_wise Work>
void require_elements(Work const& work) {
  constexpr auto most = std::int64_t{1} << 40;
  if (work.count() < 0 || work.count() > most) {
    throw std::invalid_argument(
        concat({"elements = ", std::to_string(work.count()), " is not possible: 0 to 2^40 are"}));
  }
  if (!work.data) { return; }
  for (auto const* each : work.data->inputs) {
    if (each == nullptr && work.data->elements > 0) {
      throw std::invalid_argument(
          concat({"the caller's arrays have ", std::to_string(work.data->elements),
                  " elements but one of them has no address"}));
    }
    if (each != nullptr && each == work.data->output) {
      throw std::invalid_argument(
          "the caller's output is one of the inputs, from which the result is checked afterwards");
    }
  }
}

/// The name with the type of the elements, and the parameters: `vector_add<float>{elements=7}`.
/// `show_more(list)` adds further parameters.
template <element_wise Work, class More>
std::string describe_elements(Work const& work, More const& show_more) {
  using value = typename Work::value_type;
  parameter_list all;
  show_more(all.show("elements", work.count()));
  if (work.data) { all.show(Work::inputs == 1 ? "caller's array" : "caller's arrays"); }
  return all.show("seed", work.seed, default_seed)
      .after(std::string{Work::name}.append(std::same_as<value, float>    ? "<float>"
                                            : std::same_as<value, double> ? "<double>"
                                                                          : "<int32>"));
}

}  // namespace assay::workloads
