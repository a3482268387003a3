// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to guarded_call.hpp: the arrays of a call, what they hold before it, and what it has
/// changed.
#pragma once

#include <assay/arrays/array_view.hpp>
#include <assay/arrays/guarded_store.hpp>
#include <assay/arrays/row_layout.hpp>
#include <assay/arrays/setup.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::verify_detail {

/// An element of an array, by its index in the setup.
struct element_place {
  std::size_t array = 0, element = 0;
};

/// The kinds of content of what a call must not read. The third one has numbers near 1 in all
/// floating types: sums do not absorb what is added to them.
enum class content_kind { first, second, third };
/// What holds the third kind in place of another one: an output or scratch memory, the padding of
/// all rows, or what lies before and behind an array.
struct probe {
  enum class place { none, content, padding, surroundings } where = place::none;
  std::size_t array = 0;
};

/// Arrays of a setup between red zones.
class guarded_arrays {
 public:
  using role = declared_array::role;

  guarded_arrays(std::unique_ptr<arrays::array_store> in, arrays::guarded_store::begin begin)
      : store_(std::make_shared<arrays::guarded_store>(std::move(in), begin, 1, true)) {}

  /// A new setup, whose arrays lie where those of the last one did.
  setup& restart(std::uint64_t seed) {
    store_->rewind(false);
    return arrays_.emplace(store_, seed);
  }
  /// Ends the setup, which the work may use.
  void end() { arrays_.reset(); }
  void free() { store_.reset(); }
  bool exist() const noexcept { return arrays_.has_value(); }
  setup& of() { return *arrays_; }
  setup const& of() const { return *arrays_; }

