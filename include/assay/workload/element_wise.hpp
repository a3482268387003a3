// SPDX-License-Identifier: Apache-2.0
/// @file
/// What element-wise workloads have in common: their arrays, generated or a caller's own, and how
/// every element of a result is checked. `workload/element_wise.cuh` adds the device.
#pragma once

#include <assay/core/place.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/reference/null_cast.hpp>
#include <assay/workload/columns.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/verify.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::workloads {

/// Arrays in host memory that someone else owns, each with `elements` elements, in memory of any
/// kind. Where `output` is given, the result of the only lane goes there when items cross the link.
template <class T, std::size_t Inputs>
struct arrays_view {
  std::array<T const*, Inputs> inputs{};
  std::int64_t elements = 0;
  T* output = nullptr;
  bool operator==(arrays_view const&) const = default;
};

/// A workload whose element i of the output follows from elements i of the inputs:
/// `reference(inputs, count, expected, allowed)` fills in float64 what they are to be and by how
/// much they may differ.
template <class W>
concept element_wise =
    requires(W const& work, std::array<typename W::value_type const*, W::inputs> const& inputs,
             double* each) {
      { work.count() } -> std::same_as<std::int64_t>;
      work.reference(inputs, std::int64_t{}, each, each);
      work.seed;
      work.data;
    };

/// What outputs are poisoned with: more than any generated input leads to.
inline constexpr int element_poison_byte = 0x7F;

/// Element `index` of generated input number `which`: floats in [-1, 1) with random mantissas;
/// integers in [-2^29, 2^29), so that no sum of two is what poisoned outputs hold.
template <class T>
constexpr T generated_element(std::uint64_t seed, std::size_t which, std::uint64_t index) noexcept {
  auto const random = static_cast<std::int64_t>(random_at(seed + 0x9E3779B9U * which, index));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random >> 34U);
  } else {
    return static_cast<T>(static_cast<double>(random) * 0x1p-63);
  }
}

namespace detail {

/// Elements worth a thread of their own: some 0.1 ms of generating them.
inline constexpr std::int64_t element_grain = std::int64_t{1} << 16;

/// Writes elements [begin, end) of input `which` to `to[0 .. end - begin)`.
template <element_wise Work>
void fill_elements(Work const& work, std::size_t which, std::int64_t begin, std::int64_t end,
                   typename Work::value_type* to) {
  using value = typename Work::value_type;
  if (work.data) {
    std::memcpy(to, work.data->inputs[which] + begin,
                static_cast<std::size_t>(end - begin) * sizeof(value));
    return;
  }
  for (auto i = begin; i < end; ++i) {
    to[i - begin] = generated_element<value>(work.seed, which, static_cast<std::uint64_t>(i));
  }
}

/// What a short range is to be; on one thread's stack.
template <element_wise Work>
struct expected_range {
  std::array<double, verify_step> values;
  std::array<double, verify_step> allowed;

  expected_range(Work const& work, std::int64_t begin, std::int64_t end) {
    using value = typename Work::value_type;
    std::array<std::array<value, verify_step>, Work::inputs> copies;
    std::array<value const*, Work::inputs> inputs{};
    for (std::size_t k = 0; k < Work::inputs; ++k) {
      fill_elements(work, k, begin, end, copies[k].data());
      inputs[k] = copies[k].data();
    }
    work.reference(inputs, end - begin, values.data(), allowed.data());
  }

