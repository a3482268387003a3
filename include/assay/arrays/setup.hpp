// SPDX-License-Identifier: Apache-2.0
/// @file
/// `setup`: declares the arrays of a workload, its expected results and the work that it must do.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/expectation.hpp>
#include <assay/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

class setup;

/// An array that a `setup` owns: a trivially copyable view, for host code to pass on to kernels.
template <class T>
class array_view {
 public:
  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  /// The value with which element i starts, from the host's memory or arithmetic. Throws
  /// `std::logic_error` for arrays of `output` and `scratch`, which start with no value.
  T seeded(std::size_t i) const {
    if (i >= size_) {
      throw std::out_of_range("seeded(" + std::to_string(i) + "): the array has " +
                              std::to_string(size_) + " elements");
    }
    if (source_ != nullptr) { return source_[i]; }
    if constexpr (number<T>) {
      if (is_random_) { return random_value(range_, seed_, i); }
    }
    throw std::logic_error("seeded(" + std::to_string(i) +
                           "): only arrays of random, from and inout have seeded values");
  }

 private:
  friend class setup;

  T* data_ = nullptr;
  std::size_t size_ = 0;
  T const* source_ = nullptr;
  std::uint64_t seed_ = 0;
  bool is_random_ = false;
  uniform<std::conditional_t<number<T>, T, int>> range_{};  // unused where T is no number
};

namespace detail {

inline void require_amount(char const* call, double amount) {
  if (std::isfinite(amount) && amount >= 0) { return; }
  throw std::invalid_argument(std::string{"setup."} + call + '(' +
                              arrays::detail::in_text(amount, 6) +
                              "): a finite number of at least 0 is needed");
}

template <number T>
void require_range(uniform<T> range) {
  auto const width = static_cast<double>(range.high) - static_cast<double>(range.low);
  bool const fits = std::is_integral_v<T> ? range.low <= range.high : range.low < range.high;
  if (fits && std::isfinite(width)) { return; }
  constexpr int digits = std::numeric_limits<T>::max_digits10;
  throw std::invalid_argument("uniform{" + arrays::detail::in_text(+range.low, digits) + ", " +
                              arrays::detail::in_text(+range.high, digits) +
                              "}: the low end must be below the high end");
}

template <class R>
concept spannable = requires(R& data) { std::span{data}; };

/// Contiguous elements that outlive the full expression: no temporary container has them.
template <class R>
concept kept_range = spannable<R> && (std::is_lvalue_reference_v<R> ||
                                      std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>);

template <class R>
using element_of = typename decltype(std::span{std::declval<R&>()})::value_type;

}  // namespace detail

/// Declares what a workload reads, writes and must compute; the one way to make arrays.
///
/// A builder is called anew for each buffer set. The index of an array counts declarations from 0.
/// Seeds follow from the setup's seed and that index, so the same declarations give the same values
/// in each buffer set. All work on arrays runs in the order of the store's stream.
class setup {
 public:
  setup(std::unique_ptr<arrays::array_store> store, std::uint64_t seed)
      : store_(std::move(store)), seed_(seed) {}

  /// An input of n random numbers.
  template <number T>
  array_view<T> random(std::size_t n, uniform<T> range = {}) {
    return add_random("random", n, range);
  }
  /// An input with the caller's elements. The caller's data must outlive the comparison: each epoch
  /// copies them, and `seeded` reads them.
  template <detail::kept_range R>
  array_view<detail::element_of<R>> from(R&& data) {
    return add_from<detail::element_of<R>>("from", std::span{data});
  }
  /// An array that each call writes. It is poisoned before each verification.
  template <class T>
  array_view<T> output(std::size_t n) {
    auto const made = add<T>("output", n);
    arrays_.back().poisoned = true;
    store_->fill(made.data_, arrays::detail::poison, arrays_.back().bytes);
    return made;
  }
  /// An array that each call reads and writes. The array starts with random numbers, and `restore`
  /// writes the same numbers again.
  template <number T>
  array_view<T> inout(std::size_t n, uniform<T> range = {}) {
    auto const made = add_random("inout", n, range);
    keep_start();
    return made;
  }
  /// The same with the caller's elements; see `from`.
  template <detail::kept_range R>
  array_view<detail::element_of<R>> inout(R&& data) {
    auto const made = add_from<detail::element_of<R>>("inout", std::span{data});
    keep_start();
    return made;
  }
  /// Temporary memory of a call. Its content is not specified.
  template <class T>
  array_view<T> scratch(std::size_t n) {
    return add<T>("scratch", n);
  }

