// SPDX-License-Identifier: Apache-2.0
/// @file
/// The buffers of an all-reduce with residual and RMSNorm.
#pragma once

#include <assay/comm/concepts.hpp>

#include <array>
#include <cstddef>

namespace assay::comm {

/// A rank's array, for checks and messages.
struct buffer_span {
  int rank = 0;
  char const* role = "";
  void const* data = nullptr;
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;
};

/// The rows of all ranks. `in` is summed over the ranks. Each rank has its own other buffers, which
/// must hold equal values for equal results. `gamma` is one row. `residual_out` may be null: then
/// new residuals overwrite `residual`. `out` may be `in`. No other buffers overlap.
template <class T>
struct norm_buffers {
  std::array<T const*, max_ranks> in{};
  std::array<T const*, max_ranks> residual{};
  std::array<T const*, max_ranks> gamma{};
  std::array<T*, max_ranks> out{};
  std::array<T*, max_ranks> residual_out{};

  /// The arrays of the new residuals: `residual` where `residual_out` is null.
  std::array<T*, max_ranks> with_residual_out() const {
    auto all = residual_out;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank] == nullptr) { all[rank] = const_cast<T*>(residual[rank]); }
    }
    return all;
  }

  /// Calls `look(buffer_span)` for each buffer of each rank, without a null `residual_out`.
  template <class Look>
  void for_each(std::size_t tokens, std::size_t hidden, int ranks, Look look) const {
    auto const bytes = tokens * hidden * sizeof(T);
    for (int rank = 0; rank < ranks; ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      look(buffer_span{rank, "input", in[r], bytes, sizeof(T)});
      look(buffer_span{rank, "residual", residual[r], bytes, sizeof(T)});
      look(buffer_span{rank, "gamma", gamma[r], hidden * sizeof(T), sizeof(T)});
      look(buffer_span{rank, "output", out[r], bytes, sizeof(T)});
      if (residual_out[r] != nullptr) {
        look(buffer_span{rank, "new residual", residual_out[r], bytes, sizeof(T)});
      }
    }
  }
};

}  // namespace assay::comm