  bool accepts(std::int64_t i, double got) const {
    auto const at = static_cast<std::size_t>(i);
    return reference::same_result(got, values[at]) ||
           (std::isfinite(allowed[at]) && std::abs(got - values[at]) <= allowed[at] &&
            allowed[at] > 0);
  }
};

/// Throws `std::invalid_argument` that names the field, its value and what is allowed.
template <element_wise Work>
void require_elements(Work const& work, int lanes) {
  constexpr auto most = std::int64_t{1} << 40;
  if (work.count() < 0 || work.count() > most) {
    throw std::invalid_argument("elements = " + std::to_string(work.count()) +
                                " is not possible: 0 to 2^40 are");
  }
  if (work.data && work.data->elements > 0) {
    for (auto const* each : work.data->inputs) {
      if (each != nullptr) { continue; }
      throw std::invalid_argument("the caller's arrays have " +
                                  std::to_string(work.data->elements) +
                                  " elements but one of them has no address");
    }
  }
  if (lanes < 1) {
    throw std::invalid_argument("lanes = " + std::to_string(lanes) +
                                " is not possible: at least 1 is");
  }
  if (lanes > 1 && work.data && work.data->output != nullptr) {
    throw std::invalid_argument("lanes = " + std::to_string(lanes) +
                                ": the caller's one output serves one lane");
  }
  if (!work.data || work.data->output == nullptr) { return; }
  for (auto const* each : work.data->inputs) {
    if (each != work.data->output) { continue; }
    throw std::invalid_argument(
        "the caller's output is one of the inputs, from which the result is checked afterwards");
  }
}

/// The name of a workload with the type of its elements: `vector_add<float>`.
template <class Work>
std::string name_with_element() {
  using value = typename Work::value_type;
  return std::string{Work::name}.append(std::same_as<value, float>    ? "<float>"
                                        : std::same_as<value, double> ? "<double>"
                                                                      : "<int32>");
}

}  // namespace detail

/// A whole input, by all threads.
template <element_wise Work>
void fill_input(Work const& work, std::size_t which, typename Work::value_type* to) {
  host::parallel_for(host::all_threads(), work.count(), detail::element_grain,
                     [&, which](auto begin, auto end) {
                       detail::fill_elements(work, which, begin, end, to + begin);
                     });
}

/// Poisons `count` elements of an output in host memory, by all threads.
template <class T>
void poison_elements(T* output, std::int64_t count) {
  host::parallel_for(host::all_threads(), count, detail::element_grain, [&](auto begin, auto end) {
    std::memset(static_cast<void*>(output + begin), element_poison_byte,
                static_cast<std::size_t>(end - begin) * sizeof(T));
  });
}

/// Compares `got[0 .. end - begin)`, elements [begin, end) of a lane's output, with the reference.
template <element_wise Work>
mismatch check_elements(Work const& work, int lane, typename Work::value_type const* got,
                        std::int64_t begin, std::int64_t end) {
  auto const wrong = [&](std::int64_t low, std::int64_t high) {
    detail::expected_range<Work> const expected{work, begin + low, begin + high};
    auto row = low;
    while (row < high && expected.accepts(row - low, static_cast<double>(got[row]))) { ++row; }
    return row;
  };
  auto const row = first_wrong(end - begin, wrong);
  if (row == end - begin) { return {}; }
  detail::expected_range<Work> const expected{work, begin + row, begin + row + 1};
  std::array<char, 120> text{};
  std::snprintf(text.data(), text.size(), "got %.17g, expected %.17g within %.3g",
                static_cast<double>(got[row]), expected.values[0], expected.allowed[0]);
  return wrong_row(lane, begin + row, text.data());
}

/// What items on the host use: copies of the inputs, and an output for each lane.
template <element_wise Work>
class host_element_state {
 public:
  using value_type = typename Work::value_type;

  host_element_state(Work const& work, int lanes) : work_(work) {
    auto const size = static_cast<std::size_t>(work.count());
    for (std::size_t k = 0; k < Work::inputs; ++k) {
      inputs_[k] = std::make_unique_for_overwrite<value_type[]>(size);
      fill_input(work, k, inputs_[k].get());
    }
    for (int lane = 0; lane < lanes; ++lane) {
      outputs.push_back(std::make_unique_for_overwrite<value_type[]>(size));
    }
    poison();  // also so that no page is touched for the first time by a timed item
  }

  value_type const* input(std::size_t which) const noexcept { return inputs_[which].get(); }

  void poison() {
    for (auto& each : outputs) { poison_elements(each.get(), work_.count()); }
  }
  mismatch verify() const {
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      auto const* const got = outputs[static_cast<std::size_t>(lane)].get();
      if (auto found = check_elements(work_, lane, got, 0, work_.count())) { return found; }
    }
    return {};
  }

  std::vector<std::unique_ptr<value_type[]>> outputs;  ///< one for each lane

 private:
  Work work_;
  std::array<std::unique_ptr<value_type[]>, Work::inputs> inputs_;
};

template <host_lane Lane, element_wise Work>
auto prepare_on(Lane&, Work const& work, int lanes) {
  return host_element_state<Work>{work, lanes};
}

}  // namespace assay::workloads
