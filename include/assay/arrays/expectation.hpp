// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: the expected elements of an array, their tolerance and their check.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

/// A result is right if |got - expected| <= absolute + relative * |expected|.
struct tolerance {
  double relative = 0;
  double absolute = 0;
  bool operator==(tolerance const&) const = default;
};

/// Integers must be exact. A floating result may have 16 errors of half an ulp: one rounding to T
/// and 15 roundings before it. The smallest normal number permits results that were flushed to
/// zero.
template <number T>
inline constexpr tolerance default_tolerance =
    std::is_integral_v<T> ? tolerance{}
                          : tolerance{8 * static_cast<double>(std::numeric_limits<T>::epsilon()),
                                      static_cast<double>(std::numeric_limits<T>::min())};

namespace arrays::detail {

inline constexpr unsigned char default_poison = 0xFF;  // NaN as a floating number

/// Integers compare exactly. A floating NaN agrees with every NaN, and infinity with itself.
template <class Got, class Wanted>
bool agrees(Got got, Wanted wanted, double allowed) {
  if constexpr (std::is_integral_v<Got>) {
    if (std::cmp_equal(got, wanted)) { return true; }
    return allowed >= 1 &&
           std::abs(static_cast<double>(got) - static_cast<double>(wanted)) <= allowed;
  } else {
    if (std::isnan(wanted)) { return std::isnan(got); }
    return got == static_cast<Got>(wanted) ||
           (std::isfinite(wanted) && std::abs(static_cast<double>(got) - wanted) <= allowed);
  }
}

/// The byte that fills an array before verification; none where the array is not poisoned.
using poison_byte = std::optional<unsigned char>;

template <class T>
bool is_poison(T value, poison_byte poison) {
  if (!poison) { return false; }
  std::array<unsigned char, sizeof(T)> all;
  all.fill(*poison);
  return std::bit_cast<std::array<unsigned char, sizeof(T)>>(value) == all;
}

/// The same bits, or two NaN: the payload of a NaN differs between processors.
inline bool same_result(double got, double wanted) {
  return std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(wanted) ||
         (std::isnan(got) && std::isnan(wanted));
}

template <class Value>
std::string in_text(Value value, int digits) {
  if constexpr (std::is_integral_v<Value>) {
    return std::to_string(value);
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    return text;
  }
}

/// The expected content of an array after one call.
class expectation {
 public:
  virtual ~expectation() = default;
  /// The first wrong element in words; nothing when the array is right. Poison of floating type is
  /// wrong. `index` is the array's number in the message. `slack` above 1 permits so many
  /// times the largest error of 1024 elements around.
  virtual std::optional<std::string> mismatch(array_store& store, void const* array,
                                              poison_byte poison, std::size_t index,
                                              double slack) = 0;
};

/// An array that `judge(std::span<T const> got)` calls right or wrong.
template <class T, class F>
class judged_elements final : public expectation {
 public:
  judged_elements(std::size_t size, F judge) : size_(size), judge_(std::move(judge)) {}

  std::optional<std::string> mismatch(array_store& store, void const* array, poison_byte,
                                      std::size_t, double) override {
    auto const got = std::make_unique_for_overwrite<T[]>(size_);
    store.copy_out(got.get(), array, size_ * sizeof(T));
    return judge_(std::span<T const>{got.get(), size_});
  }

 private:
  std::size_t size_;
  F judge_;
};

template <class T, class F>
class expected_elements final : public expectation {
 public:
  using whole = std::conditional_t<std::is_integral_v<T>, T, double>;
  static constexpr bool by_element = std::is_invocable_v<F const&, std::size_t>;
  static constexpr bool by_part =
      std::is_invocable_v<F const&, std::size_t, std::span<whole>, std::span<double>>;
  static_assert(by_element || by_part || std::is_invocable_v<F const&, std::span<whole>>,
                "setup.expect needs a const callable: f(std::size_t i) that returns the expected "
                "element i, f(std::span<double> wanted) that writes all of them, or "
                "f(std::size_t first, std::span<double> wanted, std::span<double> errors) that "
                "writes some; the span of wanted elements has the array's own type where that is "
                "an integer");

  expected_elements(std::size_t size, F f, tolerance allowed)
      : size_(size), f_(std::move(f)), allowed_(allowed) {}

  /// Copies the array back in pieces of 16 MiB: fresh host memory for a whole array takes longer to
  /// map than its copy takes.
  std::optional<std::string> mismatch(array_store& store, void const* array, poison_byte poison,
                                      std::size_t index, double slack) override {
    if constexpr (!by_element && !by_part) {
      if (values_.empty()) {
        values_.resize(size_);
        f_(std::span<whole>{values_});
      }
    }
    constexpr std::size_t piece = (std::size_t{16} << 20U) / sizeof(T);
    auto const got = std::make_unique_for_overwrite<T[]>(std::min(size_, piece));
    std::size_t first = size_;
    std::size_t wrong = 0;
    std::string words;
    for (std::size_t begin = 0; begin < size_; begin += piece) {
      auto const count = std::min(piece, size_ - begin);
      store.copy_out(got.get(), static_cast<T const*>(array) + begin, count * sizeof(T));
      auto const found = count_wrong(got.get(), count, begin, poison, slack);
      if (found.count > 0 && wrong == 0) {
        first = found.first;
        words = in_words(got[first - begin], first, poison);
      }
      wrong += found.count;
    }
    if (wrong == 0) { return std::nullopt; }
    return "element " + std::to_string(first) + " of array " + std::to_string(index) + words +
           "; " + std::to_string(wrong) + " of " + std::to_string(size_) +
           (wrong == 1 ? " elements is wrong)" : " elements are wrong)");
  }

