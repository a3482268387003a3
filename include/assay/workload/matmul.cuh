// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::matmul` on the device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/workload/matmul.hpp>
#include <assay/workload/matmul_kernel.cuh>
#include <assay/workload/resident.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace assay::workloads {

/// What items on a device use: the inputs, at pitches of whole 16 bytes, and an output for each
/// lane. What the pitch leaves over is poisoned, so that a kernel which reads it computes nonsense.
template <matmul_value T>
class device_matmul_state {
 public:
  device_matmul_state(on::device place, matmul<T> const& work, int lanes)
      : place_(place),
        m_(static_cast<std::size_t>(work.m)),
        n_(static_cast<std::size_t>(work.n)),
        problem_(generated_matmul<T>(work.recipe())) {
    device_guard const guard{place};
    range const here{"matmul prepare", category::transfer};
    auto const left = upload(a_, problem_->a(), work.m, work.k);
    auto const right = upload(b_, problem_->b(), work.k, work.n);
    bool const mapped = attribute(place, cudaDevAttrComputeCapabilityMajor) >= 9;
    inputs_ = std::make_unique<matmul_inputs<T>>(left, right, mapped);
    for (int lane = 0; lane < lanes; ++lane) {
      outputs.emplace_back(std::max<std::size_t>(1, m_ * pitch()));
    }
    poison();
  }

  matmul_inputs<T> const& inputs() const noexcept { return *inputs_; }
  /// Elements from one row of an output to the next.
  std::size_t pitch() const noexcept {
    return static_cast<std::size_t>(copy::chunked_pitch<T>(static_cast<std::int64_t>(n_)));
  }

  void poison() {
    range const here{"poison", category::gpu, outputs.size() * m_ * pitch() * sizeof(T)};
    device_guard const guard{place_};
    for (auto& each : outputs) {
      if (m_ * n_ == 0) { break; }
      check(cudaMemset(each.get(), matmul_poison_byte, m_ * pitch() * sizeof(T)));
    }
    check(cudaDeviceSynchronize());
  }

  mismatch verify() const {
    range const here{"verify outputs", category::transfer};
    if (m_ * n_ == 0) { return {}; }
    device_guard const guard{place_};
    auto const got = std::make_unique_for_overwrite<T[]>(m_ * n_);
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      check(cudaMemcpy2D(got.get(), n_ * sizeof(T), outputs[static_cast<std::size_t>(lane)].get(),
                         pitch() * sizeof(T), n_ * sizeof(T), m_, cudaMemcpyDefault));
      if (auto found = problem_->check(lane, got.get())) { return found; }
    }
    return {};
  }

  std::vector<resident<T>> outputs;  ///< one for each lane

 private:
  static copy::matrix_view<T> upload(std::optional<resident<T>>& to, T const* from,
                                     std::int64_t rows, std::int64_t cols) {
    auto const pitch = copy::chunked_pitch<T>(cols);
    auto const size = static_cast<std::size_t>(rows * pitch);
    to.emplace(std::max<std::size_t>(1, size));
    if (size > 0) {
      auto const row_bytes = static_cast<std::size_t>(cols) * sizeof(T);
      check(cudaMemset(to->get(), matmul_poison_byte, size * sizeof(T)));
      check(cudaMemcpy2D(to->get(), static_cast<std::size_t>(pitch) * sizeof(T), from, row_bytes,
                         row_bytes, static_cast<std::size_t>(rows), cudaMemcpyDefault));
    }
    return {to->get(), static_cast<int>(rows), static_cast<int>(cols), pitch};
  }

  on::device place_;
  std::size_t m_;
  std::size_t n_;
  std::shared_ptr<matmul_problem<T>> problem_;
  std::optional<resident<T>> a_;
  std::optional<resident<T>> b_;
  std::unique_ptr<matmul_inputs<T>> inputs_;
};

template <device_lane Lane, class T>
auto prepare_on(Lane& where, matmul<T> const& work, int lanes) {
  return device_matmul_state<T>{where.place, work, lanes};
}

/// Throws `std::invalid_argument` that says why, unless the product can run so on a device.
template <class T, copy_strategy Strategy>
void require_on(on::device place, matmul<T> const&, Strategy) {
  (void)matmul_shape_on<T, Strategy>(place);
}

/// One kernel on the lane's stream, whose device must be current on this thread.
template <device_lane Lane, class T>
requires copy_strategy<typename Lane::copy_type>
void enqueue_on(Lane& where, matmul<T> const&, device_matmul_state<T>& state) {
  range const here{"matmul", category::gpu};
  auto& out = state.outputs.at(static_cast<std::size_t>(where.index));
  launch_matmul(where.place, where.stream, where.copy, state.inputs(), out.get(),
                static_cast<std::int64_t>(state.pitch()));
}

}  // namespace assay::workloads
