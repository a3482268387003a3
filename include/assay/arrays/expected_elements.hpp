// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: the expected elements of an array, and their check.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/array_store.hpp>
#include <assay/arrays/element_errors.hpp>
#include <assay/arrays/expectation.hpp>
#include <assay/arrays/right_values.hpp>
#include <assay/arrays/right_values_memo.hpp>
#include <assay/arrays/row_layout.hpp>
#include <assay/arrays/sampled.hpp>
#include <assay/arrays/tolerance.hpp>
#include <assay/arrays/wide_number.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::arrays::detail {

/// How many elements a sample has, 0 for all, and the seed of its draws.
struct sample_of {
  std::size_t elements = 0;
  std::uint64_t seed = 0;
};

class expected_elements final : public expectation {
 public:
  /// `has_rule`: the tolerance is that of a computation, such as a sum.
  expected_elements(std::size_t size, right_values right, tolerance allowed, bool has_rule,
                    shared_place shared = {}, sample_of sample = {})
      : size_(size),
        right_(std::move(right)),
        allowed_(allowed),
        has_rule_(has_rule),
        shared_(std::move(shared)),
        sample_(sample) {}

  std::size_t sample() const override { return sample_.elements; }

  /// Copies the array back in pieces of 16 MiB: fresh host memory for a whole array takes longer to
  /// map than its copy takes.
  std::optional<std::string> mismatch(checked_array const& of) override {
    std::vector<std::size_t> drawn;
    auto const size = of.rows.leading_dimension == 0 ? size_ : of.rows.rows * of.rows.columns;
    bool const some = sample_.elements > 0 && sample_.elements < size;
    if (some) {
      drawn = draw_sample(size_, of.rows, sample_.elements, random_bits(sample_.seed, passed_));
    } else if (!values_) {
      values_ = naming_array(of.name, [&] { return kept_values(right_, size_, shared_, of.name); });
    }
    auto const parts = pieces(size_, (std::size_t{16} << 20U) / bytes_of(right_.type),
                              some ? std::nullopt : of.some);
    auto const bytes = parts.length * bytes_of(right_.type);
    auto const together = parts.drawn ? parts.begins.size() : 1;  // in one copy
    std::size_t looked = 0;
    auto const got = std::make_unique_for_overwrite<std::byte[]>(together * bytes);
    element_errors wrong;
    std::string words;
    for (std::size_t i = 0; i < parts.begins.size(); i += together) {
      auto const begins = std::span{parts.begins}.subspan(i, together);
      auto const count = std::min(parts.length, size_ - begins.back());
      looked += together * count;
      std::vector<std::size_t> offsets(begins.begin(), begins.end());
      for (auto& each : offsets) { each *= bytes_of(right_.type); }
      of.store.copy_out_pieces(got.get(), of.data, count * bytes_of(right_.type), offsets);
      std::vector<element_errors> found(together);
      naming_array(of.name, [&] {
        auto const look = [&](std::int64_t from, std::int64_t to) {
          for (auto k = static_cast<std::size_t>(from); k < static_cast<std::size_t>(to); ++k) {
            auto const* const at = got.get() + k * bytes;
            found[k] = some ? sample_wrong(at, count, begins[k], drawn, of)
                            : count_wrong(at, count, begins[k], of);
          }
        };
        host::parallel_for(host::all_threads(), static_cast<std::int64_t>(together), 4, look);
      });
      for (std::size_t k = 0; k < together; ++k) {
        if (found[k].count > 0 && wrong.count == 0) {
          auto const at = (found[k].first - begins[k]) * bytes_of(right_.type);
          words = in_words(got.get() + k * bytes + at, found[k].first, of.poison);
        }
        wrong.add(found[k]);
      }
    }
    worst_error worst{0, wrong.share, of.index, wrong.at_share, wrong.of_share, wrong.first};
    if (worst.share > 0) {
      part at;
      write(at, worst.element, 1);
      double const wanted = wanted_as_double(at, 0);
      bool const has_ulps = wanted != 0 || !is_floating(right_.type);
      worst.ulps = has_ulps ? worst.error / ulp_of(right_.type, wanted) : 0;
    }
    if (worst.share > of.worst.share) { of.worst = worst; }
    if (wrong.count == 0) {
      ++passed_;
      return std::nullopt;
    }
    return place_in(of.rows, wrong.first, of.name) + words +
           wrong.in_words((some             ? "a sample of " + std::to_string(drawn.size()) + " of "
                           : looked < size_ ? std::to_string(looked) + " drawn ones of "
                                            : "") +
                          std::to_string(size)) +
           "); worst error: " + error_in_words(worst, is_floating(right_.type)) + ", at " +
           place_in(of.rows, worst.element, of.name) + advice(wrong.error, wrong.worst, of.inputs);
  }

 private:
  static constexpr std::size_t step = 1024;  // 24 KiB of elements stay in the L1 cache

  static std::size_t bytes_of(element type) {
    return with_type(type, [](auto value) { return sizeof value; });
  }

