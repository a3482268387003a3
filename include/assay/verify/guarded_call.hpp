// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify_definitions.hpp: one call over arrays between red zones, and what can be
/// wrong with it.
#pragma once

#include <assay/arrays/guarded_store.hpp>
#include <assay/arrays/row_layout.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/callables/callable.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/verify/call_place.hpp>
#include <assay/verify/hang_watch.hpp>
#include <assay/verify/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::verify_detail {

/// The size and the values of one call.
struct declaration {
  std::string name;  ///< both in words
  verify_detail::factory const& factory;
  shape const& of;
  special_values special;
  std::uint64_t seed;
  std::uint64_t scalars;  ///< selects the values of scalars
};

/// Where arrays begin, and which leading dimensions their rows have.
struct placement {
  arrays::guarded_store::begin begin = arrays::guarded_store::begin::even;
  std::size_t layout = 0;
};

/// The arrays and the work of one size at fixed addresses.
class guarded_call {
 public:
  guarded_call(call_place& where, hang_watch& watch, placement of = {})
      : place_(where),
        watch_(watch),
        layout_(of.layout),
        store_(std::make_shared<arrays::guarded_store>(where.make_store(), of.begin, 1, true)) {}
  guarded_call(guarded_call const&) = delete;
  guarded_call& operator=(guarded_call const&) = delete;
  ~guarded_call() {
    end_work();
    // Memory of a device waits for kernels that a call has left behind.
    watch_.during("work behind a call", [&] { store_.reset(); });
  }

  /// Calls twice, over two kinds of poison. Returns what is wrong.
  std::optional<std::string> examine(declaration const& how) {
    auto const run = [&] { watch_.during("a call", [&] { place_.call(work_); }); };
    auto wrong = declare(how);
    if (wrong) { return wrong; }
    bool const infinite =
        how.special == special_values::nan || how.special == special_values::infinities;
    was_called_ = !(infinite && arrays_->is_finite());
    if (!was_called_) { return {}; }
    wrong = call(run);
    if (!wrong) { wrong = wrong_result(); }
    if (wrong) { return wrong; }
    auto const first = contents(is_checked);
    arrays_->restore();
    cover(second_poison);
    pad(false);
    wrong = call(run);
    if (wrong) { return "the same call once more: " + *wrong; }
    auto const other = change_since(first);
    if (!other) { return {}; }
    if (auto const why = wrong_result()) { return "the same call once more: " + *why; }
    if (arrays_->is_unordered()) { return {}; }
    return "the same call once more gave other bits: " + *other +
           "; where sums have no order, call make.unordered()";
  }

  /// Runs a call that was recorded in a graph.
  std::optional<std::string> examine_recorded(declaration const& how) {
    auto wrong = declare(how);
    if (wrong) { return wrong; }
    auto const before = contents([](auto const& each) { return !is_kept(each); });
    std::optional<std::function<void()>> graph;
    wrong = call([&] {
      watch_.during("a call that a graph records", [&] { graph = place_.record(work_); });
    });
    if (wrong || !graph) { return wrong; }
    if (auto const early = change_since(before)) {
      return "it works outside the stream that it is given: while a graph recorded the call, " +
             *early + " changed";
    }
    wrong = call([&] { watch_.during("a call in a captured graph", *graph); });
    if (!wrong) { wrong = wrong_result(); }
    if (wrong) { return "in a captured graph: " + *wrong; }
    return {};
  }

  /// Runs two calls at once.
  static std::optional<std::string> examine_both(guarded_call& one, declaration const& first,
                                                 guarded_call& two, declaration const& second) {
    auto wrong = one.declare(first);
    if (!wrong) { wrong = two.declare(second); }
    if (wrong) { return wrong; }
    one.watch_.set_case(first.name);
    bool done = false;
    wrong = one.call([&] {
      one.watch_.during("one of two calls at once",
                        [&] { done = one.place_.call_both(one.work_, two.work_); });
    });
    if (!wrong && !done) { return {}; }
    if (!wrong) { wrong = one.wrong_result(); }
    if (!wrong) { wrong = two.harm(); }
    if (!wrong) { wrong = two.wrong_result(); }
    if (wrong) {
      return "two calls at once, on two streams: " + *wrong +
             "; where calls share memory and run one at a time, pass .concurrent = false";
    }
    return {};
  }

