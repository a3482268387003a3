// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sizes`: the sizes that a verification may try.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

/// The extents of a problem, such as its number of elements, or its rows and columns.
struct shape {
  static constexpr std::size_t most = 4;
  std::array<std::size_t, most> extents{};
  std::size_t rank = 0;

  shape() = default;
  shape(std::size_t n) : extents{n}, rank(1) {}  // NOLINT: implicit, so that sizes{1, 257} works
  /// Throws `std::invalid_argument` for more than four extents.
  shape(std::initializer_list<std::size_t> all);
  std::size_t operator[](std::size_t i) const noexcept { return extents[i]; }
  bool operator==(shape const&) const = default;
};

/// "257", or "{64, 33}".
std::string to_string(shape const& of);

/// The sizes that a verification may try: a list of sizes, or rules for the sizes of its own list.
///
/// `sizes{}.multiple_of(4)`, `sizes{}.at_least({1, 16})`, `sizes{1, 100, 257}`, `sizes{{64, 33}}`,
/// `std::vector<assay::shape>`.
/// One number as a rule holds for each extent. All functions throw `std::invalid_argument` for
/// what no size can keep.
class sizes {
 public:
  sizes() = default;
  sizes(std::initializer_list<shape> only) : only_(only) {}
  /// A list that the program made, of one size at least.
  sizes(std::vector<shape> only);

  /// The verification's own sizes are rounded up to these multiples.
  sizes& multiple_of(shape step);
  sizes& at_least(shape low);
  sizes& at_most(shape high);
  /// `may(n)`, `may(rows, columns)` and so on: true for a size that is allowed.
  template <class F>
  sizes& where(F may) {
    allowed_.push_back([may = std::move(may)](shape const& of) -> bool {
      if constexpr (std::is_invocable_v<F const&, std::size_t>) {
        return may(of[0]);
      } else if constexpr (std::is_invocable_v<F const&, std::size_t, std::size_t>) {
        return may(of[0], of[1]);
      } else if constexpr (std::is_invocable_v<F const&, std::size_t, std::size_t, std::size_t>) {
        return may(of[0], of[1], of[2]);
      } else {
        return may(of[0], of[1], of[2], of[3]);
      }
    });
    return *this;
  }

  /// The sizes of the list that the constructor got.
  std::vector<shape> const& listed() const noexcept { return only_; }
  bool allows(shape const& of) const;
  /// `of` with each extent rounded up to its multiple.
  shape rounded(shape of) const;
  /// The rules in words, such as "multiples of 4, at least 1"; empty without any.
  std::string rules() const;

 private:
  std::vector<shape> only_;
  shape step_{1}, low_{0}, high_{static_cast<std::size_t>(-1)};
  std::vector<std::function<bool(shape const&)>> allowed_;
};

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/verify/sizes_definitions.hpp>
#endif
