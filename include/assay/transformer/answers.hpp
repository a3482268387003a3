// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device time of a transformer by operation: a trace of its steps joined with its ledger.
#pragma once

#include <assay/trace/graph_replays.hpp>
#include <assay/trace/step_operations.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/transformer/ledger.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::nn {

/// The nodes of a recorded graph for `trace::replayed_operations`: their parts are those of the
/// ledger.
inline std::vector<trace::graph_node> graph_nodes(std::vector<captured_node> const& captured,
                                                  ledger const& of) {
  std::vector<trace::graph_node> made;
  for (auto const& each : captured) {
    auto& to = made.emplace_back();
    using enum captured_node::kind;
    to.kind = each.what == kernel ? trace::operation_kind::kernel
              : each.what == copy ? trace::operation_kind::copy
                                  : trace::operation_kind::memset;
    if (each.operation == captured_node::no_operation) { continue; }
    to.operation = each.operation;
    to.part = of.entries().at(each.operation).where.part;
  }
  return made;
}

/// Writes the operations into the notes of a trace, which files of nsys keep. The note `operations`
/// has a line for each: its number, phase, layer, part, operation, FLOPs and bytes. `nodes` has the
/// number of the operation of each node of the graph that the trace replays, and `-` for none.
inline void note_operations(trace::model& to, ledger const& of,
                            std::vector<captured_node> const& captured = {}) {
  std::string lines;
  std::size_t number = 0;
  for (auto const& each : of.entries()) {
    auto const amount = [](double value) { return std::to_string(std::llround(value)); };
    lines += std::to_string(number++) + ", " + std::string{name_of(each.where.phase)} + ", " +
             std::to_string(each.where.layer) + ", " + std::string{each.where.part} + ", " +
             std::string{each.operation} + ", " + amount(each.cost.flops) + ", " +
             amount(each.cost.bytes()) + "\n";
  }
  to.notes.emplace_back("operations", std::move(lines));
  std::string nodes;
  for (auto const& each : captured) {
    bool const owned = each.operation != captured_node::no_operation;
    nodes += (nodes.empty() ? "" : " ") + (owned ? std::to_string(each.operation) : "-");
  }
  if (!nodes.empty()) { to.notes.emplace_back("nodes", std::move(nodes)); }
}

/// The same part of all layers in one phase of one step.
struct part_time {
  nn::phase phase = nn::phase::forward;
  std::string part;
  std::string operation;
  std::size_t operations = 0;  ///< one for each layer, or one
  std::size_t kernels = 0;
  double ns = 0;  ///< device time, mean over repetitions
  traffic cost;
};

/// The kernels of one name in one step, with the part of them that the forward pass launched.
struct kernel_time {
  std::string name;
  std::size_t forward_count = 0;
  std::size_t step_count = 0;
  double forward_ns = 0;
  double step_ns = 0;
};

/// Device times of one step by operation and by kernel name, from a trace of repetitions.
///
/// Operations own their kernels by the ranges that launched them, and not by name: a softmax with a
/// kernel called `gemm` stays a softmax.
class answers {
 public:
  /// Throws `std::invalid_argument` if an operation of the trace differs from the ledger.
  answers(std::vector<trace::step_repetition> const& steps, nn::ledger const& ledger)
      : repetitions_(steps.size()) {
    for (auto const& step : steps) {
      host_ns_ += mean_of(step.host_ns);
      device_ns_ += mean_of(step.device.length());
      outside_ns_ += mean_of(step.outside.ns);
      idle_ns_ += mean_of(step.idle_ns());
      overlap_ns_ += mean_of(step.overlap_ns());
      for (std::size_t number = 0; number < step.operations.size(); ++number) {
        auto const& entry = entry_of(ledger, number, step.operations[number].part);
        add(entry, step.operations[number], &step == steps.data());
      }
    }
    for (auto& [name, each] : by_name_) { kernels_.push_back(each); }
    std::stable_sort(kernels_.begin(), kernels_.end(),
                     [](auto const& a, auto const& b) { return a.step_ns > b.step_ns; });
  }

