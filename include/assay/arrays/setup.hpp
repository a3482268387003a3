// SPDX-License-Identifier: Apache-2.0
/// @file
/// `setup`: declares the arrays of a workload, its expected results and the work that it must do.
#pragma once

#include <assay/arrays/array_view.hpp>
#include <assay/arrays/joint_values.hpp>
#include <assay/arrays/kept_range.hpp>
#include <assay/arrays/matrix.hpp>
#include <assay/arrays/right_values.hpp>
#include <assay/arrays/sampled.hpp>
#include <assay/arrays/shared_right_values.hpp>
#include <assay/arrays/special_values.hpp>
#include <assay/arrays/tolerance.hpp>
#include <assay/core/random.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay {

namespace arrays {
class array_store;
struct setup_state;
}  // namespace arrays

/// Declares what a workload reads, writes and must compute; the one way to make arrays.
///
/// A factory declares its arrays here, anew for each buffer set. The index of an array counts
/// declarations from 0. Seeds follow from the setup's seed and that index, so the same declarations
/// give the same values. All work on arrays runs in the order of the store's stream.
class setup {
 public:
  setup(std::shared_ptr<arrays::array_store> store, std::uint64_t seed);
  setup(setup&&) noexcept;
  setup& operator=(setup&&) noexcept;
  ~setup();

  /// A setup for the same declarations once more: `random` and `from` return the arrays of this
  /// setup, which has all its arrays already and must outlive the result. All others are new.
  setup for_another_lane() const;
  /// Permits arrays without elements.
  setup& allow_empty();
  /// Gives arrays of `random` and `inout` from now on special values; or array number `only` alone.
  setup& with(special_values values, std::optional<std::size_t> only = {});
  /// Says that the workload computes with finite numbers alone. Arrays that are declared from now
  /// on are random where others hold NaN or infinities.
  setup& finite();
  bool is_finite() const noexcept;
  /// Says that the bits of results may differ from call to call, as those of atomic sums do.
  setup& unordered();
  bool is_unordered() const noexcept;
  /// Arrays that are declared from now on begin at multiples of `bytes`, a power of two up to
  /// 64 KiB, and so do rows without a leading dimension of the caller. Without this call, arrays
  /// begin at multiples of 256 bytes, and in stores that shift them at those of the element's size.
  setup& align(std::size_t bytes);
  /// The array that is declared next has this name in messages: `make.named("y").output<float>(n)`.
  setup& named(std::string name);
  /// Takes the right values of later expectations from one object; see `shared_right_values`.
  setup& share(shared_right_values const& with);

