// SPDX-License-Identifier: Apache-2.0
/// @file
/// Callables as the variants of one comparison.
#pragma once

#include <assay/core/platform.hpp>
#include <assay/measure/callables.hpp>
#include <assay/measure/environment_watch.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/host_subject.hpp>
#include <assay/measure/run_right.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// The instruments that all callables of one comparison share: on the host (`false`), or on streams
/// (`true`). `<assay/compare.cuh>` defines the latter.
template <bool OnStream>
struct callable_support;

template <>
struct callable_support<false> {
  using signature = void();
  static constexpr clock default_clock = clock::wall;
  static constexpr int most_launches = 1'000'000;  // of a nanosecond each
  /// The share of a call's time that the placement of its buffers may be worth: equal sums over
  /// vectors of 16 MB differed by 2 to 4 % on a host of two cores.
  static constexpr double placement = 0.05;

  explicit callable_support(options const& chosen) {
    if (chosen.clock.value_or(clock::wall) == clock::wall && !chosen.cold_cache) { return; }
    throw std::invalid_argument(chosen.cold_cache
                                    ? "cold_cache clears the cache of a device: it needs launches"
                                    : "host calls have no clock but wall");
  }
  std::unique_ptr<subject> build(epoch const& now, std::string const& label,
                                 work_factory<signature> const& make) const {
    return std::make_unique<host_subject>(now, label, make, session_);
  }
  environment_watch watch() const { return host_watch(); }
  std::vector<ceiling> ceilings() const { return host_ceilings(); }
  /// A captured address on the host may be that of an object which owns other buffers.
  bool same_buffers(std::vector<captured_words> const&) const { return false; }

 private:
  std::shared_ptr<call_session> session_ = std::make_shared<call_session>();
};

namespace detail {

template <bool OnStream>
inline constexpr bool is_supported = requires { sizeof(callable_support<OnStream>); };

/// The callables of one comparison, by name.
template <bool OnStream>
struct callable_list {
  static_assert(is_supported<OnStream>,
                "work on a stream needs <assay/compare.cuh>, in a file that nvcc compiles");
  using support = callable_support<OnStream>;

  struct entry {
    std::string label;
    work_factory<typename support::signature> make;
    bool brings_buffers = false;  ///< true for all but factories
    captured_words captured;      ///< of one that brings buffers
    bool immovable = false;       ///< true where it cannot be copied
  };
  std::vector<entry> entries;
  options chosen;
  /// The share of a call's time that the place of captured values may be worth: see `placed`.
  static constexpr double immovable_placement = 0.15;

  template <callable_kind Kind, class F>
  void add(std::string label, named_callable<Kind, F> callable) {
    static_assert(runs_on_stream<named_callable<Kind, F>>() == OnStream,
                  "one comparison cannot hold work on the host against work on a stream: compare "
                  "on the wall clock by making the host call enqueue and synchronise, or make "
                  "both of one kind");
    if (label.empty()) { throw std::invalid_argument("a variant needs a name that is not empty"); }
    entry one;
    one.brings_buffers = Kind != callable_kind::factory;
    one.immovable = one.brings_buffers && !std::is_copy_constructible_v<F>;
    if (one.brings_buffers) { one.captured = captured_by(callable.callable); }
    one.make = as_factory<typename support::signature>(label, std::move(callable));
    one.label = std::move(label);
    entries.push_back(std::move(one));
  }

  /// True if variants keep buffers in all epochs which are not those of all others.
  bool keeps_own_buffers(support const& with) const {
    std::vector<captured_words> captured;
    for (auto const& each : entries) {
      if (each.brings_buffers) { captured.push_back(each.captured); }
    }
    bool const all = captured.size() == entries.size();
    return !captured.empty() && !chosen.same_buffers && !(all && with.same_buffers(captured));
  }

