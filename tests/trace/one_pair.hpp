// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/trace/difference.hpp>

namespace assay::test {

/// The changes between two traces: one pair of runs, whose difference without a tracer is `ns`.
inline trace::trace_difference difference(trace::model const& control, trace::model const& variant,
                                          double ns) {
  auto const unknown = trace::as_traced.low;
  return trace::paired_difference({trace::breakdown_of(control)}, {trace::breakdown_of(variant)},
                                  {unknown, ns, unknown});
}

}  // namespace assay::test
