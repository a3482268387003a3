// SPDX-License-Identifier: Apache-2.0
/// @file
/// `CAST(COALESCE(x, 0) AS DOUBLE)` on a nullable column, as three kernels or as one.
///
/// This header is the workload itself and its host half; `workload/null_cast.cuh` adds the device.
#pragma once

#include <assay/core/place.hpp>
#include <assay/core/range.hpp>
#include <assay/host/null_cast.hpp>
#include <assay/reference/null_cast.hpp>
#include <assay/workload/columns.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/scratch.hpp>
#include <assay/workload/verify.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

/// One kernel of a workload, and what it must move.
struct kernel_traffic {
  std::string_view name;
  traffic moves;
  bool operator==(kernel_traffic const&) const = default;
};

/// As libraries do it, or as one pass.
enum class null_cast_form { three_kernels, fused };

/// The types of values that can be cast here.
template <class T>
concept null_cast_value =
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> || std::same_as<T, float>;

/// What to cast, and in which form: `null_cast<T>` or `null_cast_fused<T>`.
///
/// Runs on lanes of any place whose half is included. `prepare` copies the column to the place, to
/// addresses that vary from call to call; `enqueue` writes output `lane.index`. The three kernels
/// take three temporaries from the lane's memory per item (bools, coalesced values, their validity)
/// and write the doubles with a validity mask; the fused form takes none and writes no mask, since
/// no row of the result is null.
template <null_cast_value T, null_cast_form Form>
struct basic_null_cast {
  using value_type = T;
  static constexpr null_cast_form form = Form;
  static constexpr bool fused = Form == null_cast_form::fused;
  static constexpr std::string_view name = fused ? "null_cast_fused" : "null_cast";
  static constexpr std::int64_t max_rows = std::int64_t{1} << 40;

  std::int64_t rows = 2'684'354;  ///< 10.24 MiB of int32: a thousandth of a 10 GiB pool
  double null_fraction = 0.1;
  std::uint64_t seed = 0x5EED;
  /// A caller's own column instead of a generated one, whose rows and nulls count instead of the
  /// fields above. It is read by `prepare` and by `verify`, and must outlive every state.
  std::optional<column_view<T>> input{};

  bool operator==(basic_null_cast const&) const = default;

  std::int64_t row_count() const noexcept { return input ? input->rows : rows; }

  std::string describe() const {
    constexpr auto type = std::same_as<T, float>          ? "float"
                          : std::same_as<T, std::int32_t> ? "int32"
                                                          : "int64";
    parameter_list all;
    all.show("rows", row_count());
    if (input) {
      all.show("caller's column");
    } else {
      all.show("null_fraction", null_fraction);
    }
    return all.show("seed", seed, basic_null_cast{}.seed)
        .after(std::string{name} + '<' + type + '>');
  }

  /// Throws `std::invalid_argument` that names the field, its value and what is allowed.
  void validate() const {
    if (row_count() < 0 || row_count() > max_rows) {
      throw std::invalid_argument("rows = " + std::to_string(row_count()) +
                                  " is not possible: 0 to 2^40 rows are");
    }
    if (input && input->rows > 0 && input->values == nullptr) {
      throw std::invalid_argument("the caller's column has " + std::to_string(input->rows) +
                                  " rows but no values: give a pointer to them");
    }
    if (!(null_fraction >= 0 && null_fraction <= 1)) {
      throw std::invalid_argument("null_fraction = " + std::to_string(null_fraction) +
                                  " is not possible: it is a share from 0 to 1");
    }
  }

  /// The kernels in order. Per row: s bytes a value, 1/8 byte a validity bit, 1 byte a bool, 8
  /// bytes a double.
  auto kernels() const {
    constexpr double s = sizeof(T);
    constexpr double bit = 1.0 / 8;
    auto const n = static_cast<double>(row_count());
    if constexpr (fused) {
      return std::array{kernel_traffic{"null_cast_fused", {(s + bit) * n, 8 * n, 0}}};
    } else {
      return std::array{kernel_traffic{"is_valid", {bit * n, n, 0}},
                        kernel_traffic{"copy_if_else", {(1 + s + bit) * n, (s + bit) * n, 0}},
                        kernel_traffic{"cast", {(s + bit) * n, (8 + bit) * n, 0}}};
    }
  }