  /// An input of n random numbers. Types of 8 and 16 bits round floats of the range, up to its end.
  template <arrays::numeric T>
  array_view<T> random(std::size_t n, uniform<arrays::host_value<T>> range = {}) {
    return random_view<T>(n, range, declare_random("random", n, arrays::erase<T>(range), false));
  }
  /// The same in rows: `random<float>(assay::matrix{rows, columns})`.
  template <arrays::numeric T>
  matrix_view<T> random(matrix rows, uniform<arrays::host_value<T>> range = {}) {
    return {random<T>(lay_out(rows, sizeof(T)), range), rows};
  }
  template <class T>
  requires(!arrays::numeric<T>)
  array_view<T> random(std::size_t, uniform<float> = {}) {
    static_assert(arrays::numeric<T>,
                  "setup.random makes numbers: for other types, keep a std::vector<T> of values "
                  "and call from(values)");
    return {};
  }
  /// An input of n random multiples of `unit`: each is the unit times an integer of the range.
  /// Sums of numbers with few bits are exact, in any order.
  template <std::floating_point T>
  array_view<T> random_multiples(std::size_t n, uniform<std::int32_t> range, T unit) {
    auto made = view<T>(n, declare_random("random_multiples", n,
                                          arrays::erase(arrays::multiples<T>{range, unit}), false));
    made.kind_ = array_view<T>::random_kind::multiples;
    made.steps_ = range;
    made.range_.low = unit;
    return made;
  }
  /// An input with the caller's elements, which each epoch copies and `seeded` reads. A temporary
  /// container moves into the setup; what has a name must outlive the comparison.
  template <detail::spannable R>
  array_view<detail::element_of<R>> from(R&& data) {
    return copied("from", detail::keep(std::forward<R>(data)), false);
  }
  /// The same in rows. The data have no padding, or that of the caller's leading dimension.
  template <detail::spannable R>
  matrix_view<detail::element_of<R>> from(R&& data, matrix rows) {
    return {copied("from", detail::keep(std::forward<R>(data)), false, &rows), rows};
  }
  /// An array that each call writes. Before each verification all its bytes are `poison`, by
  /// default NaN as floating numbers. Another byte serves where -1 is a likely result.
  template <class T>
  array_view<T> output(std::size_t n, unsigned char poison = arrays::default_poison) {
    return view<T>(n, declare_output(n, arrays::sizeof_element<T>(), nullptr, poison));
  }
  template <class T>
  matrix_view<T> output(matrix rows, unsigned char poison = arrays::default_poison) {
    return {output<T>(lay_out(rows, sizeof(T)), poison), rows};
  }
  /// The same in the caller's memory where the store uses such memory, and else in its own.
  template <class T>
  array_view<T> output_in(std::span<T> data, unsigned char poison = arrays::default_poison) {
    return view<T>(data.size(),
                   declare_output(data.size(), arrays::sizeof_element<T>(), data.data(), poison));
  }
  /// An array that each call reads and writes. It starts with random numbers.
  template <arrays::numeric T>
  array_view<T> inout(std::size_t n, uniform<arrays::host_value<T>> range = {}) {
    return random_view<T>(n, range, declare_random("inout", n, arrays::erase<T>(range), true));
  }
  template <arrays::numeric T>
  matrix_view<T> inout(matrix rows, uniform<arrays::host_value<T>> range = {}) {
    return {inout<T>(lay_out(rows, sizeof(T)), range), rows};
  }
  template <class T>
  requires(!arrays::numeric<T>)
  array_view<T> inout(std::size_t, uniform<float> = {}) {
    static_assert(arrays::numeric<T>,
                  "setup.inout(n) makes numbers: for other types, keep a std::vector<T> of values "
                  "and call inout(values)");
    return {};
  }
  /// The same with the caller's elements; see `from`.
  template <detail::spannable R>
  array_view<detail::element_of<R>> inout(R&& data) {
    return copied("inout", detail::keep(std::forward<R>(data)), true);
  }
  template <detail::spannable R>
  matrix_view<detail::element_of<R>> inout(R&& data, matrix rows) {
    return {copied("inout", detail::keep(std::forward<R>(data)), true, &rows), rows};
  }
  /// Memory that holds zeros before the first call. Each call must leave zeros behind.
  template <class T>
  array_view<T> zeros(std::size_t n) {
    return view<T>(n, declare_zeros(n, arrays::sizeof_element<T>()));
  }
  template <class T>
  matrix_view<T> zeros(matrix rows) {
    return {zeros<T>(lay_out(rows, sizeof(T))), rows};
  }
  /// Temporary memory of a call, not specified.
  template <class T>
  array_view<T> scratch(std::size_t n) {
    return view<T>(n, declare_scratch(n, arrays::sizeof_element<T>()));
  }
  template <class T>
  matrix_view<T> scratch(matrix rows) {
    return {scratch<T>(lay_out(rows, sizeof(T))), rows};
  }
  /// A number that calls take: one of `values`. `verify` tries all, and failures name the number.
  /// The referee draws one for each call, and comparisons take the first one.
  template <number T>
  T scalar(std::string name, std::initializer_list<T> values) {
    return scalar(std::move(name), std::span<T const>{values.begin(), values.size()});
  }
  template <number T>
  T scalar(std::string name, std::span<T const> values) {
    T const value = values[choose(values.size())];
    note_scalar(std::move(name), static_cast<double>(value));
    return value;
  }
  /// The bytes that one call must move, and its floating-point operations; the last call counts.
  void moves(double bytes);
  void does(double flops);