 private:
  static constexpr std::size_t step = 1024;  // 16 KiB of expected elements stay in the L1 cache

  /// The expected elements [first, first + count) and their errors, on the stack of one thread.
  struct expected_part {
    using value = decltype([] {
      if constexpr (by_element) {
        return std::type_identity<std::conditional_t<
            std::is_integral_v<T>,
            decltype(+std::declval<std::invoke_result_t<F const&, std::size_t>>()), double>>{};
      } else {
        return std::type_identity<whole>{};
      }
    }())::type;
    std::array<value, step> wanted;
    std::array<double, step> errors;
  };

  void write(expected_part& to, std::size_t first, std::size_t count) const {
    if constexpr (by_part) {
      f_(first, std::span{to.wanted}.first(count), std::span{to.errors}.first(count));
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (by_element) {
          to.wanted[i] = element(first + i);
        } else {
          to.wanted[i] = values_[first + i];
        }
        to.errors[i] =
            allowed_.absolute + allowed_.relative * std::abs(static_cast<double>(to.wanted[i]));
      }
    }
  }

  auto element(std::size_t i) const {
    using result = std::remove_cvref_t<std::invoke_result_t<F const&, std::size_t>>;
    if constexpr (std::is_integral_v<T>) {
      static_assert(std::is_integral_v<result>,
                    "setup.expect: f(i) must return an integer for an array of integers, because "
                    "64 bits do not fit a double");
      return +f_(i);
    } else {
      static_assert(std::is_convertible_v<result, double>,
                    "setup.expect: f(i) must return a number");
      return static_cast<double>(f_(i));
    }
  }

  template <class Wanted>
  static bool accepts(T got, Wanted wanted, double error) {
    if constexpr (by_part && std::is_floating_point_v<T>) {
      return same_result(got, wanted) || (error > 0 && agrees(got, wanted, error));
    } else {
      return agrees(+got, +wanted, error);
    }
  }

  struct wrong_elements {
    std::size_t first = 0, count = 0;
  };

  /// The wrong ones among `count` elements from number `begin` of the array on.
  wrong_elements count_wrong(T const* got, std::size_t count, std::size_t begin, poison_byte poison,
                             double slack) const {
    constexpr std::int64_t grain = 4096;  // 20 us of work for each thread
    std::atomic<std::size_t> first{size_};
    std::atomic<std::size_t> wrong{0};
    auto const search = [&](std::int64_t from, std::int64_t to) {
      auto lowest = size_;
      std::size_t found = 0;
      expected_part part;
      for (auto at = static_cast<std::size_t>(from); at < static_cast<std::size_t>(to);) {
        auto const many = std::min(step, static_cast<std::size_t>(to) - at);
        write(part, begin + at, many);
        if (slack > 1) {
          auto const errors = std::span{part.errors}.first(many);
          double const largest = std::accumulate(errors.begin(), errors.end(), 0.0,
                                                 [](double a, double b) { return std::max(a, b); });
          std::fill(errors.begin(), errors.end(), slack * largest);
        }
        for (std::size_t k = 0; k < many; ++k, ++at) {
          // Poison is a NaN, and must not agree with an expected NaN.
          bool const unwritten = std::is_floating_point_v<T> && is_poison(got[at], poison);
          if (!unwritten && accepts(got[at], part.wanted[k], part.errors[k])) { continue; }
          lowest = std::min(lowest, begin + at);
          ++found;
        }
      }
      wrong += found;
      auto seen = first.load();
      while (lowest < seen && !first.compare_exchange_weak(seen, lowest)) {}
    };
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(count), grain, search);
    return {first, wrong};
  }

  std::string in_words(T got, std::size_t at, poison_byte poison) const {
    constexpr int digits = std::numeric_limits<T>::max_digits10;
    expected_part part;
    write(part, at, 1);
    std::string is = " is " + in_text(+got, digits);
    if (is_poison(got, poison)) {  // such an integer can also be the result of a call
      is = std::is_integral_v<T> ? is + " as if it was never written" : " was never written";
    }
    return is + ", expected " + in_text(+part.wanted[0], digits) + " (tolerance " +
           in_text(part.errors[0], 3);
  }

  std::size_t size_;
  F f_;
  tolerance allowed_;
  std::vector<whole> values_;  // the whole-array form writes them once
};

}  // namespace arrays::detail

}  // namespace assay
