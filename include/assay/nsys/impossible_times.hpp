// SPDX-License-Identifier: Apache-2.0
/// @file
/// `outlasting`: the kernel whose time can least be true, since its stream went on meanwhile.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/view.hpp>

#include <cstddef>
#include <cstdint>
#include <map>

namespace assay::trace {

/// A kernel that ends after later kernels of its stream, which a stream runs in their order.
struct outlasting_kernel {
  row_index kernel = no_row;
  std::size_t later = 0;  ///< kernels that began after it and ended before it
};

/// The kernel that outlasts most later ones of its stream; `no_row` where none outlasts two.
/// Programmatic launches may overlap the one before them, and nodes of a graph run side by side.
inline outlasting_kernel outlasting(view const& rows) {
  struct open_kernel {
    outlasting_kernel of;
    std::int64_t end = 0;
  };
  std::map<stream_key, open_kernel> longest;  // of each stream, the one with the latest end
  outlasting_kernel worst{no_row, 1};
  for (auto const& each : rows.operations()) {
    auto const& where = place_of(rows.of(), each);
    if (each.kind != operation_kind::kernel || where.graph_node != 0) { continue; }
    auto& open = longest[stream_of(where)];
    if (open.of.kernel == no_row || each.when.end >= open.end) {
      open = {{each.row, 0}, each.when.end};
    } else if (++open.of.later > worst.later) {
      worst = open.of;
    }
  }
  return worst;
}

}  // namespace assay::trace