  /// Says what an array of `output` or `inout` holds after one call from the start. The last
  /// expectation of an array counts.
  ///
  /// Four forms. `f(std::size_t i)` and `f(std::size_t row, std::size_t column)` return an expected
  /// element. `f(std::span<double> wanted)` writes all of them over zeros. `f(std::size_t first,
  /// std::span<double> wanted, std::span<double> errors)` writes those from number `first` on, and
  /// the largest permitted error of each; an error of 0 or NaN means the same bits. The last two
  /// see padding too, and all but the third are called from several threads at once. `wanted` is a
  /// `std::span<T>` where T is an integer. For a right value of NaN see `tolerance::nan`.
  ///
  /// The third argument may be the errors of a computation: `sum_of`, `dot_of`, `exp_of`,
  /// `softmax_of` or `normalised_of`.
  template <numeric_view View, class F, permitted_error Allowed = tolerance>
  void expect(View array, F f, Allowed allowed = default_tolerance<viewed<View>>) {
    expect_values(array.data_, array.size_, arrays::detail::right_values_of(array, std::move(f)),
                  tolerance_for<viewed<View>>(allowed), std::same_as<Allowed, rounding_rule>);
  }
  /// The same for a sample of the elements: `expect(c, f, dot_of(k), sampled{4096})`. All elements
  /// of floating type must be written. Throws `std::invalid_argument` for a sample of none.
  template <numeric_view View, class F, permitted_error Allowed>
  void expect(View array, F f, Allowed allowed, sampled of) {
    static_assert(arrays::detail::is_by_element<View, F>,
                  "setup.expect computes a sample one element at a time: it needs f(i), f(row, "
                  "column) or f(first, wanted, errors), since f(wanted) computes all elements");
    take_sample(of);
    expect(array, std::move(f), allowed);
  }
  template <numeric_view View, class F, std::same_as<sampled> Sample>
  void expect(View array, F f, Sample of) {
    expect(array, std::move(f), default_tolerance<viewed<View>>, of);
  }
  /// The same of several arrays by one function, which runs once for all of them:
  /// `expect(std::tie(y, mean), [=](std::span<double> y, std::span<double> mean) {...})`. Or `f(i)`
  /// or `f(row, column)` returns a tuple of their elements. Tolerances or rounding rules follow,
  /// one for each array, one for all, or none, and then a sample, if any.
  template <class... Views, class F, class... Allowed>
  void expect(std::tuple<Views...> const& several, F f, Allowed... allowed) {
    arrays::detail::expect_jointly(*this, several, std::move(f), allowed...);
  }
  template <class T, class F>
  requires(!arrays::numeric<T>)
  void expect(array_view<T>, F const&, tolerance = {}) {
    static_assert(arrays::numeric<T>,
                  "setup.expect compares numbers: for other types, call expect_that(array, judge)");
  }
  /// The same by another implementation, where a host is too slow. `reference(T* out)`, or on a
  /// device `reference(T* out, cudaStream_t)`, writes what is right, in rows like the array's. It
  /// reads inputs alone, and runs once, at the first check, on the stream of the arrays.
  template <arrays::numeric T, class F, permitted_error Allowed = tolerance>
  void expect_from(array_view<T> array, F reference, Allowed allowed = default_tolerance<T>) {
    arrays::detail::right_values only_types;
    only_types.type = arrays::element_of<T>;
    expect_results(array.data_, array.size_, arrays::detail::reference_by<T>(std::move(reference)),
                   std::move(only_types), tolerance_for<T>(allowed));
  }
  /// The same with a function for `expect`, which checks the results of the reference in arrays of
  /// at most 65,536 elements.
  template <numeric_view View, class F, class Right, permitted_error Allowed = tolerance>
  requires(!permitted_error<Right>)
  void expect_from(View array, F reference, Right f,
                   Allowed allowed = default_tolerance<viewed<View>>) {
    using T = viewed<View>;
    expect_results(array.data_, array.size_, arrays::detail::reference_by<T>(std::move(reference)),
                   arrays::detail::right_values_of(array, std::move(f)), tolerance_for<T>(allowed));
  }
  /// Checks an array of `output` or `inout` by `judge(std::span<T const> got)`, which returns the
  /// error as a `std::optional<std::string>`. For results that are checked without computing them
  /// again, and for elements that are no numbers.
  template <class T, class F>
  void expect_that(array_view<T> array, F judge) {
    expect_judged(array.data_, array.size_, sizeof(T),
                  [judge = std::move(judge)](
                      void const* got, std::size_t size) mutable -> std::optional<std::string> {
                    return judge(std::span<T const>{static_cast<T const*>(got), size});
                  });
  }