  /// Fills what a call must not read.
  void cover(content_kind usual, probe const& but = {}) {
    using enum probe::place;
    auto const all = of().declared();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_filled(all[i])) { continue; }
      bool const is_probed = but.where == content && but.array == i;
      store_->fill(all[i].data, poison(all[i], is_probed ? content_kind::third : usual),
                   all[i].bytes);
    }
    store_->mark_otherwise(but.where == surroundings ? all[but.array].data : nullptr);
    store_->finish();
    pad((usual == content_kind::first) != (but.where == padding));
  }
  /// All that a call may have read by mistake.
  std::vector<probe> probes() const {
    auto const all = of().declared();
    std::vector<probe> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_filled(all[i])) { found.push_back({probe::place::content, i}); }
    }
    found.push_back({probe::place::padding});
    for (std::size_t i = 0; i < all.size(); ++i) {
      found.push_back({probe::place::surroundings, i});
    }
    return found;
  }
  /// The byte that fills an output or scratch memory.
  static unsigned char poison(declared_array const& of, content_kind kind) {
    constexpr unsigned char scratch = 0xFB;  // -2.6e36 as a float
    auto const first = of.poison.value_or(scratch);
    if (kind == content_kind::first) { return first; }
    unsigned char const chosen = kind == content_kind::second ? 0x5A : 0x3F;  // 1.5e16 and 0.75
    return chosen == first ? chosen + 1 : chosen;
  }
  /// Keeps what calls must not change.
  void keep() { kept_ = contents(is_kept); }

  /// A copy of the content of an array.
  struct content {
    declared_array of{};
    std::size_t index = 0;
    std::unique_ptr<std::byte[]> data;
  };
  std::vector<content> checked() const {
    return contents([](auto const& each) { return each.expected; });
  }
  std::vector<content> written() const {
    return contents([](auto const& each) { return !is_kept(each); });
  }
  /// The bytes of an element.
  std::vector<std::byte> bytes_of(element_place const& at) const {
    auto const of = arrays_->declared()[at.array];
    std::vector<std::byte> got(of.bytes / of.elements);
    store_->copy_out(got.data(), static_cast<std::byte*>(of.data) + at.element * got.size(),
                     got.size());
    return got;
  }
  std::string name(element_place const& at) const {
    auto const of = arrays_->declared()[at.array];
    return arrays::detail::place_in(of.rows, at.element, of.name);
  }

  /// The first element, but for padding, that has changed.
  std::optional<element_place> change_since(std::vector<content> const& before) const {
    for (auto const& each : before) {
      auto const now = std::make_unique_for_overwrite<std::byte[]>(each.of.bytes);
      store_->copy_out(now.get(), each.of.data, each.of.bytes);
      if (std::memcmp(now.get(), each.data.get(), each.of.bytes) == 0) { continue; }
      auto const size = each.of.bytes / each.of.elements;
      for (std::size_t i = 0; i < each.of.elements; ++i) {
        bool const same = std::memcmp(now.get() + i * size, each.data.get() + i * size, size) == 0;
        if (!same && !each.of.rows.is_padding(i)) { return element_place{each.index, i}; }
      }
    }
    return {};
  }

  /// Changes that no call may make, in words: of red zones, padding, inputs and zeros.
  std::optional<std::string> harm() {
    if (auto const damage = store_->damaged()) { return in_words(*damage); }
    if (auto padded = changed_padding()) { return padded; }
    auto const changed = change_since(kept_);
    if (!changed) { return {}; }
    return name(*changed) + ", which calls only read or leave as zeros, was changed";
  }

 private:
  static bool is_filled(declared_array const& of) {
    return of.what == role::scratch || of.what == role::output;
  }
  static bool is_padded(declared_array const& of) {
    return of.elements > 0 && of.rows.leading_dimension > of.rows.columns;
  }
  static bool is_kept(declared_array const& of) {
    return of.what == role::input || of.what == role::zeros;
  }

  /// Byte i of the padding behind a row: of NaN that is no poison, or of 1.5e16 and -3.1e16, which
  /// reach a maximum and a minimum.
  std::byte padding_byte(std::size_t row, std::size_t i) const {
    return std::byte{static_cast<unsigned char>(padding_is_nan_ ? (i % 2 == 0 ? 0xFE : 0x7F)
                                                                : (row % 2 == 0 ? 0x5A : 0xDA))};
  }
  /// The padding behind a row of a copied array.
  static std::span<std::byte> padding_of(content const& in, std::size_t row) {
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
        auto const to = padding_of(each, row);
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
        auto const now = padding_of(each, row);
        std::size_t same = 0;
        while (same < now.size() && now[same] == padding_byte(row, same)) { ++same; }
        if (same == now.size()) { continue; }
        return "it wrote into the padding behind row " + std::to_string(row) + " of " +
               arrays::detail::array_in_words(each.of.rows, each.of.name);
      }
    }
    return {};
  }

  /// "it wrote behind y, at index 301, where the last one is 300".
  std::string in_words(arrays::guarded_store::damage const& of) const {
    declared_array in{};
    for (auto const& each : arrays_->declared()) {
      if (each.data != of.array && each.start != of.array) { continue; }
      in = each;
      if (each.data != of.array) { in.name = "the first content of " + each.name; }
    }
    bool const is_before = of.before.first <= of.before.last;
    bool const is_behind = of.behind.first <= of.behind.last;
    if (in.elements == 0) {
      return std::string{"it wrote "} + (is_before ? "before " : "behind ") + in.name +
             ", which is empty";
    }
    auto const size = static_cast<std::ptrdiff_t>(in.bytes / in.elements);
    auto const at = [size](auto const& changed) {
      auto const index = [size](std::ptrdiff_t i) { return (i < 0 ? i - size + 1 : i) / size; };
      auto const first = index(changed.first), last = index(changed.last);
      return first == last
                 ? ", at index " + std::to_string(first)
                 : ", at indices " + std::to_string(first) + " to " + std::to_string(last);
    };
    return "it wrote " + (is_before ? "before " + in.name + at(of.before) : "") +
           (is_before && is_behind ? ", and " : "") +
           (is_behind ? "behind " + in.name + at(of.behind) + ", where the last one is " +
                            std::to_string(in.elements - 1)
                      : "");
  }

  template <class Which>
  std::vector<content> contents(Which const& which) const {
    auto const all = arrays_->declared();
    std::vector<content> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!which(all[i])) { continue; }
      auto data = std::make_unique_for_overwrite<std::byte[]>(all[i].bytes);
      store_->copy_out(data.get(), all[i].data, all[i].bytes);
      found.push_back({all[i], i, std::move(data)});
    }
    return found;
  }

  std::shared_ptr<arrays::guarded_store> store_;
  std::optional<setup> arrays_;
  std::vector<content> kept_;  ///< arrays that calls must not change
  bool padding_is_nan_ = true;
};

}  // namespace assay::verify_detail