  /// Elements of the array and their right values, on the stack of one thread.
  struct part {
    std::array<wide_number, step> got, wanted;
    std::array<double, step> errors;
  };

  /// Writes right values from number `first` of the array on, and their permitted errors.
  void write(part& to, std::size_t first, std::size_t count) const {
    alignas(wide_number) std::array<std::byte, step * sizeof(wide_number)> written;
    std::byte const* from = written.data();
    if (values_) {
      from = values_->data() + first * bytes_of(right_.wanted);
    } else {
      right_.write(first, count, written.data(), to.errors.data());
    }
    widen(right_.wanted, from, count, to.wanted.data());
    if (right_.of == right_values::form::part) { return; }
    for (std::size_t k = 0; k < count; ++k) {
      to.errors[k] = allowed_.absolute + allowed_.relative * std::abs(wanted_as_double(to, k));
    }
  }

  /// A remedy for a wrong array whose largest `error`, at element `worst`, can be that of a sum
  /// over the largest input. Such a sum, added up in blocks, has sqrt(terms) roundings of partial
  /// sums near 1, or of the result.
  std::string advice(double error, std::size_t worst, std::size_t inputs) const {
    if (has_rule_ || right_.of == right_values::form::part || !is_floating(right_.type)) {
      return {};
    }
    double const many = 2 * std::sqrt(static_cast<double>(inputs));
    auto const allowed = with_type(
        right_.type, [&]<class T>(T) { return tolerance_for<T>(rounding_rule{many, many}); });
    part at;
    write(at, worst, 1);
    if (!(error <= allowed.absolute + allowed.relative * std::abs(wanted_as_double(at, 0)))) {
      return {};
    }
    return "; within the bound of a sum of many terms: where the array holds such sums, pass "
           "assay::sum_of(TERMS) to expect, or the rule of what it holds, such as softmax_of";
  }

  double wanted_as_double(part const& of, std::size_t k) const {
    return is_floating(right_.wanted)         ? of.wanted[k].f
           : is_signed_integer(right_.wanted) ? static_cast<double>(of.wanted[k].i)
                                              : static_cast<double>(of.wanted[k].u);
  }

  /// Calls `body(got, wanted)` with the members of wide numbers that the array's elements and their
  /// right values have.
  template <class Body>
  void with_members(Body const& body) const {
    if (is_floating(right_.type)) { return body(&wide_number::f, &wide_number::f); }
    auto const with_got = [&](auto got) {
      is_signed_integer(right_.wanted) ? body(got, &wide_number::i) : body(got, &wide_number::u);
    };
    is_signed_integer(right_.type) ? with_got(&wide_number::i) : with_got(&wide_number::u);
  }

  bool accepts(double got, double wanted, double error) const {
    bool const exact = right_.of == right_values::form::part;
    if (exact && same_result(got, wanted)) { return true; }
    return (!exact || error > 0) &&
           (agrees(got, wanted, error) ||
            (right_.type != element::f64 && got == rounded_to(right_.type, wanted)));
  }
  template <class Got, class Wanted>
  bool accepts(Got got, Wanted wanted, double error) const {
    return agrees(got, wanted, error);
  }

  /// Throws where right values from number `first` of the array on are none.
  void require_right(part const& of, std::size_t first, std::size_t count,
                     checked_array const& in) const {
    auto const name = [&](std::size_t k) { return place_in(in.rows, first + k, in.name); };
    bool const is_part = right_.of == right_values::form::part;
    if (!is_part && (!is_floating(right_.wanted) || allowed_.nan)) { return; }
    for (std::size_t k = 0; k < count; ++k) {
      if (in.rows.is_padding(first + k)) { continue; }
      if (is_part) {
        if (of.errors[k] < 0) {
          throw no_right_value("setup.expect: the permitted error of " + name(k) + " is " +
                               detail::in_text(of.errors[k], 3) + ": at least 0 is needed");
        }
        // Of an error computed from infinities nothing is left: the bits have to be the same.
        if (std::isnan(of.errors[k])) { continue; }
        if (of.errors[k] == 0) { continue; }  // the same bits, those of NaN included
      }
      if (!is_floating(right_.wanted) || allowed_.nan || !std::isnan(of.wanted[k].f)) { continue; }
      throw no_right_value("setup.expect: the right value of " + name(k) +
                           " is NaN: mend its function, or set the member nan of its tolerance");
    }
  }

  /// True for an element of poison.
  bool is_poison(std::byte const* at, poison_byte poison) const {
    if (!poison) { return false; }
    return std::all_of(at, at + bytes_of(right_.type),
                       [&](std::byte each) { return each == std::byte{*poison}; });
  }

