// SPDX-License-Identifier: Apache-2.0
/// @file
/// Callables with erased types as the variants of one comparison.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/callables.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::measure {

/// The instruments that all callables of one comparison share.
class callable_support {
 public:
  virtual ~callable_support() = default;
  virtual std::unique_ptr<subject> build(epoch const& now, std::string const& label,
                                         callables::work_factory const& make) const = 0;
  virtual environment_watch watch() const = 0;
  virtual std::vector<ceiling> ceilings() const = 0;
  /// True if callables with these captured values are known to use the same buffers.
  virtual bool same_buffers(std::vector<callables::captured_words> const& captured) const = 0;
};

namespace detail {

template <class Support>
std::shared_ptr<callable_support const> make_support(options const& chosen) {
  return std::shared_ptr<callable_support const>{new Support{chosen}};
}

/// The share of a call's time that the place of captured values may be worth: see `placed`.
inline constexpr double immovable_placement = 0.15;

/// True for all but factories.
inline bool brings_buffers(callables::erased_callable const& of) { return of.type.make == nullptr; }
inline bool is_immovable(callables::erased_callable const& of) {
  return brings_buffers(of) && of.type.copy == nullptr;
}

/// A callable of any kind as a factory. A factory is one object in all epochs. Work is copied to a
/// new place for each buffer set and epoch, and work that cannot be copied stays where it is.
inline callables::work_factory factory_of(callables::erased_callable const& from) {
  return [type = from.type, callable = from.callable](setup& with) -> callables::work {
    if (type.make != nullptr) { return type.make(callable.get(), with); }
    if (type.copy == nullptr) { return {callable, type.call}; }
    return {callables::detail::placed_copy(type, callable.get(), with.draw_place()), type.call};
  };
}

/// A closure of pointers and numbers has its pointers at multiples of their size.
inline callables::captured_words captured_by(callables::erased_callable const& from) {
  callables::captured_words words(from.type.bytes / sizeof(std::uintptr_t));
  if (!words.empty()) {
    std::memcpy(words.data(), from.callable.get(), words.size() * sizeof(std::uintptr_t));
  }
  return words;
}

/// True if variants keep buffers in all epochs which are not those of all others.
inline bool keeps_own_buffers(callable_list const& of, callable_support const& with) {
  std::vector<callables::captured_words> captured;
  bool some = false;
  for (auto const& each : of.entries) {
    some = some || brings_buffers(each);
    // The type of any other callable hides what it owns.
    if (brings_buffers(each) && each.type.is_plain_data) { captured.push_back(captured_by(each)); }
  }
  bool const all = captured.size() == of.entries.size();
  return some && !of.chosen.same_buffers && !(all && with.same_buffers(captured));
}

/// The variants, all of which share `with`.
inline std::vector<variant> variants_of(callable_list const& of,
                                        std::shared_ptr<callable_support const> const& with,
                                        bool own_buffers) {
  std::vector<variant> all;
  for (auto const& each : of.entries) {
    all.push_back({each.label,
                   {{"callable", each.label}},
                   [with, label = each.label, make = factory_of(each)](epoch const& now) {
                     return with->build(now, label, make);
                   }});
    if (own_buffers && brings_buffers(each)) {
      all.back().placement = of.place.placement;
      all.back().short_placement = of.place.short_placement;
    }
    if (is_immovable(each)) { all.back().placement = immovable_placement; }
  }
  return all;
}

/// Variants without instruments. Names and options are checked before a device is asked, which
/// takes a second.
inline std::vector<variant> unbuilt_variants(callable_list const& of) {
  std::vector<variant> all;
  for (auto const& each : of.entries) {
    if (each.label.empty()) {
      throw std::invalid_argument("a variant needs a name that is not empty");
    }
    all.push_back({each.label, {}, [](epoch const&) { return nullptr; }});
  }
  return all;
}

/// What the epochs do not make anew, as notes.
inline std::vector<std::string> scope_notes(callable_list const& of, bool own_buffers) {
  std::vector<std::string> notes;
  if (own_buffers) {
    notes.push_back(concat(
        {"callables keep their buffers in all epochs, so all verdicts are on these buffers, and "
         "effects up to ",
         share_text(of.place.placement),
         of.place.short_placement > 0 ? concat({", and of calls below 50 us up to ",
                                                share_text(of.place.short_placement), ","})
                                      : std::string{},
         " may be their placement; a factory of assay::setup& tells the two apart"}));
  }
  for (auto const& each : of.entries) {
    if (!is_immovable(each)) { continue; }
    notes.push_back(
        concat({"\"", each.label,
                "\" cannot be copied: what it has captured stays in one place in all epochs, "
                "which may be worth ",
                share_text(immovable_placement)}));
  }
  return notes;
}

/// The options with the defaults of a place.
inline options with_defaults(options chosen, callable_place const& of) {
  if (!chosen.clock) { chosen.clock = of.default_clock; }
  if (!chosen.most_launches) { chosen.most_launches = of.most_launches; }
  return chosen;
}

}  // namespace detail
}  // namespace assay::measure
