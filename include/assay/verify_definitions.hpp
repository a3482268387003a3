// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify.hpp: runs a verification, and prints its result.
#pragma once

#include <assay/verify.hpp>
#include <assay/verify/call_place.hpp>
#include <assay/verify/verifier.hpp>

#include <memory>
#include <ostream>

namespace assay {
namespace verify_detail {

inline std::unique_ptr<call_place> make_host_place(verify_options const&) {
  return std::make_unique<host_place>();
}
ASSAY_INLINE place host_calls() noexcept { return {make_host_place}; }

ASSAY_INLINE verification verify_factory(factory const& of, place where,
                                         verify_options const& chosen) {
  auto const calls = where.make(chosen);
  return verifier{of, *calls, chosen}.run();
}

}  // namespace verify_detail

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, verification const& of) {
  if (!of.failure.empty()) {
    out << of.failure << '\n';
  } else {
    out << (of ? "right in " : "nothing was checked: ") << of.cases << " cases, in " << of.seconds
        << " s";
    if (!of.left_out.empty()) { out << "; " << of.left_out.size() << " left out"; }
    out << '\n';
    if (of.worst.share > 0) {
      out << "largest error: ";
      of.worst.ulps > 0 ? out << of.worst.ulps << " ulp, "
                        : out << of.worst.error << " where 0 is expected, ";
      out << of.worst.share << " of its bound, at " << of.worst_at << '\n';
    }
  }
  for (auto const& each : of.left_out) { out << "left out: " << each << '\n'; }
  for (auto const& each : of.notes) { out << "note: " << each << '\n'; }
  return out;
}

}  // namespace assay
