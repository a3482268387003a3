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
#include <assay/verify/guarded_arrays.hpp>
#include <assay/verify/hang_watch.hpp>
#include <assay/verify/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::verify_detail {

/// The size and the values of one call.
struct declaration {
  std::string name;    ///< both in words
  std::string repeat;  ///< the end of a message that says how to repeat them
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
      : place_(where), watch_(watch), layout_(of.layout), arrays_(where.make_store(), of.begin) {}
  guarded_call(guarded_call const&) = delete;
  guarded_call& operator=(guarded_call const&) = delete;
  ~guarded_call() {
    end_work();
    // Memory of a device waits for kernels that a call has left behind.
    watch_.during("work behind a call", [&] { arrays_.free(); });
  }

  /// Calls twice, over two kinds of poison. Returns what is wrong.
  std::optional<std::string> examine(declaration const& how) {
    wrong_ = {};
    auto wrong = declare(how);
    if (wrong) { return wrong; }
    bool const infinite =
        how.special == special_values::nan || how.special == special_values::infinities;
    was_called_ = !(infinite && arrays_.of().is_finite());
    if (!was_called_) { return {}; }
    wrong = call_once();
    if (!wrong) { wrong = wrong_result(); }
    if (wrong) { return wrong; }
    auto const first = arrays_.checked();
    wrong = call_over(kind::second);
    if (wrong) { return once_more + *wrong; }
    auto const other = arrays_.change_since(first);
    if (!other) { return {}; }
    kind_ = kind::second;
    if (auto const why = wrong_result()) { return once_more + *why; }
    if (arrays_.of().is_unordered()) { return {}; }
    wrong_ = other;
    return other_bits + arrays_.name(*other) + "; where sums have no order, call make.unordered()";
  }

  /// The words of a failure, with what more calls tell of the wrong element.
  struct explanation {
    enum class cause { unknown, unchanged, read };
    std::string words;
    cause of = cause::unknown;  ///< the call left the element as it was, or read what it must not
  };
  /// Was the element never written, or of which content that no call may read was it computed?
  explanation explained(std::string const& wrong) {
    if (!wrong_) { return {wrong}; }
    auto const got = arrays_.bytes_of(*wrong_);
    auto const all = arrays_.of().declared();
    bool const is_poison = is_all(got, guarded_arrays::poison(all[wrong_->array], kind_));
    // Where bits may differ from call to call, the highest byte alone, with the exponent.
    auto const from = static_cast<std::ptrdiff_t>(arrays_.of().is_unordered() ? got.size() - 1 : 0);
    auto const over = [&](probe const& but) -> std::optional<std::vector<std::byte>> {
      if (call_over(kind_, but)) { return {}; }
      return arrays_.bytes_of(*wrong_);
    };
    auto const changes = [&](std::optional<std::vector<std::byte>> const& now) {
      return now && !std::equal(got.begin() + from, got.end(), now->begin() + from);
    };
    auto const again = over({});
    if (changes(again) && kind_ == kind::first) {
      return {wrong + "; the same call once more gave another result"};
    }
    if (!again || changes(again)) { return {wrong}; }
    for (auto const& but : arrays_.probes()) {
      auto const other = over(but);
      if (!changes(other)) { continue; }
      auto const back = over({});
      if (!back || changes(back)) { return {wrong}; }
      auto const& of = all[but.array];
      bool const is_unchanged = is_poison && but.where == probe::place::content &&
                                but.array == wrong_->array &&
                                is_all(*other, guarded_arrays::poison(of, kind::third));
      auto const words = is_poison && kind_ == kind::second ? with_poison_named(wrong) : wrong;
      if (!is_unchanged) { return {read_from(but, of, words), explanation::cause::read}; }
      return {because(words, is_empty_ ? "was left as it was" : "was never written"),
              explanation::cause::unchanged};
    }
    return {wrong};
  }