  /// The worst error of the last right results.
  worst_error worst() const noexcept { return arrays_->worst(); }
  std::string worst_place() const {
    auto const of = arrays_->declared()[worst().array];
    return arrays::detail::place_in(of.rows, worst().element, of.name);
  }
  /// False where the last case was left out, since its factory handles finite numbers alone.
  bool was_called() const noexcept { return was_called_; }
  /// True where an array has rows, so that other layouts of these are to be tried.
  bool has_rows() const {
    auto const all = arrays_->declared();
    return std::ranges::any_of(all, [](auto const& each) { return each.rows.rows > 0; });
  }
  /// The scalars of the last call in words, and what else the setup chose.
  std::string scalars() const { return arrays_ ? arrays_->scalars() : std::string{}; }

  /// The results that nothing is expected of, and those of which samples are checked.
  std::vector<std::string> unchecked() const {
    auto const all = arrays_->declared();
    std::vector<std::string> found;
    for (auto const& each : all) {
      if (each.sample > 0) {
        found.push_back(each.name + " is checked by samples of " + std::to_string(each.sample) +
                        " elements where it has more");
      }
      if (!each.is_result() || each.expected) { continue; }
      found.push_back(each.name + " is not checked: nothing is expected of it");
    }
    return found;
  }

 private:
  using role = declared_array::role;
  static constexpr unsigned char scratch_poison = 0xFB;  // -2.6e36 as a float, unlike outputs
  static constexpr unsigned char second_poison = 0x5A;   // 1.5e16

  /// A copy of the content of an array.
  struct content {
    declared_array of{};
    std::unique_ptr<std::byte[]> data;
  };

  static bool is_checked(declared_array const& of) { return of.expected; }
  static bool is_padded(declared_array const& of) {
    return of.elements > 0 && of.rows.leading_dimension > of.rows.columns;
  }
  static bool is_kept(declared_array const& of) {
    return of.what == role::input || of.what == role::zeros;
  }

  /// Calls the factory. An exception of the factory is an error of this size.
  std::optional<std::string> declare(declaration const& how) {
    end_work();
    watch_.set_case(how.name);
    auto const thrown = what_throws("the factory threw", [&] {
      store_->rewind(false);
      arrays_.emplace(store_, how.seed);
      arrays_->allow_empty().with(how.special).choose_scalars(how.scalars).choose_rows(layout_);
      watch_.during("the factory", [&] { work_ = how.factory.make(*arrays_, how.of); });
    });
    if (thrown) { return thrown; }
    if (auto const& more = scalars(); !more.empty()) { watch_.set_case(how.name + ", " + more); }
    if (!arrays_->has_expectations()) {  // no failure of the work, but of the program
      throw std::invalid_argument("verify: " + how.name +
                                  ": the factory expects nothing, so nothing would be checked: say "
                                  "what is right by make.expect(array, f)");
    }
    cover(scratch_poison, true);
    pad(true);
    kept_ = contents(is_kept);
    return {};
  }

  /// Ends the work, which may use the arrays, and then these.
  void end_work() {
    watch_.during("the end of the factory's work", [&] {
      work_ = {};
      arrays_.reset();
    });
  }

  /// Fills scratch memory, and outputs unless these hold their own poison.
  void cover(unsigned char poison, bool scratch_alone = false) {
    for (auto const& each : arrays_->declared()) {
      if (each.what == role::scratch || (each.what == role::output && !scratch_alone)) {
        store_->fill(each.data, poison, each.bytes);
      }
    }
    store_->finish();
  }

  /// Byte i of the padding behind a row: of NaN that is no poison, or of 1.5e16 and -3.1e16, which
  /// reach a maximum and a minimum.
  std::byte padding_byte(std::size_t row, std::size_t i) const {
    return std::byte{static_cast<unsigned char>(padding_is_nan_ ? (i % 2 == 0 ? 0xFE : 0x7F)
                                                                : (row % 2 == 0 ? 0x5A : 0xDA))};
  }
  /// The padding behind a row of a copied array.
  static std::span<std::byte> padding(content const& in, std::size_t row) {
    auto const& rows = in.of.rows;
    auto const size = in.of.bytes / in.of.elements;
    return {in.data.get() + (row * rows.leading_dimension + rows.columns) * size,
            (rows.leading_dimension - rows.columns) * size};
  }

