// SPDX-License-Identifier: Apache-2.0
/// @file
/// The table of the operations of a step: place, operation, FLOPs and bytes.
#pragma once

#include <assay/transformer/update.hpp>

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::nn {

inline std::string_view name_of(phase which) {
  switch (which) {
    case phase::forward:
      return "forward";
    case phase::loss:
      return "loss";
    case phase::backward:
      return "backward";
    default:
      return "optimiser";
  }
}

/// True of products of matrices, also of those that end in SwiGLU or its gradient.
inline bool is_product(std::string_view operation) {
  return operation == product::name || operation == swiglu_product::name ||
         operation == swiglu_product_gradient::name;
}

/// One operation of a step.
struct ledger_entry {
  place_in_step where;
  std::string_view operation;
  traffic cost;
};

/// The operations of one training step in their order. The passes themselves write the table.
class ledger {
 public:
  /// With the choices of the steps that it describes: an activation has the bytes of its type.
  template <class Choices = choices<>>
  explicit ledger(problem const& of, Choices const& how = {})
      : narrow_(static_cast<double>(sizeof(typename Choices::activation)) / sizeof(float)) {
    of.validate();
    using narrow = typename Choices::activation;
    activations<float, narrow> const a{of, layout_of(how)};
    // Nothing is computed, so the arrays have no elements.
    weights<float, narrow> const none{of.model};
    forward_pass(*this, of, how.attention, {}, none, a);
    loss_pass(*this, of, {}, a);
    training_pass(*this, of, how, {}, none, weights<float>{of.model}, a, adamw_update{},
                  trained_weights<float, narrow>{});
  }

  template <class Operation, class... Arguments>
  void operator()(place_in_step const& where, Operation const& what, Arguments const&...) {
    entries_.push_back({where, Operation::name, what.cost(narrow_)});
  }

  std::vector<ledger_entry> const& entries() const& { return entries_; }
  void entries() && = delete;  // the list goes with the ledger

  /// The number of operations that `which` takes, and their traffic together.
  template <class Which>
  std::pair<std::int64_t, traffic> sum(Which const& which) const {
    std::pair<std::int64_t, traffic> all{};
    for (auto const& each : entries_) {
      if (!which(each)) { continue; }
      ++all.first;
      all.second = all.second + each.cost;
    }
    return all;
  }

 private:
  double narrow_;  ///< bytes of an activation, as a share of float32
  std::vector<ledger_entry> entries_;
};

/// A node of a recorded graph that traces have records of: a kernel, a copy or a set.
struct captured_node {
  enum class kind : std::uint8_t { kernel, copy, set };
  static constexpr std::uint64_t no_operation = std::numeric_limits<std::uint64_t>::max();

  kind what = kind::kernel;
  std::uint64_t operation = no_operation;  ///< its number in the ledger
  bool operator==(captured_node const&) const = default;
};

}  // namespace assay::nn
