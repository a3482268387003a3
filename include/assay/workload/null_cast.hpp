// SPDX-License-Identifier: Apache-2.0
/// @file
/// `CAST(COALESCE(x, 0) AS DOUBLE)` on a nullable column, as three kernels or as one.
///
/// This header is the workload itself and its host half; `workload/null_cast.cuh` adds the device.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/submit/lane.hpp>
#include <assay/workload/array_workload.hpp>
#include <assay/workload/null_cast_host.hpp>
#include <assay/workload/nullable_column.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

/// Uninitialised room for `count` elements from a lane's memory, in the order of the lane's stream.
/// The destructor gives the room back; work that was submitted in between may outlive the object.
///
/// The object refers to the lane; a `buffer` holds a copy of the resource. A copy counts references
/// in a place that all lanes share, and costs more than a pool's allocation.
template <class T, any_lane Lane>
class scratch {
 public:
  scratch(Lane& where, std::size_t count)
      : where_(where),
        bytes_(count * sizeof(T)),
        first_(
            static_cast<T*>(where.memory.allocate(where.stream, bytes_, mr::default_alignment))) {}
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() {
    where_.memory.deallocate(where_.stream, static_cast<void*>(first_), bytes_,
                             mr::default_alignment);
  }

  T* get() const noexcept { return first_; }

 private:
  Lane& where_;
  std::size_t bytes_;
  T* first_;
};

/// One kernel of a workload, and its least traffic.
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

/// The arrays of a lane. Masks are whole words; the fused form has no mask of results.
template <class T>
struct null_cast_arrays {
  std::shared_ptr<void const> source;  ///< the column in host memory
  T const* values = nullptr;
  std::uint32_t const* mask = nullptr;
  double* out = nullptr;
  std::uint32_t* out_mask = nullptr;
};

/// Writes rows [begin, end) of the result to `out[0 .. end - begin)`. The content of a null row is
/// not used. Conversions follow the language: int32 and float are exact in a double, int64 rounds
/// to nearest even.
template <class T>
constexpr void null_cast_reference(T const* values, std::uint8_t const* mask, std::int64_t begin,
                                   std::int64_t end, double* out) noexcept {
  for (auto row = begin; row < end; ++row) {
    out[row - begin] = is_valid(mask, row) ? static_cast<double>(values[row]) : 0.0;
  }
}

/// The cast of a column in one of two forms: `null_cast<T>` or `null_cast_fused<T>`.
///
/// Runs on the places of the included halves. The arrays are a copy of the column at the place, at
/// addresses that vary, and an output for each lane. The three kernels
/// take three temporaries from the lane's memory per item (bools, coalesced values, their
/// validity), and write doubles and a mask. The fused form takes no temporary and writes no mask,
/// since no row of the result is null.
template <null_cast_value T, null_cast_form Form>
struct basic_null_cast {
  using value_type = T;
  static constexpr null_cast_form form = Form;
  static constexpr bool fused = Form == null_cast_form::fused;
  static constexpr std::string_view name = fused ? "null_cast_fused" : "null_cast";
  static constexpr std::int64_t max_rows = std::int64_t{1} << 40;

  std::int64_t rows = 2'684'354;  ///< 10.24 MiB of int32: a thousandth of a 10 GiB pool
  double null_fraction = 0.1;
  std::uint64_t seed = default_seed;
  /// A caller's own column instead of a generated one. Its rows and nulls replace the fields above.
  /// It is read by `prepare` and by `verify`, and must outlive every state.
  std::optional<column_view<T>> input{};

  bool operator==(basic_null_cast const&) const = default;

  std::int64_t count() const noexcept { return input ? input->rows : rows; }

  std::string describe() const {
    constexpr auto type = std::same_as<T, float>          ? "float"
                          : std::same_as<T, std::int32_t> ? "int32"
                                                          : "int64";
    parameter_list all;
    all.show("rows", count());
    if (input) {
      all.show("caller's column");
    } else {
      all.show("null_fraction", null_fraction);
    }
    std::string whole{name};
    whole.append("<").append(type).append(">");
    return all.show("seed", seed, default_seed).after(whole);
  }

  /// Throws `std::invalid_argument` with the field, its value and the permitted values.
  void validate() const {
    if (count() < 0 || count() > max_rows) {
      throw std::invalid_argument(
          concat({"rows = ", std::to_string(count()), " is not possible: 0 to 2^40 rows are"}));
    }
    if (input && input->rows > 0 && input->values == nullptr) {
      throw std::invalid_argument(concat({"the caller's column has ", std::to_string(input->rows),
                                          " rows but no values: give a pointer to them"}));
    }
    if (!(null_fraction >= 0 && null_fraction <= 1)) {
      throw std::invalid_argument(concat({"null_fraction = ", std::to_string(null_fraction),
                                          " is not possible: it is a share from 0 to 1"}));
    }
  }