  traffic item_traffic() const {
    traffic sum;
    for (auto const& each : kernels()) { sum = sum + each.moves; }
    return sum;
  }

  template <any_lane Lane>
  requires requires(Lane& where, basic_null_cast const& work) { prepare_on(where, work, 1); }
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

  /// Fills every byte of every output; see `poison_byte`.
  template <class State>
  void poison(State& state) const {
    state.poison();
  }

  /// Compares every row of every output, and every validity bit that belongs to a row, with the
  /// reference: bit for bit, but any NaN may stand for any other.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }
};

/// As libraries do it: is_valid (bits to bools), copy_if_else (nulls to zero), cast (to double).
template <class T>
using null_cast = basic_null_cast<T, null_cast_form::three_kernels>;

/// The same result in one pass.
template <class T>
using null_cast_fused = basic_null_cast<T, null_cast_form::fused>;

/// What poisoned doubles consist of: 0x7F7F...7F is 1.4e306, more than any float, int32 or int64,
/// and no NaN, so that no correct result has it. Poisoned masks are 0: every row null.
inline constexpr int poison_byte = 0x7F;

namespace detail {

/// The column that a workload casts, in host memory, and who keeps it alive.
template <class T>
struct source_column {
  column_view<T> view;
  std::shared_ptr<column<T> const> owner;

  template <null_cast_form Form>
  explicit source_column(basic_null_cast<T, Form> const& work) {
    if (work.input) {
      view = *work.input;
    } else {
      owner = generated_column<T>({work.rows, work.null_fraction, work.seed});
      view = owner->view();
    }
  }

  /// Bytes of the mask that belong to rows.
  std::size_t used_mask_bytes() const noexcept {
    return (static_cast<std::size_t>(view.rows) + 7) / 8;
  }
};

/// Compares `got[0 .. end - begin)`, rows [begin, end) of a lane's output, with the reference.
template <class T>
mismatch check_values(int lane, column_view<T> source, double const* got, std::int64_t begin,
                      std::int64_t end) {
  auto const wrong = [&](std::int64_t low, std::int64_t high) {
    std::array<double, verify_step> expected;
    reference::null_cast(source.values, source.mask, begin + low, begin + high, expected.data());
    auto row = low;
    while (row < high &&
           reference::same_result(got[row], expected[static_cast<std::size_t>(row - low)])) {
      ++row;
    }
    return row;
  };
  auto const row = first_wrong(end - begin, wrong);
  if (row == end - begin) { return {}; }
  double expected = 0;
  reference::null_cast(source.values, source.mask, begin + row, begin + row + 1, &expected);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "got %.17g, expected %.17g", got[row], expected);
  return wrong_row(lane, begin + row, text.data());
}

/// Checks that every row of a result is valid: COALESCE with a value leaves no nulls.
inline mismatch check_mask(int lane, std::uint8_t const* got, std::int64_t rows) {
  auto const wrong = [&](std::int64_t low, std::int64_t high) {
    auto row = low;
    while (row < high) {
      if (row % 8 == 0 && row + 8 <= high && got[row / 8] == 0xFF) {
        row += 8;
      } else if (reference::is_valid(got, row)) {
        ++row;
      } else {
        break;
      }
    }
    return row;
  };
  auto const row = first_wrong(rows, wrong);
  if (row == rows) { return {}; }
  return wrong_row(lane, row, "got null, expected a value");
}

}  // namespace detail

/// What items on the host use: the input, and an output for each lane.
template <class T, null_cast_form Form>
class host_null_cast_state {
 public:
  struct output {
    std::unique_ptr<double[]> values;
    std::unique_ptr<std::uint8_t[]> mask;  ///< none for the fused form
  };