  /// Fills the padding of all rows.
  void pad(bool with_nan) {
    padding_is_nan_ = with_nan;
    auto const all = contents(is_padded);
    for (auto const& each : all) {
      for (std::size_t row = 0; row < each.of.rows.rows; ++row) {
        auto const to = padding(each, row);
        for (std::size_t i = 0; i < to.size(); ++i) { to[i] = padding_byte(row, i); }
      }
      store_->copy_in(each.of.data, each.data.get(), each.of.bytes);
    }
    store_->finish();
  }

  /// The first row whose padding has changed, in words.
  std::optional<std::string> changed_padding() const {
    for (auto const& each : contents(is_padded)) {
      for (std::size_t row = 0; row < each.of.rows.rows; ++row) {
        auto const now = padding(each, row);
        std::size_t same = 0;
        while (same < now.size() && now[same] == padding_byte(row, same)) { ++same; }
        if (same == now.size()) { continue; }
        return "it wrote into the padding behind row " + std::to_string(row) + " of " +
               arrays::detail::array_in_words(each.of.rows, each.of.name);
      }
    }
    return {};
  }

  /// What code of the caller throws, in words, but for a lack of memory.
  template <class Run>
  static std::optional<std::string> what_throws(std::string const& words, Run const& run) {
    try {
      run();
    } catch (std::exception const& cause) {
      if (mr::is_out_of_memory(cause)) { throw; }
      return (words.empty() ? "" : words + ": ") + cause.what();
    } catch (...) { return words + " an exception of unknown type"; }
    return {};
  }

  /// Runs one call. Returns an error of the call beside its results, in words.
  template <class Run>
  std::optional<std::string> call(Run const& run) {
    if (auto thrown = what_throws("the call threw", run)) { return thrown; }
    return harm();
  }

  /// The first wrong result in words, or why a function does not say what is right.
  std::optional<std::string> wrong_result() {
    constexpr auto who = "a function of expect, expect_from or expect_that";
    std::optional<std::string> wrong;
    auto const judge = [&] { wrong = arrays_->verify(); };
    auto thrown = what_throws("", [&] { watch_.during(who, judge); });
    return thrown ? thrown : wrong;
  }

  /// Changes that no call may make, in words: of red zones, padding, inputs and zeros.
  std::optional<std::string> harm() {
    if (auto const* const at = store_->damaged(); at != nullptr) {
      for (auto const& each : arrays_->declared()) {
        if (each.data == at) { return "it wrote before or behind " + each.name; }
      }
      return "it wrote before or behind the first contents of an inout array";
    }
    if (auto padded = changed_padding()) { return padded; }
    auto changed = change_since(kept_);
    if (changed) { *changed += ", which calls only read or leave as zeros, was changed"; }
    return changed;
  }

  template <class Which>
  std::vector<content> contents(Which const& which) const {
    auto const all = arrays_->declared();
    std::vector<content> found;
    for (auto const& each : all) {
      if (!which(each)) { continue; }
      auto data = std::make_unique_for_overwrite<std::byte[]>(each.bytes);
      store_->copy_out(data.get(), each.data, each.bytes);
      found.push_back({each, std::move(data)});
    }
    return found;
  }

  /// The first element, but for padding, that has changed, in words.
  std::optional<std::string> change_since(std::vector<content> const& before) const {
    for (auto const& each : before) {
      auto const now = std::make_unique_for_overwrite<std::byte[]>(each.of.bytes);
      store_->copy_out(now.get(), each.of.data, each.of.bytes);
      if (std::memcmp(now.get(), each.data.get(), each.of.bytes) == 0) { continue; }
      auto const size = each.of.bytes / each.of.elements;
      for (std::size_t i = 0; i < each.of.elements; ++i) {
        bool const same = std::memcmp(now.get() + i * size, each.data.get() + i * size, size) == 0;
        if (same || each.of.rows.is_padding(i)) { continue; }
        return arrays::detail::place_in(each.of.rows, i, each.of.name);
      }
    }
    return {};
  }

  call_place& place_;
  hang_watch& watch_;
  std::size_t layout_;
  bool padding_is_nan_ = true;
  std::shared_ptr<arrays::guarded_store> store_;
  std::optional<setup> arrays_;
  callables::work work_;
  std::vector<content> kept_;  ///< arrays that calls must not change
  bool was_called_ = false;
};

}  // namespace assay::verify_detail