  /// The kernels in order. Per row: s bytes a value, 1/8 byte a validity bit, 1 byte a bool, 8
  /// bytes a double.
  auto kernels() const {
    constexpr double s = sizeof(T);
    constexpr double bit = 1.0 / 8;
    auto const n = static_cast<double>(count());
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

  /// Declares the column and the results of one lane. Results must have the reference's bits, but
  /// any NaN may stand for any other. Bits of masks past the last row do not count.
  null_cast_arrays<T> arrays(setup& make) const;
};

/// As libraries do it: is_valid (bits to bools), copy_if_else (nulls to zero), cast (to double).
template <class T>
using null_cast = basic_null_cast<T, null_cast_form::three_kernels>;

/// The same result in one pass.
template <class T>
using null_cast_fused = basic_null_cast<T, null_cast_form::fused>;

namespace detail {

/// The column and its mask in whole words, which the expectations of a state keep alive.
template <class T>
struct source_column {
  column_view<T> view;
  std::shared_ptr<column<T> const> owner;
  std::vector<std::uint32_t> bits;

  template <null_cast_form Form>
  explicit source_column(basic_null_cast<T, Form> const& work) {
    if (work.input) {
      view = *work.input;
    } else {
      owner = generated_column<T>({work.rows, work.null_fraction, work.seed});
      view = owner->view();
    }
    bits.assign(mask_bytes(view.rows) / sizeof(std::uint32_t), ~std::uint32_t{0});
    if (view.mask == nullptr || view.rows == 0) { return; }
    std::memcpy(bits.data(), view.mask, static_cast<std::size_t>((view.rows + 7) / 8));
  }
};

/// Names the first row that is null: COALESCE with a value leaves no nulls.
inline mismatch first_null(std::span<std::uint32_t const> words, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const word = words[static_cast<std::size_t>(row / 32)];
    if (word == ~std::uint32_t{0}) {
      row |= 31;
    } else if ((word >> (row % 32) & 1U) == 0) {
      return concat({"row ", std::to_string(row), " is null, expected a value"});
    }
  }
  return {};
}

}  // namespace detail

template <null_cast_value T, null_cast_form Form>
null_cast_arrays<T> basic_null_cast<T, Form>::arrays(setup& make) const {
  std::shared_ptr<detail::source_column<T> const> const from{
      new detail::source_column<T> const(*this)};
  auto const n = size_of(count());
  null_cast_arrays<T> all{from};
  all.values = make.from(std::span{from->view.values, n}).data();
  all.mask = make.from(std::span{from->bits}).data();
  auto const out = make.output<double>(n);
  all.out = out.data();
  make.expect(out, [from](std::size_t first, std::span<double> wanted, std::span<double> errors) {
    auto const begin = static_cast<std::int64_t>(first);
    auto const end = begin + static_cast<std::int64_t>(wanted.size());
    null_cast_reference(from->view.values, from->view.mask, begin, end, wanted.data());
    std::fill(errors.begin(), errors.end(), 0.0);
  });
  if constexpr (!fused) {
    auto const out_mask = make.output<std::uint32_t>(from->bits.size(), 0);  // every row null
    all.out_mask = out_mask.data();
    make.expect_that(out_mask, [rows = count()](std::span<std::uint32_t const> got) {
      return detail::first_null(got, rows);
    });
  }
  return all;
}

/// Three passes, or one, over the rows of a column.
template <host_lane Lane, class T, null_cast_form Form>
void run_on(Lane& where, basic_null_cast<T, Form> const& work, null_cast_arrays<T> const& all) {
  auto const rows = work.count();
  auto const threads = where.place.threads;
  auto const* const all_bits = reinterpret_cast<std::uint8_t const*>(all.mask);
  if constexpr (Form == null_cast_form::fused) {
    host::null_cast(threads, rows, all.values, all_bits, all.out);
  } else {
    scratch<std::uint8_t, Lane> const bools{where, size_of(rows)};
    host::is_valid(threads, rows, all_bits, bools.get());
    scratch<T, Lane> const data{where, size_of(rows)};
    scratch<std::uint8_t, Lane> const mask{where, mask_bytes(rows)};
    host::copy_if_else(threads, rows, bools.get(), all.values, all_bits, T{0}, data.get(),
                       mask.get());
    host::cast(threads, rows, data.get(), mask.get(), all.out,
               reinterpret_cast<std::uint8_t*>(all.out_mask));
  }
}

}  // namespace assay::workloads
