// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare(name, callable, name, callable)` for work on the host, and its verdict.
#pragma once

#include <assay/measure/callables.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve.hpp>

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace measure {

/// Measures variants; `compare_variants`, unless ranks do it together.
using measuring_function = std::function<comparison(std::vector<variant> const&,
                                                    std::vector<contrast> const&, options const&)>;

/// Compares the callables of a list with the first; see `compare_all`.
comparison compare_callables(callable_list const& list, measuring_function const& measure = {});

}  // namespace measure

/// Measures each of several callables against the first: faster, slower, or equal within a margin.
///
/// `compare_all("a", f, "b", g, "c", h, options{.margin = 0.02})`; the options come last and may be
/// left out. A callable is one of these:
/// - `void()`: work on the host;
/// - `void(cudaStream_t)`: work that it enqueues on the stream, with `<assay/compare.cuh>`;
/// - a factory: it takes `assay::setup&`, makes buffers, and returns one of the above.
///
/// A factory is called anew in each epoch and for each buffer set.
///
/// All callables of one comparison run in one place, on the host or on streams, and are called from
/// the calling thread. `host_call`, `launch` or `factory` names the kind of a generic callable.
///
/// Blocks until done. An exception of a callable, a CUDA error and a wrong result end the
/// comparison, and the result names the variant and the epoch. Throws `std::invalid_argument` for
/// null callables, equal names, invalid options and a missing device. Throws `cuda_error` where the
/// device fails before the first epoch.
template <class F, class... Rest>
requires(sizeof...(Rest) >= 2)
comparison compare_all(std::string name, F callable, Rest... rest) {
  constexpr bool on_stream = measure::detail::on_stream<F>();
  measure::callable_list list{measure::detail::supported_place<on_stream>(), {}, {}};
  measure::detail::gather<on_stream>(list, std::move(name), std::move(callable),
                                     std::move(rest)...);
  return measure::compare_callables(list);
}

/// The same for a list of callables of one type, such as those of a sweep:
/// `std::vector<std::pair<std::string, decltype(scale(64))>>`. Callables of several types go into
/// `std::function`.
template <class F>
comparison compare_all(std::vector<std::pair<std::string, F>> const& all, options chosen = {}) {
  auto const place = measure::detail::supported_place<measure::detail::on_stream<F>()>();
  measure::callable_list list{place, {}, std::move(chosen)};
  for (auto const& [name, callable] : all) {
    list.entries.push_back(callables::erase(name, callables::detail::named(callable)));
  }
  return measure::compare_callables(list);
}

/// Measures `variant` against `control`; see `compare_all`.
template <class Control, class Variant>
comparison compare(std::string control_name, Control control, std::string variant_name,
                   Variant variant, options const& chosen = {}) {
  return compare_all(std::move(control_name), std::move(control), std::move(variant_name),
                     std::move(variant), chosen);
}

/// Refuses more than two callables, in words.
template <class F, class G, class H, class... Rest>
comparison compare(std::string, F, std::string, G, std::string, H, Rest...) {
  static_assert(
      sizeof(F) == 0,
      "compare takes two variants: write assay::compare_all(\"a\", f, \"b\", g, \"c\", h)");
  return {};
}

/// Throws `std::runtime_error` with the short report unless every verdict is one of `allowed`.
///
/// For tests and CI: `require(found, {verdict::faster, verdict::equivalent})` fails where a
/// slow-down beyond the margin is proven, and where there is no verdict. `equivalent` also allows
/// FASTER and SLOWER unless the whole interval lies beyond the margin, so the chance to fail for a
/// difference inside the margin is at most `alpha`. With `options::run_until_margin` the comparison
/// runs on while the interval contains an end of the margin, and finds more of such slow-downs.
/// INCONCLUSIVE, UNPROVEN and WRONG ANSWER pass only where `allowed` names them.
void require(comparison const& found, std::initializer_list<verdict> allowed);

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/compare_definitions.hpp>
#endif