  /// The bytes that one call must move, whatever its implementation. The last call counts.
  void moves(double bytes) {
    detail::require_amount("moves", bytes);
    bytes_ = bytes;
  }
  /// The floating-point operations that one call must do. The last call counts.
  void does(double flops) {
    detail::require_amount("does", flops);
    flops_ = flops;
  }

  /// Says what an array of `output` or `inout` holds after one call from the start. The last
  /// expectation of an array counts.
  ///
  /// Two forms: `f(std::size_t i)` returns the expected element i and is called from several
  /// threads at once. `f(std::span<double> wanted)` writes all expected elements, for results such
  /// as sums and products; `wanted` is a `std::span<T>` where T is an integer. The expectation
  /// keeps a copy of `f`.
  template <number T, class F>
  void expect(array_view<T> array, F f, tolerance allowed = default_tolerance<T>) {
    detail::require_amount("expect: relative tolerance ", allowed.relative);
    detail::require_amount("expect: absolute tolerance ", allowed.absolute);
    auto const found = std::find_if(arrays_.begin(), arrays_.end(), [&](entry const& each) {
      return each.data == static_cast<void*>(array.data_);
    });
    if (found == arrays_.end() || (!found->poisoned && found->start == nullptr)) {
      throw std::invalid_argument(
          "setup.expect needs an array that output or inout of the same setup returned");
    }
    found->expected = std::make_unique<arrays::detail::expected_elements<T, F>>(
        array.size_, std::move(f), allowed);
  }

  /// Overwrites all arrays of `output` with 0xFF bytes, which are NaN as floating numbers.
  void poison() {
    for (auto const& each : arrays_) {
      if (each.poisoned) { store_->fill(each.data, arrays::detail::poison, each.bytes); }
    }
  }
  /// True if there is an array of `inout`.
  bool has_state() const noexcept {
    return std::any_of(arrays_.begin(), arrays_.end(),
                       [](entry const& each) { return each.start != nullptr; });
  }
  /// Gives all arrays of `inout` their first content again.
  void restore() {
    for (auto const& each : arrays_) {
      if (each.start != nullptr) { store_->copy(each.data, each.start, each.bytes); }
    }
  }
  bool has_expectations() const noexcept {
    return std::any_of(arrays_.begin(), arrays_.end(),
                       [](entry const& each) { return each.expected != nullptr; });
  }
  /// The first wrong element of the first wrong array, in words; nothing where all expectations
  /// hold. Waits for the stream.
  std::optional<std::string> verify() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      auto const& each = arrays_[i];
      if (each.expected == nullptr) { continue; }
      if (auto wrong = each.expected->mismatch(*store_, each.data, each.poisoned, i)) {
        return wrong;
      }
    }
    return std::nullopt;
  }

  double bytes() const noexcept { return bytes_; }
  double flops() const noexcept { return flops_; }

 private:
  struct entry {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool poisoned = false;
    void* start = nullptr;  // null but for `inout`
    std::unique_ptr<arrays::detail::expectation> expected{};
  };

  template <class T>
  array_view<T> add(char const* call, std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>, "arrays hold trivially copyable elements");
    constexpr auto most =
        static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
    if (n == 0 || n > most) {
      throw std::invalid_argument(std::string{"setup."} + call + ": an array of " +
                                  std::to_string(n) + " elements; 1 to " + std::to_string(most) +
                                  " are allowed");
    }
    array_view<T> made;
    made.data_ = reinterpret_cast<T*>(store_->allocate(n * sizeof(T)));
    made.size_ = n;
    arrays_.push_back({made.data_, n * sizeof(T)});
    return made;
  }
  template <class T>
  array_view<T> add_random(char const* call, std::size_t n, uniform<T> range) {
    detail::require_range(range);
    auto made = add<T>(call, n);
    made.is_random_ = true;
    made.range_ = range;
    made.seed_ = random_bits(seed_, arrays_.size() - 1);
    store_->fill_random(made.data_, n, arrays::erase(range), made.seed_);
    return made;
  }
  template <class T>
  array_view<T> add_from(char const* call, std::span<T const> data) {
    auto made = add<T>(call, data.size());
    made.source_ = data.data();
    store_->copy_in(made.data_, data.data(), data.size_bytes());
    return made;
  }
  void keep_start() {
    auto& last = arrays_.back();
    last.start = store_->allocate(last.bytes);
    store_->copy(last.start, last.data, last.bytes);
  }

  std::unique_ptr<arrays::array_store> store_;
  std::uint64_t seed_;
  std::vector<entry> arrays_;
  double bytes_ = 0;
  double flops_ = 0;
};

}  // namespace assay
