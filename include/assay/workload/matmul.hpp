// SPDX-License-Identifier: Apache-2.0
/// @file
/// A product of matrices.
///
/// This header is the workload itself and its host half; `workload/matmul.cuh` adds the device.
#pragma once

#include <assay/core/bfloat16.hpp>
#include <assay/core/range.hpp>
#include <assay/host/matmul.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/matmul_problem.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::workloads {

/// The types of elements that can be multiplied here: `float` in float32 arithmetic, `bfloat16`
/// with float32 sums.
template <class T>
concept matmul_value = std::same_as<T, float> || std::same_as<T, bfloat16>;

/// What outputs are poisoned with: 0x7F7F7F7F and 0x7F7F are 3.4e38, which no sum of these products
/// is.
inline constexpr int matmul_poison_byte = 0x7F;

/// C[m, n] = A[m, k] x B[k, n], all row-major.
///
/// Runs on lanes of any place whose half is included. On a device its kernel takes a copy strategy,
/// by which tiles of A and B reach shared memory; the rest of it is the same for all.
template <matmul_value T>
struct matmul {
  using value_type = T;
  static constexpr bool takes_copy = true;
  static constexpr std::string_view name = "matmul";
  static constexpr std::int64_t most = std::int64_t{1} << 20;
  static constexpr std::int64_t most_exact = std::int64_t{1} << 18;

  std::int64_t m = 4096;
  std::int64_t n = 4096;
  std::int64_t k = 4096;
  std::uint64_t seed = 0x5EED;
  /// Inputs of few bits, whose sums are exact in any order: then a result must be right to the last
  /// bit. They take less power than random mantissas do, and so are not for measuring.
  bool exact = false;

  bool operator==(matmul const&) const = default;

  std::string describe() const {
    return parameter_list{}
        .show(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k))
        .show("seed", seed, matmul{}.seed)
        .show("exact", exact, false)
        .after(std::string{name} + (std::same_as<T, float> ? "<float>" : "<bfloat16>"));
  }

  /// Throws `std::invalid_argument` that names the field, its value and what is allowed.
  void validate() const {
    for (auto const& [field, value] : {std::pair{"m", m}, std::pair{"n", n}, std::pair{"k", k}}) {
      if (value >= 0 && value <= most) { continue; }
      throw std::invalid_argument(std::string{field} + " = " + std::to_string(value) +
                                  " is not possible: 0 to 2^20 are");
    }
    if (exact && k > most_exact) {
      throw std::invalid_argument("k = " + std::to_string(k) +
                                  " is not possible with exact inputs: 0 to 2^18 are");
    }
  }

  matmul_recipe recipe() const { return {m, n, k, seed, exact}; }

  /// Each input once and the result once, from and to device memory: caches make it so, nearly.
  traffic item_traffic() const {
    constexpr double s = sizeof(T);
    auto const rows = static_cast<double>(m);
    auto const cols = static_cast<double>(n);
    auto const depth = static_cast<double>(k);
    return {s * depth * (rows + cols), s * rows * cols, 2 * rows * cols * depth};
  }

  template <any_lane Lane>
  requires requires(Lane& where, matmul const& work) { prepare_on(where, work, 1); }
  auto prepare(Lane& where, int lanes) const {
    validate();
    if (lanes < 1) {
      throw std::invalid_argument("lanes = " + std::to_string(lanes) +
                                  " is not possible: at least 1 is");
    }
    return prepare_on(where, *this, lanes);
  }
  template <any_lane Lane, class State>
  void enqueue(Lane& where, State& state) const {
    enqueue_on(where, *this, state);
  }
  /// Fills every byte of every output; see `matmul_poison_byte`.
  template <class State>
  void poison(State& state) const {
    state.poison();
  }
  /// Checks every output as `matmul_problem` does.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }
};

/// What items on the host use: the inputs, which they share, and an output for each lane.
template <matmul_value T>
class host_matmul_state {
 public:
  host_matmul_state(matmul<T> const& work, int lanes)
      : problem_(generated_matmul<T>(work.recipe())),
        size_(static_cast<std::size_t>(work.m * work.n)) {
    for (int lane = 0; lane < lanes; ++lane) {
      outputs.push_back(std::make_unique_for_overwrite<T[]>(size_));
    }
    poison();  // also so that no page is touched for the first time by a timed item
  }

  T const* a() const noexcept { return problem_->a(); }
  T const* b() const noexcept { return problem_->b(); }

  void poison() {
    for (auto& each : outputs) {
      std::memset(static_cast<void*>(each.get()), matmul_poison_byte, size_ * sizeof(T));
    }
  }
  mismatch verify() const {
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      auto const* const got = outputs[static_cast<std::size_t>(lane)].get();
      if (auto found = problem_->check(lane, got)) { return found; }
    }
    return {};
  }

  std::vector<std::unique_ptr<T[]>> outputs;  ///< one for each lane

 private:
  std::shared_ptr<matmul_problem<T>> problem_;
  std::size_t size_;
};

template <host_lane Lane, class T>
auto prepare_on(Lane&, matmul<T> const& work, int lanes) {
  return host_matmul_state<T>{work, lanes};
}

template <host_lane Lane, class T>
void enqueue_on(Lane& where, matmul<T> const& work, host_matmul_state<T>& state) {
  range const here{"matmul", category::cpu};
  host::matmul(where.place.threads, work.m, work.n, work.k, state.a(), state.b(),
               state.outputs.at(static_cast<std::size_t>(where.index)).get());
}

}  // namespace assay::workloads
