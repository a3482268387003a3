// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: what an array must hold, and a judge of it.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/matrix.hpp>
#include <assay/arrays/right_values.hpp>
#include <assay/arrays/right_values_memo.hpp>
#include <assay/arrays/tolerance.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay::arrays::detail {

/// The byte that fills an array before verification; none where the array is not poisoned.
using poison_byte = std::optional<unsigned char>;

/// An array whose content is checked.
struct checked_array {
  array_store& store;
  void const* data;
  poison_byte poison;
  std::size_t index;  ///< its number
  std::string const& name;
  double slack;        ///< above 1: so many times the largest error of 1024 elements is permitted
  std::size_t inputs;  ///< elements of the setup's largest input
  worst_error& worst;  ///< replaced by a worse one
  matrix rows{};       ///< padding between them is neither right nor wrong
  std::optional<std::uint64_t> some{};  ///< looks at drawn parts alone, see `pieces`
};

/// The expected content of an array after one call.
class expectation {
 public:
  virtual ~expectation() = default;
  /// The first wrong element in words; nothing when the array is right. Poison of floating type is
  /// wrong.
  virtual std::optional<std::string> mismatch(checked_array const& of) = 0;
  /// The elements of a sample that was asked for; 0 where all are checked.
  virtual std::size_t sample() const { return 0; }
};

/// Runs the caller's function of an array. Names the array where it throws.
template <class Call>
auto naming_array(std::string const& name, Call const& call) {
  try {
    return call();
  } catch (no_right_value const&) { throw; } catch (std::exception const& cause) {
    std::throw_with_nested(
        std::runtime_error("setup.expect: the function of " + name + " threw: " + cause.what()));
  } catch (...) {
    throw std::runtime_error("setup.expect: the function of " + name +
                             " threw an exception of unknown type");
  }
}

/// An array that a function calls right or wrong.
class judged_elements final : public expectation {
 public:
  judged_elements(std::size_t size, std::size_t element_bytes, array_judge judge)
      : size_(size), element_bytes_(element_bytes), judge_(std::move(judge)) {}

  std::optional<std::string> mismatch(checked_array const& of) override {
    // Memory of `operator new` is aligned for all types of elements.
    auto const got = std::make_unique_for_overwrite<std::byte[]>(size_ * element_bytes_);
    of.store.copy_out(got.get(), of.data, size_ * element_bytes_);
    return naming_array(of.name, [&] { return judge_(got.get(), size_); });
  }

 private:
  std::size_t size_, element_bytes_;
  array_judge judge_;
};

}  // namespace assay::arrays::detail