  /// Selects the values of scalars that follow: one of so many combinations, from 0 on.
  setup& choose_scalars(std::uint64_t number);
  std::uint64_t scalar_choices() const noexcept;
  /// Selects leading dimensions from now on, below `arrays::row_layouts`; 0 is without padding.
  setup& choose_rows(std::size_t layout);
  /// The scalars in words, such as "alpha = 0.5, beta = 0", and leading dimensions that were chosen
  /// with padding; empty without any.
  std::string const& scalars() const noexcept;
  /// Overwrites all arrays of `output` with their poison.
  void poison();
  /// Random bits that decide a place in memory, others for each buffer set.
  std::uint64_t draw_place() noexcept;
  /// True if there is an array of `inout`.
  bool has_state() const noexcept;
  /// Gives all arrays of `inout` their first content again.
  void restore();
  bool has_expectations() const noexcept;
  /// The first wrong element of the first wrong array, in words; nothing where all expectations
  /// hold. `slack` above 1 is for too low precision. `some` draws `pieces` of large arrays.
  std::optional<std::string> verify(double slack = 1, std::optional<std::uint64_t> some = {});
  /// The worst error of the last `verify`, up to the first wrong array; not of judged ones.
  worst_error worst() const noexcept;

  std::vector<declared_array> declared() const;
  double bytes() const noexcept;
  double flops() const noexcept;

 private:
  using state = arrays::setup_state;
  using declared_memory = arrays::declared_memory;
  explicit setup(std::unique_ptr<state> made) noexcept;
  /// Chooses the leading dimension where it is 0. The next array that is declared has these rows.
  /// Returns its number of elements.
  std::size_t lay_out(matrix& rows, std::size_t element_bytes);
  declared_memory declare_random(char const* call, std::size_t n, arrays::any_range const& range,
                                 bool written);
  /// Lays out `rows`, if there are any, and moves elements without padding apart. Keeps the owner.
  declared_memory declare_copy(char const* call, detail::kept_elements<std::byte> data,
                               std::size_t element_bytes, bool written, matrix* rows);
  declared_memory declare_output(std::size_t n, std::size_t element_bytes, void* callers,
                                 unsigned char poison);
  declared_memory declare_zeros(std::size_t n, std::size_t element_bytes);
  declared_memory declare_scratch(std::size_t n, std::size_t element_bytes);
  /// The index of one of so many values. Throws `std::invalid_argument` for none.
  std::size_t choose(std::size_t count);
  void note_scalar(std::string name, double value);
  /// Makes the next expectation one of a sample.
  void take_sample(sampled of);
  void expect_values(void* array, std::size_t size, arrays::detail::right_values right,
                     tolerance allowed, bool has_rule);
  void expect_results(void* array, std::size_t size, arrays::detail::reference_run reference,
                      arrays::detail::right_values by_host, tolerance allowed);
  void expect_judged(void* array, std::size_t size, std::size_t element_bytes,
                     arrays::detail::array_judge judge);

  template <class T>
  static array_view<T> view(std::size_t n, declared_memory const& of) {
    array_view<T> made;
    made.data_ = static_cast<T*>(of.data);
    made.size_ = n;
    made.source_ = of.source;
    made.seed_ = of.seed;
    return made;
  }
  template <class T>
  static array_view<T> random_view(std::size_t n, uniform<arrays::host_value<T>> range,
                                   declared_memory const& of) {
    auto made = view<T>(n, of);
    made.be_random(range, of.is_special);
    return made;
  }
  template <class T>
  array_view<T> copied(char const* call, detail::kept_elements<T> data, bool written,
                       matrix* rows = nullptr) {
    auto const made = declare_copy(call, {std::as_bytes(data.elements), std::move(data.owner)},
                                   arrays::sizeof_element<T>(), written, rows);
    return view<T>(rows == nullptr ? data.elements.size() : rows->size(), made);
  }

  std::unique_ptr<state> state_;
};

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/arrays/setup_definitions.hpp>
#endif