  host_null_cast_state(basic_null_cast<T, Form> const& work, int lanes)
      : source_(work),
        values_(std::make_unique_for_overwrite<T[]>(size())),
        mask_(std::make_unique<std::uint8_t[]>(mask_bytes(rows()))) {
    std::copy_n(source_.view.values, size(), values_.get());
    if (source_.view.mask != nullptr) {
      std::copy_n(source_.view.mask, source_.used_mask_bytes(), mask_.get());
    } else {
      std::fill_n(mask_.get(), mask_bytes(rows()), std::uint8_t{0xFF});
    }
    for (int lane = 0; lane < lanes; ++lane) {
      auto& each = outputs.emplace_back();
      each.values = std::make_unique_for_overwrite<double[]>(size());
      if (Form == null_cast_form::three_kernels) {
        each.mask = std::make_unique_for_overwrite<std::uint8_t[]>(mask_bytes(rows()));
      }
    }
    poison();  // also so that no page is touched for the first time by a timed item
  }

  std::int64_t rows() const noexcept { return source_.view.rows; }
  T const* values() const noexcept { return values_.get(); }
  std::uint8_t const* mask() const noexcept { return mask_.get(); }

  void poison() {
    for (auto& each : outputs) {
      std::memset(static_cast<void*>(each.values.get()), poison_byte, size() * sizeof(double));
      if (each.mask) { std::memset(each.mask.get(), 0, mask_bytes(rows())); }
    }
  }

  mismatch verify() const {
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      auto const& each = outputs[static_cast<std::size_t>(lane)];
      auto found = detail::check_values(lane, source_.view, each.values.get(), 0, rows());
      if (!found && each.mask) { found = detail::check_mask(lane, each.mask.get(), rows()); }
      if (found) { return found; }
    }
    return {};
  }

  std::vector<output> outputs;  ///< one for each lane

 private:
  std::size_t size() const noexcept { return static_cast<std::size_t>(rows()); }

  detail::source_column<T> source_;
  std::unique_ptr<T[]> values_;
  std::unique_ptr<std::uint8_t[]> mask_;
};

template <host_lane Lane, class T, null_cast_form Form>
auto prepare_on(Lane&, basic_null_cast<T, Form> const& work, int lanes) {
  return host_null_cast_state<T, Form>{work, lanes};
}

template <host_lane Lane, class T>
void enqueue_on(Lane& where, null_cast<T> const&,
                host_null_cast_state<T, null_cast_form::three_kernels>& state) {
  auto const rows = state.rows();
  auto const threads = where.place.threads;
  range const here{"null_cast", category::cpu, static_cast<std::uint64_t>(rows)};
  auto& out = state.outputs.at(static_cast<std::size_t>(where.index));
  scratch<std::uint8_t, Lane> const bools{where, static_cast<std::size_t>(rows)};
  host::is_valid(threads, rows, state.mask(), bools.get());
  scratch<T, Lane> const data{where, static_cast<std::size_t>(rows)};
  scratch<std::uint8_t, Lane> const mask{where, mask_bytes(rows)};
  host::copy_if_else(threads, rows, bools.get(), state.values(), state.mask(), T{0}, data.get(),
                     mask.get());
  host::cast(threads, rows, data.get(), mask.get(), out.values.get(), out.mask.get());
}

template <host_lane Lane, class T>
void enqueue_on(Lane& where, null_cast_fused<T> const&,
                host_null_cast_state<T, null_cast_form::fused>& state) {
  range const here{"null_cast_fused", category::cpu, static_cast<std::uint64_t>(state.rows())};
  auto& out = state.outputs.at(static_cast<std::size_t>(where.index));
  host::null_cast(where.place.threads, state.rows(), state.values(), state.mask(),
                  out.values.get());
}

}  // namespace assay::workloads