  /// Runs a call that was recorded in a graph.
  std::optional<std::string> examine_recorded(declaration const& how) {
    auto wrong = declare(how);
    if (wrong) { return wrong; }
    auto const before = arrays_.written();
    std::optional<std::function<void()>> graph;
    wrong = call([&] {
      watch_.during("a call that a graph records", [&] { graph = place_.record(work_); });
    });
    if (wrong || !graph) { return wrong; }
    if (auto const early = arrays_.change_since(before)) {
      return "it works outside the stream that it is given: while a graph recorded the call, " +
             arrays_.name(*early) + " changed";
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
    one.watch_.set_case(first.name, first.repeat);
    bool done = false;
    wrong = one.call([&] {
      one.watch_.during("one of two calls at once",
                        [&] { done = one.place_.call_both(one.work_, two.work_); });
    });
    if (!wrong && !done) { return {}; }
    if (!wrong) { wrong = one.wrong_result(); }
    if (!wrong) { wrong = two.arrays_.harm(); }
    if (!wrong) { wrong = two.wrong_result(); }
    if (wrong) {
      return "two calls at once, on two streams: " + *wrong +
             "; where calls share memory and run one at a time, pass .concurrent = false";
    }
    return {};
  }

  /// The worst error of the last right results.
  worst_error worst() const noexcept { return arrays_.of().worst(); }
  std::string worst_place() const { return arrays_.name({worst().array, worst().element}); }
  /// False where the last case was left out, since its factory handles finite numbers alone.
  bool was_called() const noexcept { return was_called_; }
  /// True where an array has rows, so that other layouts of these are to be tried.
  bool has_rows() const {
    auto const all = arrays_.of().declared();
    return std::ranges::any_of(all, [](auto const& each) { return each.rows.rows > 0; });
  }
  /// The scalars of the last call in words, and what else the setup chose.
  std::string scalars() const { return arrays_.exist() ? arrays_.of().scalars() : std::string{}; }
  /// The number of combinations of scalars.
  std::uint64_t scalar_choices() const {
    return arrays_.exist() ? arrays_.of().scalar_choices() : 1;
  }

  /// The results that nothing is expected of, and those of which samples are checked.
  std::vector<std::string> unchecked() const {
    auto const all = arrays_.of().declared();
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
  using kind = content_kind;
  static constexpr auto once_more = "the same call once more: ";
  static constexpr auto other_bits = "the same call once more gave other bits: ";

  /// Calls the factory. An exception of the factory is an error of this size.
  std::optional<std::string> declare(declaration const& how) {
    end_work();
    kind_ = kind::first;
    is_empty_ = std::ranges::any_of(std::span{how.of.extents}.first(how.of.rank),
                                    [](auto each) { return each == 0; });
    watch_.set_case(how.name, how.repeat);
    auto const thrown = what_throws("the factory threw", [&] {
      auto& made = arrays_.restart(how.seed);
      made.allow_empty().with(how.special).choose_scalars(how.scalars).choose_rows(layout_);
      watch_.during("the factory", [&] { work_ = how.factory.make(made, how.of); });
    });
    if (thrown) { return thrown; }
    if (auto const& more = scalars(); !more.empty()) {
      watch_.set_case(how.name + ", " + more, how.repeat);
    }
    if (!arrays_.of().has_expectations()) {  // no failure of the work, but of the program
      throw std::invalid_argument("verify: " + how.name +
                                  ": the factory expects nothing, so nothing would be checked: say "
                                  "what is right by make.expect(array, f)");
    }
    arrays_.cover(kind::first);
    arrays_.keep();
    return {};
  }

  /// Ends the work, which may use the arrays, and then these.
  void end_work() {
    watch_.during("the end of the factory's work", [&] {
      work_ = {};
      arrays_.end();
    });
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
    return arrays_.harm();
  }
  std::optional<std::string> call_once() {
    return call([&] { watch_.during("a call", [&] { place_.call(work_); }); });
  }
  /// The same over content that no call may read.
  std::optional<std::string> call_over(content_kind usual, probe const& but = {}) {
    arrays_.of().restore();
    arrays_.cover(usual, but);
    return call_once();
  }

  /// The first wrong result in words, or why a function does not say what is right.
  std::optional<std::string> wrong_result() {
    constexpr auto who = "a function of expect, expect_from or expect_that";
    std::optional<std::string> wrong;
    auto const judge = [&] { wrong = arrays_.of().verify(); };
    auto thrown = what_throws("", [&] { watch_.during(who, judge); });
    if (thrown) { return thrown; }
    // A function of the caller that judges an array names no element.
    if (wrong && worst().share > 0) { wrong_ = element_place{worst().array, worst().first}; }
    return wrong;
  }

  static bool is_all(std::vector<std::byte> const& in, unsigned char each) {
    return std::ranges::all_of(in, [each](std::byte is) { return is == std::byte{each}; });
  }

  /// Words of a wrong element that was computed from what a call must not read.
  std::string read_from(probe const& what, declared_array const& of,
                        std::string const& wrong) const {
    if (what.where == probe::place::padding) {
      return because(wrong, "was computed from the padding between rows");
    }
    if (what.where == probe::place::surroundings) {
      return because(wrong, "was computed from memory before or behind " + of.name);
    }
    bool const is_scratch = of.what == role::scratch;
    auto const held =
        (is_scratch ? ", scratch memory," : "") + std::string{" held before the call"};
    return because(wrong, "was computed from what " + of.name + held) +
           (is_scratch ? "; where it must begin with zeros, declare it by make.zeros"
                       : "; where calls read " + of.name + ", declare it by make.inout");
  }

  /// Words of an element that holds the second poison, which a setup does not know.
  static std::string with_poison_named(std::string words) {
    auto const wanted = words.find(", expected ");
    auto const value = wanted == words.npos ? wanted : words.rfind(" is ", wanted);
    if (value == words.npos) { return words; }
    return words.replace(value, wanted - value, arrays::detail::poison_in_words);
  }

  /// Words of a wrong element with a cause that is known.
  std::string because(std::string words, std::string const& cause) const {
    if (words.starts_with(other_bits)) { return arrays_.name(*wrong_) + " " + cause; }
    if (words.starts_with(once_more)) { words.erase(0, std::string_view{once_more}.size()); }
    for (std::string_view const each :
         {arrays::detail::poison_in_words, arrays::detail::integer_poison_in_words}) {
      auto const at = words.find(each);
      if (at == words.npos) { continue; }
      bool const is_integer = each == arrays::detail::integer_poison_in_words;
      words.replace(at, each.size(), is_integer ? "" : " " + cause);
      if (!is_integer) { return words; }
    }
    return words + "; it " + cause;
  }

  call_place& place_;
  hang_watch& watch_;
  std::size_t layout_;
  guarded_arrays arrays_;
  callables::work work_;
  bool was_called_ = false;
  bool is_empty_ = false;               ///< an extent is 0
  kind kind_ = kind::first;             ///< of the content before the last call
  std::optional<element_place> wrong_;  ///< the element that the last failure names
};

}  // namespace assay::verify_detail