  /// The wrong ones among `count` elements from number `begin` of the array on.
  element_errors count_wrong(std::byte const* got, std::size_t count, std::size_t begin,
                             checked_array const& of) const {
    constexpr std::int64_t grain = 4096;  // 20 us of work for each thread
    std::mutex adding;
    element_errors all;
    host::parallel_for(
        host::all_threads(), static_cast<std::int64_t>(count), grain,
        [&](std::int64_t from, std::int64_t to) {
          element_errors found;
          part now;
          for (auto at = static_cast<std::size_t>(from); at < static_cast<std::size_t>(to);) {
            auto const many = std::min(step, static_cast<std::size_t>(to) - at);
            write(now, begin + at, many);
            require_right(now, begin + at, many, of);
            if (of.slack > 1) {
              auto const errors = std::span{now.errors}.first(many);
              double largest = 0;
              for (std::size_t k = 0; k < many; ++k) {
                if (!of.rows.is_padding(begin + at + k)) { largest = std::max(largest, errors[k]); }
              }
              std::fill(errors.begin(), errors.end(), of.slack * largest);
            }
            add_errors(found, now, got + at * bytes_of(right_.type), many, begin + at, of);
            at += many;
          }
          std::lock_guard const lock{adding};
          all.add(found);
        });
    return all;
  }

  /// The wrong ones of a sample, and those that were never written, among `count` elements from
  /// number `begin` of the array on.
  element_errors sample_wrong(std::byte const* got, std::size_t count, std::size_t begin,
                              std::vector<std::size_t> const& drawn,
                              checked_array const& of) const {
    auto const bytes = bytes_of(right_.type);
    auto const low = std::lower_bound(drawn.begin(), drawn.end(), begin);
    auto const high = std::lower_bound(low, drawn.end(), begin + count);
    element_errors all;
    std::mutex adding;
    double largest = 0;  // of the permitted errors
    auto const each_drawn = [&](bool judged) {
      host::parallel_for(host::all_threads(), high - low, 16,
                         [&](std::int64_t from, std::int64_t to) {
                           element_errors found;
                           double most = 0;
                           part now;
                           for (auto i = from; i < to; ++i) {
                             auto const at = low[i];
                             write(now, at, 1);
                             require_right(now, at, 1, of);
                             most = std::max(most, now.errors[0]);
                             if (!judged) { continue; }
                             if (of.slack > 1) { now.errors[0] = of.slack * largest; }
                             add_errors(found, now, got + (at - begin) * bytes, 1, at, of);
                           }
                           std::lock_guard const lock{adding};
                           largest = std::max(largest, most);
                           all.add(found);
                         });
    };
    if (of.slack > 1) { each_drawn(false); }
    each_drawn(true);
    if (!is_floating(right_.type) || !of.poison) { return all; }
    for (std::size_t k = 0; k < count; ++k) {
      auto const at = begin + k;
      if (of.rows.is_padding(at) || !is_poison(got + k * bytes, of.poison)) { continue; }
      if (std::binary_search(low, high, at)) { continue; }  // counted above
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      all.add(at, nan, 0, false);
    }
    return all;
  }

  /// Notes the errors of `count` elements from number `first` of the array on.
  void add_errors(element_errors& to, part& now, std::byte const* got, std::size_t count,
                  std::size_t first, checked_array const& of) const {
    widen(right_.type, got, count, now.got.data());
    auto const bytes = bytes_of(right_.type);
    // Poison is a NaN, and must not agree with an expected NaN.
    auto const poison = is_floating(right_.type) ? of.poison : poison_byte{};
    with_members([&](auto is, auto should_be) {
      for (std::size_t k = 0; k < count; ++k) {
        if (of.rows.is_padding(first + k)) { continue; }
        auto const* const at = got + k * bytes;
        bool const unwritten = poison && *at == std::byte{*poison} && is_poison(at, poison);
        auto const value = now.got[k].*is;
        auto const wanted = now.wanted[k].*should_be;
        bool const right = !unwritten && accepts(value, wanted, now.errors[k]);
        to.add(first + k, distance(value, wanted), now.errors[k], right);
      }
    });
  }

  std::string in_words(std::byte const* got, std::size_t at, poison_byte poison) const {
    part now;
    write(now, at, 1);
    widen(right_.type, got, 1, now.got.data());
    std::string is = " is " + in_text(right_.type, now.got[0]);
    if (is_poison(got, poison)) {  // such an integer can also be the result of a call
      is = is_floating(right_.type) ? poison_in_words : is + integer_poison_in_words;
    }
    auto const wanted = is_floating(right_.type) ? right_.type : right_.wanted;
    auto const allowed = std::isnan(now.errors[0])
                             ? std::string{}
                             : "tolerance " + detail::in_text(now.errors[0], 3) + "; ";
    return is + ", expected " + in_text(wanted, now.wanted[0]) + " (" + allowed;
  }

  std::size_t size_;
  right_values right_;
  tolerance allowed_;
  bool has_rule_;
  shared_place shared_;
  sample_of sample_;
  std::uint64_t passed_ = 0;  // checks: each draws another sample, and a failure is found again
  right_values_memo::values values_{};  // of the whole-array form, and those that are shared
};

}  // namespace assay::arrays::detail
