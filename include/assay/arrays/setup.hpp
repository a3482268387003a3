// SPDX-License-Identifier: Apache-2.0
/// @file
/// `setup`: declares the arrays of a workload, its expected results and the work that it must do.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/array_view.hpp>
#include <assay/arrays/expectation.hpp>
#include <assay/arrays/preconditions.hpp>
#include <assay/arrays/special_values.hpp>
#include <assay/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
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

/// Declares what a workload reads, writes and must compute; the one way to make arrays.
///
/// A factory declares its arrays here. It is called anew for each buffer set. The index of an array
/// counts declarations from 0. Seeds follow from the setup's seed and that index, so the same
/// declarations give the same values in each buffer set. All work on arrays runs in the order of
/// the store's stream.
class setup {
 public:
  setup(std::shared_ptr<arrays::array_store> store, std::uint64_t seed)
      : store_(std::move(store)), seed_(seed) {}
  setup(setup&&) = default;
  setup& operator=(setup&&) = default;

  /// A setup for the same declarations once more: `random` and `from` return the arrays of this
  /// setup, and all others are new. This setup has all its arrays already and must outlive the
  /// result.
  setup for_another_lane() const {
    setup other{store_, seed_};
    other.may_be_empty_ = may_be_empty_;
    other.special_ = special_;
    other.has_nan_ = has_nan_;
    for (auto const& each : arrays_) {
      other.shared_.push_back(each.is_input ? each.data : nullptr);
    }
    return other;
  }
  /// Permits arrays without elements.
  setup& allow_empty() {
    may_be_empty_ = true;
    return *this;
  }

  /// Gives arrays of `random` and `inout` that are declared from now on special values.
  setup& with(special_values values) {
    special_ = values;
    has_nan_ = has_nan_ || values == special_values::nan;
    return *this;
  }

