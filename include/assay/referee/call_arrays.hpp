// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: the arrays of one call.
#pragma once

#include <assay/arrays/guarded_store.hpp>
#include <assay/arrays/row_layout.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/random.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/problem.hpp>
#include <assay/referee/process_state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::referee_detail {

/// The arguments of a candidate, in the arrays of a setup that outlives them.
struct arguments {
  std::vector<void*> buffers;
  std::vector<std::size_t> sizes;
  std::vector<double> scalars;

  arguments() = default;
  arguments(setup const& from, std::vector<double> numbers) : scalars(std::move(numbers)) {
    for (auto const& each : from.declared()) {
      buffers.push_back(each.data);
      sizes.push_back(each.elements);
    }
  }

  /// Throws `std::runtime_error` for another result than 0.
  void call(candidate_function const& what, void* stream) const {
    int const code = what(buffers.data(), sizes.data(), static_cast<int>(buffers.size()),
                          scalars.data(), static_cast<int>(scalars.size()), stream);
    if (code != 0) { throw std::runtime_error("a call returned " + std::to_string(code)); }
  }
};

/// How a call is made.
struct draw {
  std::uint64_t seed = 0;
  special_values values = special_values::none;
  bool keep_outputs = false;  ///< the outputs hold the results of an earlier problem, and no poison
  std::optional<std::size_t> special_array{};  ///< the only one with special values; else all are
};

/// One buffer set: arrays of one size at fixed addresses, for calls over inputs that are drawn
/// anew. `layout` selects leading dimensions where the problem lets them vary.
class call_arrays {
 public:
  call_arrays(candidate_place& where, problem const& of, candidate_function const& what,
              std::size_t n, std::uint64_t seed, std::size_t layout = 0)
      : place_(where),
        problem_(of),
        call_(what),
        n_(n),
        layout_(of.vary_leading_dimensions ? layout : 0),
        store_(std::make_shared<arrays::guarded_store>(where.make_store(seed))) {
    refresh({seed});
  }

  setup const& arrays() const noexcept { return *setup_; }
  arrays::array_store& store() noexcept { return *store_; }

  /// Draws all inputs and scalars anew and poisons the outputs.
  void refresh(draw const& how) {
    begin_to_refresh(how);
    store_->finish();
  }
  /// The same, done when the store has finished.
  void begin_to_refresh(draw const& how) {
    store_->rewind(how.keep_outputs);
    setup_ = std::make_unique<setup>(store_, how.seed);
    setup_->with(how.values, how.special_array)
        .choose_scalars(random_bits(how.seed, 0))
        .choose_rows(layout_);
    arguments_ = {*setup_, problem_.declare(*setup_, n_)};
  }

  /// Enqueues one call. The mode of floating-point numbers is restored behind it, since the check
  /// of results depends on it.
  void enqueue(void* stream) {
    float_guard const guard;
    auto const before = float_mode();
    arguments_.call(call_, stream);
    if (auto const now = float_mode(); now != before) {
      float_change_ = concat({before, " to ", now});
    }
  }
  void call() {
    enqueue(place_.stream());
    place_.drain();
  }

  std::uint64_t outputs() const { return place_.checksum(results()); }
  std::uint64_t inputs() const { return place_.checksum(memory_of(true)); }
  /// A number that follows from the content of all arrays but temporary ones.
  std::uint64_t content() const { return random_bits(inputs(), outputs()); }
  /// The memory of all arrays that calls write.
  std::vector<array_memory> results() const { return memory_of(false); }
  std::optional<std::string> verify(double slack = 1, std::optional<std::uint64_t> some = {}) {
    return setup_->verify(slack, some);
  }
  /// Names the first array with changed red zones.
  std::optional<std::string> damaged() {
    auto const damage = store_->damaged();
    if (!damage) { return {}; }
    auto const all = setup_->declared();
    for (auto const& each : all) {
      if (each.data == damage->array) { return concat({each.name, " of those declared"}); }
    }
    return "the kept contents of an `inout` array";
  }
  /// Names the first row of results whose padding has changed. The padding of outputs holds poison
  /// from the first call on, since no call may write it.
  std::optional<std::string> changed_padding() {
    auto const all = setup_->declared();
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& [rows, columns, step] = all[i].rows;
      if (!all[i].is_result() || step <= columns || all[i].elements == 0) { continue; }
      auto const element = all[i].bytes / all[i].elements;
      std::vector<std::byte> got(all[i].bytes);
      std::vector<std::byte> wanted(all[i].bytes, std::byte{all[i].poison.value_or(0)});
      store_->copy_out(got.data(), all[i].data, got.size());
      if (all[i].start != nullptr) { store_->copy_out(wanted.data(), all[i].start, wanted.size()); }
      for (std::size_t row = 0; row < rows; ++row) {
        auto const from = (row * step + columns) * element;
        auto const size = (step - columns) * element;
        if (std::memcmp(got.data() + from, wanted.data() + from, size) == 0) { continue; }
        return "the padding behind row " + std::to_string(row) + " of " +
               arrays::detail::array_in_words(all[i].rows, all[i].name);
      }
    }
    return {};
  }
  /// The change of the mode of floating-point numbers that a call has made; empty without one.
  std::string const& float_change() const noexcept { return float_change_; }

 private:
  std::vector<array_memory> memory_of(bool inputs) const {
    std::vector<array_memory> all;
    for (auto const& each : setup_->declared()) {
      bool const is_input = each.what == declared_array::role::input;
      if (inputs ? is_input : each.is_result()) { all.push_back({each.data, each.bytes}); }
    }
    return all;
  }

  candidate_place& place_;
  problem const& problem_;
  candidate_function const& call_;
  std::size_t n_, layout_;
  std::shared_ptr<arrays::guarded_store> store_;
  std::unique_ptr<setup> setup_;
  arguments arguments_;
  std::string float_change_;
};

}  // namespace assay::referee_detail
