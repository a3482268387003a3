// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arrays of a benchmark's own for element-wise workloads: filled, poisoned and checked in host
/// memory.
#pragma once

#include <assay/arrays/expected_elements.hpp>
#include <assay/workload/element_wise.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::benchmark {

/// The elements of a generated input, in host memory: for callers that keep arrays of their own.
template <workloads::element_wise Work>
void fill_input(Work const& work, std::size_t which, typename Work::value_type* to) {
  using value = typename Work::value_type;
  arrays::host_array_store{0}.fill_random(to, workloads::size_of(work.count()),
                                          arrays::erase(workloads::element_range<value>()),
                                          random_bits(work.seed, which));
}

/// Poisons `count` elements of an output in host memory.
template <class T>
void poison_elements(T* output, std::int64_t count) {
  arrays::host_array_store{0}.fill(output, workloads::element_poison<T>,
                                   workloads::size_of(count) * sizeof(T));
}

/// Compares elements [begin, end) of the output of a caller's own arrays with the reference.
/// Element `begin` is at `got`, and has number 0 in the text.
template <workloads::element_wise Work>
mismatch check_elements(Work const& work, typename Work::value_type const* got, std::int64_t begin,
                        std::int64_t end) {
  using value = typename Work::value_type;
  auto const wanted = workloads::expect_elements(
      work, [in = work.data->inputs, from = workloads::size_of(begin)](
                std::size_t k, std::size_t i) { return in[k][from + i]; });
  arrays::host_array_store store{0};
  arrays::detail::expected_elements expected{
      workloads::size_of(end - begin), arrays::detail::right_values_by<value>(wanted), {}, true};
  std::string const unnamed;
  worst_error worst;
  return expected.mismatch({store, got, workloads::element_poison<value>, 0, unnamed, 1, 0, worst});
}

}  // namespace assay::benchmark