  /// The variants, all of which share `with`.
  std::vector<variant> variants(std::shared_ptr<support> const& with, bool own_buffers) const {
    std::vector<variant> all;
    for (auto const& each : entries) {
      all.push_back({each.label,
                     {{"callable", each.label}},
                     [with, label = each.label, make = each.make](epoch const& now) {
                       return with->build(now, label, make);
                     }});
      if (own_buffers && each.brings_buffers) { all.back().placement = support::placement; }
      if (each.immovable) { all.back().placement = immovable_placement; }
    }
    return all;
  }

  /// What the epochs do not make anew, as notes.
  std::vector<std::string> scope(bool own_buffers) const {
    std::vector<std::string> notes;
    if (own_buffers) {
      notes.push_back(
          "callables keep their buffers in all epochs, so all verdicts are on these buffers, and "
          "effects up to " +
          share_text(support::placement) +
          " may be their placement; a factory of assay::setup& tells the two apart");
    }
    for (auto const& each : entries) {
      if (!each.immovable) { continue; }
      notes.push_back("\"" + each.label +
                      "\" cannot be copied: what it has captured stays in one place in all epochs, "
                      "which may be worth " +
                      share_text(immovable_placement));
    }
    return notes;
  }

  comparison run() const {
    auto asked = chosen;
    if (!asked.clock) { asked.clock = support::default_clock; }
    if (!asked.most_launches) { asked.most_launches = support::most_launches; }
    // Names and options are checked first: a device takes a second to answer.
    std::vector<variant> unbuilt;
    std::vector<std::string> labels;
    for (auto const& each : entries) {
      labels.push_back(each.label);
      unbuilt.push_back({each.label, {}, [](epoch const&) { return nullptr; }});
    }
    auto const contrasts = against_first(labels);
    validate(unbuilt, contrasts, asked);

    auto const with = std::make_shared<support>(asked);
    auto const watch = with->watch();
    bool const own_buffers = keeps_own_buffers(*with);
    auto found = measure::run_right(variants(with, own_buffers), contrasts, watched(asked, watch));
    watch.describe(found);
    for (auto& note : scope(own_buffers)) { found.notes.push_back(std::move(note)); }
    auto const declared = [](variant_result const& each) { return each.bytes > 0; };
    if (found.failure.empty() &&
        std::any_of(found.variants.begin(), found.variants.end(), declared)) {
      try {
        found.ceilings = with->ceilings();
      } catch (std::exception const& cause) {
        found.notes.push_back(std::string{"the limit of this machine is not known: "} +
                              cause.what());
      }
    }
    return found;
  }
};

inline void gather(auto&) {}
inline void gather(auto& list, options chosen) { list.chosen = std::move(chosen); }
template <class F, class... Rest>
void gather(auto& list, std::string label, F callable, Rest... rest) {
  list.add(std::move(label), named(std::move(callable)));
  gather(list, std::move(rest)...);
}

/// True if the work of a callable of any kind runs on a stream.
template <class F>
consteval bool on_stream() {
  return runs_on_stream<named_type<F>>();
}

}  // namespace detail

/// The clock that decides comparisons of such callables, unless the options name one.
template <class F>
inline constexpr clock default_clock = callable_support<detail::on_stream<F>()>::default_clock;

/// One callable as a variant of its own, for `assay::serve`. No device is used until it is built.
/// It is timed by the clock that decides the epoch, else by that of the options.
template <class F>
variant callable_variant(std::string label, F callable, options chosen = {}) {
  detail::callable_list<detail::on_stream<F>()> list;
  list.add(label, detail::named(std::move(callable)));
  using instruments = typename decltype(list)::support;
  if (!chosen.clock) { chosen.clock = instruments::default_clock; }
  struct shared_instruments {
    std::optional<instruments> support;
    clock timed_by{};
  };
  variant made;
  made.label = label;
  made.build = [chosen, label, make = list.entries.front().make,
                shared = std::make_shared<shared_instruments>()](epoch const& now) {
    auto const timed_by = now.decides.value_or(*chosen.clock);
    if (!shared->support || shared->timed_by != timed_by) {
      auto asked = chosen;
      asked.clock = timed_by;
      shared->support.emplace(asked);
      shared->timed_by = timed_by;
    }
    return shared->support->build(now, label, make);
  };
  return made;
}

}  // namespace assay::measure
