// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to callables.hpp: the definitions of its functions, which doors bring.
#pragma once

#include <assay/measure/callable_variants.hpp>
#include <assay/measure/callables.hpp>
#include <assay/measure/host_subject.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// Calls on the host by the wall clock.
class host_support final : public callable_support {
 public:
  explicit host_support(options const& chosen) {
    if (chosen.clock.value_or(clock::wall) == clock::wall && !chosen.cold_cache) { return; }
    throw std::invalid_argument(chosen.cold_cache
                                    ? "cold_cache clears the cache of a device: it needs launches"
                                    : "host calls have no clock but wall");
  }
  std::unique_ptr<subject> build(epoch const& now, std::string const& label,
                                 callables::work_factory const& make) const override {
    return std::make_unique<host_subject>(now, label, make, session_);
  }
  environment_watch watch() const override { return host_watch(); }
  std::vector<ceiling> ceilings() const override { return host_ceilings(); }
  /// A captured address on the host may be that of an object which owns other buffers.
  bool same_buffers(std::vector<callables::captured_words> const&) const override { return false; }

 private:
  std::shared_ptr<call_session> session_{new call_session};
};

}  // namespace detail

ASSAY_INLINE callable_place host_calls() noexcept {
  // Equal sums over vectors of 16 MB differed by 2 to 4 % on a host of two cores, and equal copies
  // of 16 to 256 KB, which take 0.2 to 6 us, by up to 23 %.
  constexpr double placement = 0.05, short_placement = 0.25;
  constexpr int most_launches = 1'000'000;  // of a nanosecond each
  return {clock::wall, most_launches, placement, short_placement,
          detail::make_support<detail::host_support>};
}

ASSAY_INLINE variant variant_of(callable_place const& where, callables::erased_callable called,
                                options chosen) {
  struct shared_instruments {
    std::shared_ptr<callable_support const> support;
    clock timed_by{};
  };
  variant made;
  made.label = called.label;
  made.build = [where, chosen = detail::with_defaults(std::move(chosen), where),
                label = called.label, make = detail::factory_of(called),
                shared =
                    std::shared_ptr<shared_instruments>{new shared_instruments}](epoch const& now) {
    auto const timed_by = now.decides.value_or(*chosen.clock);
    if (!shared->support || shared->timed_by != timed_by) {
      auto asked = chosen;
      asked.clock = timed_by;
      shared->support = where.make(asked);
      shared->timed_by = timed_by;
    }
    return shared->support->build(now, label, make);
  };
  return made;
}

}  // namespace assay::measure
