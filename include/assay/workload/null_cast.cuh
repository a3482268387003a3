// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::null_cast` and `null_cast_fused` on the device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/workload/null_cast.hpp>
#include <assay/workload/null_cast_kernels.cuh>
#include <assay/workload/resident.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace assay::workloads {

/// What items on a device use: the input, and an output for each lane.
template <class T, null_cast_form Form>
class device_null_cast_state {
 public:
  struct output {
    resident<double> values;
    resident<std::uint32_t> mask;  ///< without room in the fused form
  };

  device_null_cast_state(on::device place, basic_null_cast<T, Form> const& work, int lanes)
      : place_(place), source_(work) {
    device_guard const guard{place};
    range const here{"null_cast prepare", category::transfer};
    values_.emplace(size());
    mask_.emplace(mask_bytes(rows()) / 4);
    if (rows() > 0) { fill(); }
    for (int lane = 0; lane < lanes; ++lane) {
      outputs.push_back({resident<double>{size()}, resident<std::uint32_t>{output_mask_words()}});
    }
    poison();
  }

  std::int64_t rows() const noexcept { return source_.view.rows; }
  T const* values() const noexcept { return values_->get(); }
  std::uint32_t const* mask() const noexcept { return mask_->get(); }

  void poison() {
    range const here{"poison", category::gpu, outputs.size() * size() * sizeof(double)};
    device_guard const guard{place_};
    for (auto& each : outputs) {
      if (rows() == 0) { break; }
      check(cudaMemset(each.values.get(), poison_byte, size() * sizeof(double)));
      if (Form == null_cast_form::three_kernels) {
        check(cudaMemset(each.mask.get(), 0, mask_bytes(rows())));
      }
    }
    check(cudaDeviceSynchronize());
  }

  mismatch verify() const {
    constexpr std::int64_t chunk = std::int64_t{1} << 22;  // 32 MiB at a time on the host
    range const here{"verify outputs", category::transfer};
    device_guard const guard{place_};
    auto const length = static_cast<std::size_t>(std::min(rows(), chunk));
    auto const got = std::make_unique_for_overwrite<double[]>(length);
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      auto const& each = outputs[static_cast<std::size_t>(lane)];
      for (std::int64_t begin = 0; begin < rows(); begin += chunk) {
        auto const end = std::min(begin + chunk, rows());
        check(cudaMemcpy(got.get(), each.values.get() + begin,
                         static_cast<std::size_t>(end - begin) * sizeof(double),
                         cudaMemcpyDefault));
        if (auto found = detail::check_values(lane, source_.view, got.get(), begin, end)) {
          return found;
        }
      }
      if (Form == null_cast_form::three_kernels && rows() > 0) {
        std::vector<std::uint8_t> bits(source_.used_mask_bytes());
        check(cudaMemcpy(bits.data(), each.mask.get(), bits.size(), cudaMemcpyDefault));
        if (auto found = detail::check_mask(lane, bits.data(), rows())) { return found; }
      }
    }
    return {};
  }

  std::vector<output> outputs;  ///< one for each lane

 private:
  std::size_t size() const noexcept { return static_cast<std::size_t>(rows()); }
  std::size_t output_mask_words() const noexcept {
    return Form == null_cast_form::fused ? 0 : mask_bytes(rows()) / 4;
  }
  void fill() {
    check(cudaMemcpy(values_->get(), source_.view.values, size() * sizeof(T), cudaMemcpyDefault));
    check(cudaMemset(mask_->get(), 0xFF, mask_bytes(rows())));
    if (source_.view.mask == nullptr) { return; }
    check(
        cudaMemcpy(mask_->get(), source_.view.mask, source_.used_mask_bytes(), cudaMemcpyDefault));
  }

  on::device place_;
  detail::source_column<T> source_;
  std::optional<resident<T>> values_;
  std::optional<resident<std::uint32_t>> mask_;
};

template <device_lane Lane, class T, null_cast_form Form>
auto prepare_on(Lane& where, basic_null_cast<T, Form> const& work, int lanes) {
  return device_null_cast_state<T, Form>{where.place, work, lanes};
}

/// Three kernels on the lane's stream, whose device must be current on this thread.
template <device_lane Lane, class T>
void enqueue_on(Lane& where, null_cast<T> const&,
                device_null_cast_state<T, null_cast_form::three_kernels>& state) {
  using tuned = kernel::null_cast_tuning<T>;
  auto const rows = state.rows();
  range const here{"null_cast", category::gpu, static_cast<std::uint64_t>(rows)};
  auto& out = state.outputs.at(static_cast<std::size_t>(where.index));
  scratch<std::uint8_t, Lane> const bools{where, static_cast<std::size_t>(rows)};
  kernel::launch_is_valid<typename tuned::is_valid>(where.place, where.stream, rows, state.mask(),
                                                    bools.get());
  scratch<T, Lane> const data{where, static_cast<std::size_t>(rows)};
  scratch<std::uint32_t, Lane> const mask{where, mask_bytes(rows) / sizeof(std::uint32_t)};
  kernel::launch_copy_if_else<T, typename tuned::copy_if_else>(
      where.place, where.stream, rows, bools.get(), state.values(), state.mask(), T{0}, data.get(),
      mask.get());
  kernel::launch_cast<T, typename tuned::cast>(where.place, where.stream, rows, data.get(),
                                               mask.get(), out.values.get(), out.mask.get());
}

/// One kernel on the lane's stream, whose device must be current on this thread.
template <device_lane Lane, class T>
void enqueue_on(Lane& where, null_cast_fused<T> const&,
                device_null_cast_state<T, null_cast_form::fused>& state) {
  auto const rows = state.rows();
  range const here{"null_cast_fused", category::gpu, static_cast<std::uint64_t>(rows)};
  auto& out = state.outputs.at(static_cast<std::size_t>(where.index));
  kernel::launch_null_cast_fused<T, typename kernel::null_cast_tuning<T>::fused>(
      where.place, where.stream, rows, state.values(), state.mask(), out.values.get());
}

}  // namespace assay::workloads
