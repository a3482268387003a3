// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five questions about a transformer, answered from the trace of any program: times by each clock,
/// kernels and their counts in one pass, the share of products, softmax against products.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/passes.hpp>
#include <assay/nsys/select.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// What is asked. Names of ranges are globs of whole names.
struct answer_options {
  std::string forward = "forward|forward pass|forward_pass|nn::forward";
  std::string step = "step|train step|train_step|training step|training_step|nn::step";
  std::string softmax = "*softmax*|*Softmax*";
  std::string attention = "*attention*|*Attention*|*matmul*";
  int warm_ups = 0;  ///< the first repetitions of ranges, which are left out
  int head_size = 64;
};

/// The answers: a line for each that has a number, the kernels that take at least one per cent,
/// and what the numbers mean.
struct trace_answers {
  table answers{"answers", "Five Questions",
                parse_columns("Question:t, Pass:t, What:t, In All:3, In One:3")};
  table kernels{"answer_kernels", "Kernels with Non-Trivial Time",
                parse_columns("Forward Count, Step Count, Count in All, Time in All (us):1, "
                              "Share (%):1, Class:t, Kernel:t")};
  std::vector<std::string> notes = {};
};

namespace detail {

/// The operations that ranges of a name launched, in order.
inline std::vector<gpu_operation> launched_in(view const& rows, std::string const& range) {
  row_filter by;
  by.range = range;
  std::vector<gpu_operation> found;
  for (auto const row : outermost_ranges(rows.of(), by)) {
    rows.visit(rows.of().ranges[row], [&](auto const& each) { found.push_back(each); });
  }
  std::ranges::sort(found);
  return found;
}

/// Sums over all repetitions of a pass, in ns.
struct pass_sums {
  std::string_view label;
  std::size_t repetitions = 0, on_host = 0;  ///< on_host: those with a time on the host
  std::int64_t host = 0, tracing = 0, extent = 0, busy = 0, kernels = 0;
  std::int64_t products = 0, softmax = 0, fused = 0, attention_products = 0;
  std::map<std::string_view, std::pair<std::size_t, std::int64_t>> by_name;  // count and ns
};

inline pass_sums sums_of(view const& rows, repeated_pass const& pass, answer_options const& asked,
                         kernel_classifier const& classes) {
  auto const& of = rows.of();
  pass_sums sums;
  sums.repetitions = pass.count();
  sums.on_host = pass.host.size();
  std::vector<span> overheads;
  for (auto const& each : rows.whole().overheads) { overheads.push_back(each.when); }
  interval_set const tracing{std::move(overheads)};
  for (auto const& when : pass.host) {
    sums.host += when.length();
    sums.tracing += tracing.length_within(when);
  }
  auto class_of = once_per_name(of.strings.size(),
                                [&](string_id name) { return classes.class_of(of.strings[name]); });
  // By ranges, where there are any: a softmax whose kernel is called a product stays a softmax.
  auto const softmax = launched_in(rows, asked.softmax);
  auto const attention = launched_in(rows, asked.attention);
  for (auto const& repetition : pass.operations) {
    std::vector<span> spans;
    for (auto const& each : repetition) {
      spans.push_back(each.when);
      if (each.kind != operation_kind::kernel) { continue; }
      auto const ns = each.when.length();
      auto const name = of.kernels[each.row].name;
      auto const kind = class_of(name);
      auto const in_softmax = std::ranges::binary_search(softmax, each);
      auto const product = kind == "matmul";
      sums.kernels += ns;
      sums.products += product ? ns : 0;
      sums.softmax += (softmax.empty() ? kind == "softmax" : in_softmax) ? ns : 0;
      sums.fused += kind == "attention" ? ns : 0;
      if (product && !in_softmax && std::ranges::binary_search(attention, each)) {
        sums.attention_products += ns;
      }
      auto& to = sums.by_name[of.strings[name]];
      ++to.first;
      to.second += ns;
    }
    interval_set const united{std::move(spans)};
    sums.busy += united.length();
    sums.extent += united.extent().length();
  }
  return sums;
}

inline void add_kernels(table& to, pass_sums const* forward, pass_sums const* step,
                        kernel_classifier const& classes) {
  auto const& longest = step != nullptr ? *step : *forward;
  std::vector<std::pair<std::string_view, std::pair<std::size_t, std::int64_t>>> sorted{
      longest.by_name.begin(), longest.by_name.end()};
  std::ranges::stable_sort(sorted, std::greater{},
                           [](auto const& each) { return each.second.second; });
  auto const in_one = [](pass_sums const* pass, std::string_view name) {
    if (pass == nullptr) { return std::optional<std::size_t>{}; }
    auto const at = pass->by_name.find(name);
    return std::optional{at == pass->by_name.end() ? 0 : at->second.first / pass->repetitions};
  };
  for (auto const& [name, work] : sorted) {
    auto const [count, ns] = work;
    if (100 * ns < longest.kernels) { break; }
    to.add(in_one(forward, name), in_one(step, name), count, static_cast<double>(ns) / 1e3,
           percent_of(ns, longest.kernels), classes.class_of(name), name);
  }
}

}  // namespace detail