  /// An input of n random numbers.
  template <number T>
  array_view<T> random(std::size_t n, uniform<T> range = {}) {
    return add_random("random", n, range);
  }
  /// An input of n random multiples of `unit`: each is the unit times an integer of the range.
  /// Sums of numbers with few bits are exact, in any order.
  template <std::floating_point T>
  array_view<T> random_multiples(std::size_t n, uniform<std::int32_t> range, T unit) {
    detail::require_range(range);
    auto made = add_input<T>("random_multiples", n, nullptr);
    made.kind_ = array_view<T>::random_kind::multiples;
    made.steps_ = range;
    made.range_.low = unit;
    made.seed_ = random_bits(seed_, arrays_.size() - 1);
    if (fresh_) {
      store_->fill_random(made.data_, n, arrays::multiples<T>{range, unit}, made.seed_);
    }
    return made;
  }
  /// An input with the caller's elements. The caller's data must outlive the comparison: each epoch
  /// copies them, and `seeded` reads them.
  template <detail::kept_range R>
  array_view<detail::element_of<R>> from(R&& data) {
    return add_from<detail::element_of<R>>("from", std::span{data});
  }
  /// An array that each call writes. It is poisoned before each verification: all its bytes are
  /// `poison` then, by default NaN as floating numbers. Another byte serves where -1 is a likely
  /// result.
  template <class T>
  array_view<T> output(std::size_t n, unsigned char poison = arrays::detail::default_poison) {
    return add_output<T>(n, nullptr, poison);
  }
  /// The same in the caller's memory where the store uses such memory, and else in its own.
  template <class T>
  array_view<T> output_in(std::span<T> data,
                          unsigned char poison = arrays::detail::default_poison) {
    require_apart("output_in", std::as_bytes(data), true);
    auto const made = add_output<T>(data.size(), data.data(), poison);
    arrays_.back().callers = std::as_bytes(data);
    arrays_.back().writes = true;
    return made;
  }
  /// An array that each call reads and writes. The array starts with random numbers, and `restore`
  /// writes the same numbers again.
  template <number T>
  array_view<T> inout(std::size_t n, uniform<T> range = {}) {
    auto const made = add_random("inout", n, range, true);
    keep_start();
    return made;
  }
  /// The same with the caller's elements; see `from`.
  template <detail::kept_range R>
  array_view<detail::element_of<R>> inout(R&& data) {
    auto const made = add_from<detail::element_of<R>>("inout", std::span{data}, true);
    keep_start();
    return made;
  }
  /// Memory of calls that holds zeros before the first call. Each call must leave zeros behind.
  template <class T>
  array_view<T> zeros(std::size_t n) {
    auto const made = add<T>("zeros", n);
    store_->fill(made.data_, 0, arrays_.back().bytes);
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
  /// Three forms. `f(std::size_t i)` returns the expected element i. `f(std::span<double> wanted)`
  /// writes all expected elements, for results such as sums and products. `f(std::size_t first,
  /// std::span<double> wanted, std::span<double> errors)` writes the expected elements from number
  /// `first` on, and the largest permitted error of each; an error of 0 or NaN means the same
  /// bits. The first and the third form are called from several threads at once. `wanted` is a
  /// `std::span<T>` where T is an integer. The expectation keeps a copy of `f`.
  ///
  /// A right value of NaN is refused by `verify`, unless `tolerance::nan` permits it, the permitted
  /// error of the third form is 0, or arrays of this setup have `special_values::nan`.
  template <number T, class F>
  void expect(array_view<T> array, F f, tolerance allowed = default_tolerance<T>) {
    detail::require_amount("expect: relative tolerance ", allowed.relative);
    detail::require_amount("expect: absolute tolerance ", allowed.absolute);
    allowed.nan = allowed.nan || has_nan_;
    written(array.data_).expected = std::make_unique<arrays::detail::expected_elements<T, F>>(
        array.size_, std::move(f), allowed);
  }
  /// Checks an array of `output` or `inout` by `judge(std::span<T const> got)`, which returns the
  /// error as a `std::optional<std::string>`. For results that are checked without computing them
  /// again, and for elements that are no numbers.
  template <class T, class F>
  void expect_that(array_view<T> array, F judge) {
    written(array.data_).expected =
        std::make_unique<arrays::detail::judged_elements<T, F>>(array.size_, std::move(judge));
  }

  /// Overwrites all arrays of `output` with their poison.
  void poison() {
    for (auto const& each : arrays_) {
      if (each.poison) { store_->fill(each.data, *each.poison, each.bytes); }
    }
  }
  /// Random bits that decide a place in memory, others for each buffer set.
  std::uint64_t draw_place() noexcept { return store_->draw_place(); }
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
  /// hold. `slack` above 1 is for results of too low precision. Waits for the stream.
  std::optional<std::string> verify(double slack = 1) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      auto const& each = arrays_[i];
      if (each.expected == nullptr) { continue; }
      if (auto wrong = each.expected->mismatch(*store_, each.data, each.poison, i, slack)) {
        return wrong;
      }
    }
    return std::nullopt;
  }

  std::vector<declared_array> declared() const {
    using enum declared_array::role;
    std::vector<declared_array> all;
    for (auto const& each : arrays_) {
      auto const what = each.is_input ? input : each.poison ? output : each.start ? inout : other;
      all.push_back({each.data, each.bytes, each.elements, what, each.expected != nullptr});
    }
    return all;
  }
  double bytes() const noexcept { return bytes_; }
  double flops() const noexcept { return flops_; }

 private:
  struct entry {
    void* data = nullptr;
    std::size_t bytes = 0, elements = 0;
    arrays::detail::poison_byte poison{};
    bool is_input = false;
    void* start = nullptr;  // null but for `inout`
    std::unique_ptr<arrays::detail::expectation> expected{};
    std::span<std::byte const> callers{};  // the caller's elements of `from`, `inout`, `output_in`
    bool writes = false;                   // those elements, or copies of them
  };

  /// The entry of an array that calls write.
  entry& written(void* data) {
    for (auto& each : arrays_) {
      if (each.data == data && (each.poison || each.start != nullptr)) { return each; }
    }
    throw std::invalid_argument(
        "setup.expect needs an array that output or inout of the same setup returned");
  }

  /// Elements of the caller that a call reads must not be written as another array: the two would
  /// be one array in some stores, and two copies in others.
  void require_apart(char const* call, std::span<std::byte const> of, bool writes) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (!(writes || arrays_[i].writes)) { continue; }
      detail::require_apart(call, of, i, arrays_[i].callers);
    }
  }

  /// An array at `at`, or in new memory of the store where that is null.
  template <class T>
  array_view<T> add(char const* call, std::size_t n, T* at = nullptr) {
    static_assert(std::is_trivially_copyable_v<T>, "arrays hold trivially copyable elements");
    constexpr auto most =
        static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
    if ((n == 0 && !may_be_empty_) || n > most) {
      throw std::invalid_argument(std::string{"setup."} + call + ": an array of " +
                                  std::to_string(n) + " elements; 1 to " + std::to_string(most) +
                                  " are allowed");
    }
    array_view<T> made;
    made.data_ = at != nullptr ? at : reinterpret_cast<T*>(store_->allocate(n * sizeof(T)));
    made.size_ = n;
    arrays_.push_back({made.data_, n * sizeof(T), n});
    return made;
  }
  /// An array that no call writes, shared with the first lane; `fresh_` says whether it is new. The
  /// caller's memory serves as it is where the store takes such memory.
  template <class T>
  array_view<T> add_input(char const* call, std::size_t n, T const* callers) {
    auto const index = arrays_.size();
    auto* at = index < shared_.size() ? static_cast<T*>(shared_[index]) : nullptr;
    if (at == nullptr && store_->takes_callers_memory()) { at = const_cast<T*>(callers); }
    fresh_ = at == nullptr;
    auto const made = add<T>(call, n, at);
    arrays_.back().is_input = true;
    return made;
  }
  template <class T>
  array_view<T> add_random(char const* call, std::size_t n, uniform<T> range,
                           bool written = false) {
    detail::require_range(range);
    if (special_ != special_values::none) {
      auto const seed = random_bits(seed_, arrays_.size());
      auto const kept =
          std::make_shared<std::vector<T>>(arrays::special_elements(special_, n, range, seed));
      kept_.push_back(kept);
      return add_from<T>(call, std::span<T const>{*kept}, written);
    }
    auto made = written ? add<T>(call, n) : add_input<T>(call, n, nullptr);
    made.kind_ = array_view<T>::random_kind::uniform;
    made.range_ = range;
    made.seed_ = random_bits(seed_, arrays_.size() - 1);
    if (written || fresh_) { store_->fill_random(made.data_, n, arrays::erase(range), made.seed_); }
    return made;
  }
  template <class T>
  array_view<T> add_from(char const* call, std::span<T const> data, bool written = false) {
    require_apart(call, std::as_bytes(data), written);
    auto made = written ? add<T>(call, data.size()) : add_input<T>(call, data.size(), data.data());
    arrays_.back().callers = std::as_bytes(data);
    arrays_.back().writes = written;
    made.source_ = data.data();
    if ((written || fresh_) && !data.empty()) {
      store_->copy_in(made.data_, data.data(), data.size_bytes());
    }
    return made;
  }
  template <class T>
  array_view<T> add_output(std::size_t n, T* callers, unsigned char poison) {
    auto const made = add<T>("output", n, store_->takes_callers_memory() ? callers : nullptr);
    arrays_.back().poison = poison;
    store_->fill(made.data_, poison, arrays_.back().bytes);
    return made;
  }
  void keep_start() {
    auto& last = arrays_.back();
    last.start = store_->allocate(last.bytes);
    store_->copy(last.start, last.data, last.bytes);
  }

  std::shared_ptr<arrays::array_store> store_;
  std::uint64_t seed_;
  std::vector<entry> arrays_;
  std::vector<void*> shared_;  // arrays of the first lane; null where an array is not shared
  std::vector<std::shared_ptr<void>> kept_;  // elements of special values
  special_values special_ = special_values::none;
  bool may_be_empty_ = false;
  bool has_nan_ = false;  // an array has, or may have, NaN on purpose
  bool fresh_ = true;
  double bytes_ = 0;
  double flops_ = 0;
};

}  // namespace assay