  std::size_t repetitions() const { return repetitions_; }
  double host_ns() const { return host_ns_; }        ///< of the range of the step
  double device_ns() const { return device_ns_; }    ///< from the first begin to the last end
  double outside_ns() const { return outside_ns_; }  ///< copies and others of no operation
  double idle_ns() const { return idle_ns_; }        ///< within `device_ns`
  /// What operations beside each other are counted twice for: all operations, less this, with the
  /// idle time are `device_ns`.
  double overlap_ns() const { return overlap_ns_; }
  std::vector<part_time> const& parts() const { return parts_; }  ///< in the order of the step
  std::vector<kernel_time> const& kernels() const { return kernels_; }  ///< longest in a step first

  /// The parts that `which` takes, together.
  template <class Which>
  part_time sum(Which const& which) const {
    part_time all;
    for (auto const& each : parts_) {
      if (!which(each)) { continue; }
      all.operations += each.operations;
      all.kernels += each.kernels;
      all.ns += each.ns;
      all.cost = all.cost + each.cost;
    }
    return all;
  }
  part_time step() const {
    return sum([](auto const&) { return true; });
  }
  part_time products() const { return sum(is_product); }
  part_time forward() const { return sum(is_forward); }
  part_time forward_products() const {
    return sum([](auto const& each) { return is_forward(each) && is_product(each); });
  }
  part_time forward_softmax() const {
    return sum([](auto const& each) {
      return is_forward(each) && each.operation == masked_softmax::name;
    });
  }
  part_time forward_fused_attention() const {
    return sum([](auto const& each) {
      return is_forward(each) && each.operation == fused_attention::name;
    });
  }
  /// The products of queries and keys, and of probabilities and values.
  part_time forward_attention_products() const {
    return sum([](auto const& each) {
      return is_forward(each) && (each.part == "scores" || each.part == "values");
    });
  }

 private:
  static bool is_forward(part_time const& each) { return each.phase == nn::phase::forward; }
  static bool is_product(part_time const& each) { return nn::is_product(each.operation); }

  double mean_of(std::int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(repetitions_);
  }

  static ledger_entry const& entry_of(nn::ledger const& ledger, std::size_t number,
                                      std::string const& part) {
    auto const& all = ledger.entries();
    if (number < all.size() && all[number].where.part == part) { return all[number]; }
    auto const wanted = number < all.size() ? std::string{all[number].where.part} : "nothing";
    throw std::invalid_argument("operation " + std::to_string(number) + " is `" + part +
                                "` in the trace and `" + wanted +
                                "` in the ledger: the problems are not the same");
  }

  /// Counts come from the first repetition, as all have equal counts.
  void add(ledger_entry const& entry, trace::step_operation const& found, bool is_first) {
    auto const [at, is_new] = places_.try_emplace({entry.where.phase, found.part}, parts_.size());
    if (is_new) {
      parts_.push_back({entry.where.phase, found.part, std::string{entry.operation}, 0, 0, 0, {}});
    }
    auto& part = parts_[at->second];
    part.ns += mean_of(found.total().ns);
    if (is_first) {
      ++part.operations;
      part.kernels += found.total().count;
      part.cost = part.cost + entry.cost;
    }
    for (auto const& [name, work] : found.work) {
      auto& kernel = by_name_[name];
      auto const count = is_first ? work.count : 0;
      kernel.name = name;
      kernel.step_ns += mean_of(work.ns);
      kernel.step_count += count;
      if (is_forward(part)) {
        kernel.forward_ns += mean_of(work.ns);
        kernel.forward_count += count;
      }
    }
  }

  std::size_t repetitions_;
  double host_ns_ = 0, device_ns_ = 0, outside_ns_ = 0, idle_ns_ = 0, overlap_ns_ = 0;
  std::vector<part_time> parts_;
  std::vector<kernel_time> kernels_;
  std::map<std::pair<nn::phase, std::string>, std::size_t> places_;
  std::map<std::string, kernel_time> by_name_;
};

namespace detail {

inline double percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// The time of the kernels that are called by the name of a product: in a forward pass, in a step.
inline std::pair<double, double> products_by_name(answers const& of) {
  auto const classes = trace::default_classes();
  std::pair<double, double> sum{};
  for (auto const& each : of.kernels()) {
    if (classes.class_of(each.name) != "matmul") { continue; }
    sum.first += each.forward_ns;
    sum.second += each.step_ns;
  }
  return sum;
}

}  // namespace detail