/// Answers from the ranges that name passes, else from the sequence of kernels. Throws
/// `std::invalid_argument` where the repetitions of a pass have other kernels.
inline trace_answers answers_of(view const& rows, answer_options const& asked,
                                kernel_classifier const& classes = default_classes()) {
  auto const step = passes_in(rows, asked.step, asked.warm_ups);
  auto forward = passes_in(rows, asked.forward, asked.warm_ups);
  bool const named = step || forward;
  if (!named) { forward = repeated_sequence(rows); }
  bool const whole_graphs =
      std::ranges::count(rows.operations(), operation_kind::graph, &gpu_operation::kind) > 0;
  trace_answers made;
  std::vector<detail::pass_sums> passes;
  for (auto const* pass : {&std::as_const(forward), &step}) {
    if (!*pass) { continue; }
    passes.push_back(detail::sums_of(rows, **pass, asked, classes));
    passes.back().label = !named ? "repetition" : pass == &step ? "step" : "forward";
    made.notes.push_back(concat({std::to_string((*pass)->count()), " repetitions of ",
                                 named ? concat({"`", (*pass)->name, "`"}) : (*pass)->name,
                                 ", each with the same counts",
                                 (*pass)->cut == 0 ? ""
                                                   : concat({"; ", std::to_string((*pass)->cut),
                                                             " more cut off by the end of the "
                                                             "recording"})}));
  }
  auto const add = [&](std::string_view question, detail::pass_sums const& pass,
                       std::string_view what, double value) {
    made.answers.add(question, pass.label, what, value, value);
  };
  auto const add_time = [&](std::string_view question, detail::pass_sums const& pass,
                            std::string_view what, std::int64_t ns, std::size_t times) {
    if (times == 0) { return; }
    auto const us = static_cast<double>(ns) / 1e3;
    made.answers.add(question, pass.label, what, us, us / static_cast<double>(times));
  };
  for (auto const& pass : passes) {
    made.answers.add("(a)", pass.label, "repetitions", pass.repetitions, 1);
    add_time("(a)", pass,
             named ? "host, the range, us" : "host, first launch to end of the last, us", pass.host,
             pass.on_host);
    add_time("(a)", pass, "device, first begin to last end, us", pass.extent, pass.repetitions);
    add_time("(a)", pass, "device, busy, us", pass.busy, pass.repetitions);
    if (!whole_graphs) {
      add_time("(a)", pass, "kernels, sum, us", pass.kernels, pass.repetitions);
    }
    add_time("(a)", pass, "tracing within, host, us", pass.tracing, pass.on_host);
    if (pass.on_host == pass.repetitions) { continue; }
    made.notes.push_back(concat({"(a) the host's time is that of ", std::to_string(pass.on_host),
                                 " of ", std::to_string(pass.repetitions),
                                 " repetitions: the calls of the others are not in the trace"}));
  }
  auto const& first = passes.front();
  if (!named) {
    made.notes.push_back(
        first.repetitions == 1
            ? "no range names a pass, and the kernels of the trace do not repeat as a whole: "
              "counts "
              "are those of the trace; name the ranges with --forward and --step"
            : "no range names a pass: a repetition is a forward pass if the program ran nothing "
              "else; --forward and --step name ranges");
  }
  if (whole_graphs) {
    made.notes.push_back(
        "(b) to (e) have no answer: graphs were recorded whole, so that their kernels are not in "
        "the trace; `nsys profile --cuda-graph-trace=node` records them");
    return made;
  }
  made.notes.push_back(
      "(a) the sum of kernels and the busy time are work; the extent on the device also has idle "
      "time, and the host's time has waits and tracing: a close match of these means nothing");
  for (auto const& pass : passes) {
    add_time("(d)", pass, "matrix products by name, us", pass.products, pass.repetitions);
    add("(d)", pass, "matrix products, % of kernel time", percent_of(pass.products, pass.kernels));
  }
  detail::add_kernels(made.kernels, forward ? &first : nullptr, step ? &passes.back() : nullptr,
                      classes);
  if (first.softmax == 0) {
    if (first.fused > 0) {
      add_time("(e)", first, "attention, not separable, us", first.fused, first.repetitions);
    }
    made.notes.push_back(
        first.fused > 0 ? "(e) attention is fused: softmax and products are not separable"
                        : "(e) no range or kernel is a softmax: name ranges with --softmax and "
                          "--attention");
    return made;
  }
  add_time("(e)", first, "softmax, us", first.softmax, first.repetitions);
  if (first.attention_products == 0) { return made; }
  add_time("(e)", first, "products in attention, us", first.attention_products, first.repetitions);
  add("(e)", first, "softmax / products, time",
      static_cast<double>(first.softmax) / static_cast<double>(first.attention_products));
  // 4 T T d of products, 5 T T of the softmax
  add("(e)", first, "products / softmax, FLOPs with heads of " + std::to_string(asked.head_size),
      4.0 * asked.head_size / 5);
  return made;
}

}  // namespace assay::trace
