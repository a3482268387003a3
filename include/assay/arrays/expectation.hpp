// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: the expected elements of an array, and their check.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/array_store.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

namespace arrays::detail {

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

/// A right value that is none.
struct no_right_value : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

/// Runs the caller's function of an array. Names the array where it throws.
template <class Call>
auto naming_array(std::size_t index, Call const& call) {
  try {
    return call();
  } catch (no_right_value const&) { throw; } catch (std::exception const& cause) {
    std::throw_with_nested(std::runtime_error("setup.expect: the function of array " +
                                              std::to_string(index) + " threw: " + cause.what()));
  } catch (...) {
    throw std::runtime_error("setup.expect: the function of array " + std::to_string(index) +
                             " threw an exception of unknown type");
  }
}

/// An array that `judge(std::span<T const> got)` calls right or wrong.
template <class T, class F>
class judged_elements final : public expectation {
 public:
  judged_elements(std::size_t size, F judge) : size_(size), judge_(std::move(judge)) {}

  std::optional<std::string> mismatch(array_store& store, void const* array, poison_byte,
                                      std::size_t index, double) override {
    auto const got = std::make_unique_for_overwrite<T[]>(size_);
    store.copy_out(got.get(), array, size_ * sizeof(T));
    return naming_array(index, [&]() -> std::optional<std::string> {
      return judge_(std::span<T const>{got.get(), size_});
    });
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
        std::vector<whole> values(size_);
        naming_array(index, [&] { f_(std::span<whole>{values}); });
        values_ = std::move(values);
      }
    }
    constexpr std::size_t piece = (std::size_t{16} << 20U) / sizeof(T);
    auto const got = std::make_unique_for_overwrite<T[]>(std::min(size_, piece));
    wrong_elements wrong;
    std::string words;
    for (std::size_t begin = 0; begin < size_; begin += piece) {
      auto const count = std::min(piece, size_ - begin);
      store.copy_out(got.get(), static_cast<T const*>(array) + begin, count * sizeof(T));
      auto const found = naming_array(
          index, [&] { return count_wrong(got.get(), count, begin, poison, slack, index); });
      if (found.count > 0 && wrong.count == 0) {
        words = in_words(got[found.first - begin], found.first, poison);
      }
      wrong.add(found);
    }
    if (wrong.count == 0) { return std::nullopt; }
    return "element " + std::to_string(wrong.first) + " of array " + std::to_string(index) + words +
           "; " + std::to_string(wrong.count) + " of " + std::to_string(size_) +
           (wrong.count == 1
                ? " elements is wrong, by " + in_text(wrong.error, 3)
                : " elements are wrong, the largest error is " + in_text(wrong.error, 3) +
                      " at element " + std::to_string(wrong.worst)) +
           ")";
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
    std::size_t first = std::numeric_limits<std::size_t>::max(), count = 0;
    double error = -1;  ///< the largest; NaN where an element that is no number is wrong
    std::size_t worst = 0;

    void add(std::size_t at, double by) { add({at, 1, by, at}); }
    void add(wrong_elements const& more) {
      bool const larger = std::isnan(more.error) ? !std::isnan(error) : more.error > error;
      bool const as_large = more.error == error || (std::isnan(more.error) && std::isnan(error));
      if (larger || (as_large && more.worst < worst)) {
        error = more.error;
        worst = more.worst;
      }
      first = std::min(first, more.first);
      count += more.count;
    }
  };

  /// Throws where right values from number `first` of the array on are none.
  void require_right(expected_part const& part, std::size_t first, std::size_t count,
                     std::size_t index) const {
    for (std::size_t k = 0; k < count; ++k) {
      if constexpr (by_part) {
        if (part.errors[k] < 0) {
          throw no_right_value("setup.expect: the permitted error of " +
                               element_text(first + k, index) + " is " +
                               in_text(part.errors[k], 3) + ": at least 0 is needed");
        }
        // Of an error computed from infinities nothing is left: the bits have to be the same.
        if (std::isnan(part.errors[k])) { continue; }
        if (part.errors[k] == 0) { continue; }  // the same bits, those of NaN included
      }
      if constexpr (!std::is_integral_v<T>) {
        if (allowed_.nan || !std::isnan(part.wanted[k])) { continue; }
        throw no_right_value("setup.expect: the right value of " + element_text(first + k, index) +
                             " is NaN: mend its function, or set the member nan of its tolerance");
      }
    }
  }
  static std::string element_text(std::size_t at, std::size_t index) {
    return "element " + std::to_string(at) + " of array " + std::to_string(index);
  }

  /// The wrong ones among `count` elements from number `begin` of the array on.
  wrong_elements count_wrong(T const* got, std::size_t count, std::size_t begin, poison_byte poison,
                             double slack, std::size_t index) const {
    constexpr std::int64_t grain = 4096;  // 20 us of work for each thread
    std::mutex adding;
    wrong_elements all;
    auto const search = [&](std::int64_t from, std::int64_t to) {
      wrong_elements found;
      expected_part part;
      for (auto at = static_cast<std::size_t>(from); at < static_cast<std::size_t>(to);) {
        auto const many = std::min(step, static_cast<std::size_t>(to) - at);
        write(part, begin + at, many);
        require_right(part, begin + at, many, index);
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
          found.add(begin + at, distance(+got[at], +part.wanted[k]));
        }
      }
      if (found.count == 0) { return; }
      std::lock_guard const lock{adding};
      all.add(found);
    };
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(count), grain, search);
    return all;
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
