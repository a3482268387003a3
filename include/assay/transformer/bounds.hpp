// SPDX-License-Identifier: Apache-2.0
/// @file
/// The operations of a step against what the machine can do at most.
#pragma once

#include <assay/trace/table.hpp>
#include <assay/transformer/answers.hpp>

#include <algorithm>
#include <string_view>

namespace assay::nn {

/// What the machine can do at most, as measured in the run; zero: not measured.
struct ceilings {
  double copy_bytes_per_second = 0;
  double product_flops_per_second = 0;  ///< of a large product in the same precision
};

namespace detail {

/// The nanoseconds of an amount at a rate; zero without a rate.
inline double ns_at(double amount, double per_second) {
  return per_second > 0 ? 1e9 * amount / per_second : 0;
}
inline bool multiplies(std::string_view operation) {
  return is_product(operation) || operation == weight_updates::name ||
         operation == fused_attention::name || operation == turned_attention_gradient::name;
}
/// The operations that share a kind of bound.
inline std::string_view group_of(part_time const& of) {
  auto const& name = of.operation;
  if (name == adamw_update::name || name == weight_updates::name) {
    return "weight gradients and AdamW";
  }
  if (is_product(name)) {
    return of.part.ends_with(" weight") ? "weight gradients and AdamW" : "products";
  }
  if (name == rms_norm::name || name == rms_norm_gradient::name || name == gain_sums::name) {
    return "norms";
  }
  if (name == swiglu::name || name == swiglu_gradient::name) { return "SwiGLU"; }
  if (name == masked_softmax::name || name == masked_softmax_gradient::name || multiplies(name)) {
    return "attention, softmax";
  }
  return "others";
}

}  // namespace detail

/// The least nanoseconds of a part: of its bytes at the rate of copies or, where it multiplies
/// matrices, of its FLOPs at the rate of products, whichever are more. Arrays that stay in the
/// cache move faster than copies.
inline double bound_ns(part_time const& of, ceilings const& most) {
  auto const flops = detail::multiplies(of.operation) ? of.cost.flops : 0;
  return std::max(detail::ns_at(of.cost.bytes(), most.copy_bytes_per_second),
                  detail::ns_at(flops, most.product_flops_per_second));
}

/// The parts of a step with their rates: bytes and FLOPs of the ledger by time of the trace. The
/// last columns are the share of the rate of copies, the bound, and its share of the time.
inline trace::table part_table(answers const& of, ceilings const& most = {}) {
  trace::table made{
      "nn_parts", "Device Time of a Step by Operation",
      trace::parse_columns("Phase:t, Part:t, Operation:t, Operations, Kernels, Time (us):1, Share "
                           "(%):1, GFLOP:3, TFLOP/s:1, MB:1, GB/s:1, Copies (%):1, Bound (us):1, "
                           "Roofline (%):1")};
  auto const whole = of.step().ns;
  for (auto const& each : of.parts()) {
    auto const rate = [&](double amount) { return each.ns > 0 ? 1e9 * amount / each.ns : 0; };
    auto const copies = detail::ns_at(each.cost.bytes(), most.copy_bytes_per_second);
    auto const bound = bound_ns(each, most);
    made.add(name_of(each.phase), each.part, each.operation, each.operations, each.kernels,
             each.ns / 1e3, detail::percent_of(each.ns, whole), each.cost.flops / 1e9,
             rate(each.cost.flops) / 1e12, each.cost.bytes() / 1e6, rate(each.cost.bytes()) / 1e9,
             detail::percent_of(copies, each.ns), bound / 1e3, detail::percent_of(bound, each.ns));
  }
  return made;
}

/// The sums of bounds over operations of a kind, and over the step. Weight gradients stand with
/// AdamW, which reads them.
inline trace::table bound_table(answers const& of, ceilings const& most) {
  trace::table made{"nn_bounds", "Operations against their Bounds",
                    trace::parse_columns("Operations:t, Time (us):1, Share (%):1, GFLOP:3, MB:1, "
                                         "Bound (us):1, Bound / Time (%):1")};
  auto const whole = of.step().ns;
  auto const add = [&](std::string_view name, auto const& which) {
    auto const all = of.sum(which);
    if (all.operations == 0) { return; }
    double bound = 0;
    for (auto const& each : of.parts()) { bound += which(each) ? bound_ns(each, most) : 0; }
    made.add(name, all.ns / 1e3, detail::percent_of(all.ns, whole), all.cost.flops / 1e9,
             all.cost.bytes() / 1e6, bound / 1e3, detail::percent_of(bound, all.ns));
  };
  for (std::string_view const group : {"products", "weight gradients and AdamW", "norms", "SwiGLU",
                                       "attention, softmax", "others"}) {
    add(group, [&](part_time const& each) { return detail::group_of(each) == group; });
  }
  add("all", [](part_time const&) { return true; });
  return made;
}

}  // namespace assay::nn
