// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: the expected elements of an array, by another implementation.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/expectation.hpp>
#include <assay/arrays/expected_elements.hpp>
#include <assay/arrays/right_values.hpp>
#include <assay/arrays/tolerance.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::arrays::detail {

/// The results of a reference. A function of the host checks them where the array is small.
class reference_elements final : public expectation {
 public:
  /// `out` is memory of the store for the results of the reference. `by_host` may be empty.
  reference_elements(array_store& store, void* out, std::size_t size, reference_run const& run,
                     right_values by_host, tolerance allowed)
      : out_(out),
        is_checked_(by_host.write != nullptr && size <= most_by_host),
        elements_(size, results_of(store, out, run, by_host), allowed, true),
        by_host_(size, std::move(by_host), allowed, true) {}

  std::optional<std::string> mismatch(checked_array const& of) override {
    auto wrong = elements_.mismatch(of);
    if (!is_checked_) { return wrong; }
    auto results = of;
    results.data = out_;
    results.poison = {};
    auto const reference = by_host_.mismatch(results);
    return reference ? "the reference itself is wrong: " + *reference : wrong;
  }

 private:
  static constexpr std::size_t most_by_host = 65'536;

  /// Right values that a run of the reference computes, all at once.
  static right_values results_of(array_store& store, void* out, reference_run const& run,
                                 right_values const& like) {
    return {like.type, is_floating(like.type) ? element::f64 : like.type, right_values::form::whole,
            [&store, out, run, type = like.type](std::size_t, std::size_t count, void* wanted,
                                                 double*) {
              run(out, store.stream());
              auto const bytes = count * with_type(type, [](auto value) { return sizeof value; });
              if (!is_floating(type)) { return store.copy_out(wanted, out, bytes); }
              std::vector<std::byte> results(bytes);
              store.copy_out(results.data(), out, bytes);
              widen(type, results.data(), count, static_cast<wide_number*>(wanted));
            }};
  }

  void* out_;
  bool is_checked_;
  expected_elements elements_, by_host_;
};

}  // namespace assay::arrays::detail