/// The FLOPs of naive attention, with all scores and with those that the causal mask keeps.
inline trace::table count_table(problem const& of) {
  trace::table made{"nn_counts", "FLOPs of Attention",
                    trace::parse_columns("What:t, Full GFLOP:3, Causal GFLOP:3")};
  auto const add = [&](std::string_view what, double flops_of_score) {
    made.add(what, flops_of_score * static_cast<double>(of.scores()) / 1e9,
             flops_of_score * static_cast<double>(of.causal_scores()) / 1e9);
  };
  auto const product = 2.0 * static_cast<double>(of.model.head_size());
  constexpr double softmax = 5;
  auto const layers = static_cast<double>(of.model.layers);
  add("scores of one layer", product);
  add("values of one layer", product);
  add("softmax of one layer", softmax);
  add("scores and values of a forward pass", 2 * product * layers);
  add("softmax of a forward pass", softmax * layers);
  return made;
}

/// The kernels of a step, longest first, with their counts in one forward pass and in one step.
inline trace::table kernel_table(answers const& of) {
  trace::table made{"nn_kernels", "Kernels of a Step",
                    trace::parse_columns("Forward Count, Step Count, Forward (us):1, Step (us):1, "
                                         "Share of Step (%):1, Kernel:t")};
  auto const whole = of.step().ns;
  for (auto const& each : of.kernels()) {
    made.add(each.forward_count, each.step_count, each.forward_ns / 1e3, each.step_ns / 1e3,
             detail::percent_of(each.step_ns, whole), each.name);
  }
  return made;
}

/// The same step without a trace, a mean over repetitions; zero: not measured.
struct untraced_times {
  double host_ns = 0;    ///< by the host's clock, with the wait for the device
  double events_ns = 0;  ///< between events on the stream
};

/// Times by each clock, the shares of products, and softmax against the products of attention. The
/// range on the host contains waits, and the extent on the device contains idle time: neither is a
/// sum of kernels.
inline trace::table summary_table(answers const& of, untraced_times const& untraced = {}) {
  trace::table made{"nn_summary", "A Step in Numbers", trace::parse_columns("What:t, Value:3")};
  auto const forward = of.forward(), softmax = of.forward_softmax();
  auto const products = of.forward_attention_products();
  made.add("repetitions", of.repetitions());
  if (untraced.host_ns > 0) {
    made.add("host clock without a trace, us", untraced.host_ns / 1e3);
    if (untraced.events_ns > 0) {
      made.add("events without a trace, us", untraced.events_ns / 1e3);
    }
    made.add("tracing added on the host, us", (of.host_ns() - untraced.host_ns) / 1e3);
  }
  made.add("range on the host, us", of.host_ns() / 1e3);
  made.add("device, from first begin to last end, us", of.device_ns() / 1e3);
  made.add("operations, us", of.step().ns / 1e3);
  made.add("copies and others of no operation, us", of.outside_ns() / 1e3);
  made.add("overlap of operations, us", of.overlap_ns() / 1e3);
  made.add("device idle, us", of.idle_ns() / 1e3);
  made.add("forward pass, operations, us", forward.ns / 1e3);
  made.add("products, % of the forward pass",
           detail::percent_of(of.forward_products().ns, forward.ns));
  made.add("products, % of all operations", detail::percent_of(of.products().ns, of.step().ns));
  auto const [forward_by_name, step_by_name] = detail::products_by_name(of);
  made.add("products by name, % of the forward pass",
           detail::percent_of(forward_by_name, forward.ns));
  made.add("products by name, % of all operations", detail::percent_of(step_by_name, of.step().ns));
  if (auto const fused = of.forward_fused_attention(); fused.ns > 0) {
    made.add("attention, us: softmax and products are not separable", fused.ns / 1e3);
    return made;
  }
  made.add("softmax / products of attention, time", products.ns > 0 ? softmax.ns / products.ns : 0);
  made.add("softmax / products of attention, FLOPs",
           products.cost.flops > 0 ? softmax.cost.flops / products.cost.flops : 0);
  return made;
}

}  // namespace assay::nn
