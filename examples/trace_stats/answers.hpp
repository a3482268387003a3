// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five questions about a transformer, answered from the trace of any program: times by each clock,
/// kernels and their counts in one pass, the share of products, softmax against products.
#pragma once

#include "select.hpp"

#include <assay/trace/intervals.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::examples {

/// What is asked. Names of ranges are globs of whole names.
struct answer_options {
  std::string forward = "forward|forward pass|forward_pass|nn::forward";
  std::string step = "step|train step|train_step|training step|training_step|nn::step";
  std::string softmax = "*softmax*|*Softmax*";
  std::string attention = "*attention*|*Attention*|*matmul*";
  int warm_ups = 0;  ///< the first repetitions of ranges, which are left out
  int head_size = 64;
};

/// The repetitions of a pass: their operations on devices, and their time on the host.
struct repeated_pass {
  std::string name;
  std::vector<std::vector<trace::gpu_operation>> operations;
  std::vector<trace::span> host;
  std::size_t count() const { return operations.size(); }
};

namespace detail {

inline std::string_view name_of(trace::model const& of, trace::gpu_operation const& each) {
  return each.kind == trace::operation_kind::kernel  ? of.strings[of.kernels[each.row].name]
         : each.kind == trace::operation_kind::graph ? std::string_view{"[graph]"}
                                                     : std::string_view{"[copy or set]"};
}

/// In the order of their launches.
inline std::vector<trace::gpu_operation> in_launch_order(trace::view const& rows) {
  auto all = rows.operations();
  std::ranges::stable_sort(all, {}, [&](trace::gpu_operation const& each) {
    return std::pair{trace::begin_of_call(rows.of(), each.call), each.when.begin};
  });
  return all;
}

/// The shortest period of a sequence that a whole number of periods makes up; its size if none.
inline std::size_t period_of(std::vector<trace::string_id> const& all) {
  std::vector<std::size_t> border(all.size(), 0);  // of each beginning: also its end
  for (std::size_t i = 1, length = 0; i < all.size(); ++i) {
    while (length > 0 && all[i] != all[length]) { length = border[length - 1]; }
    if (all[i] == all[length]) { ++length; }
    border[i] = length;
  }
  if (all.empty()) { return 0; }
  auto const period = all.size() - border.back();
  return all.size() % period == 0 ? period : all.size();
}

/// Throws unless all repetitions have the same kernels in the same numbers.
inline void require_equal_counts(trace::model const& of, repeated_pass const& pass) {
  using counts = std::map<std::string_view, std::size_t>;
  auto const counted = [&](std::size_t number) {
    counts found;
    for (auto const& each : pass.operations[number]) {
      if (!trace::is_memory(each.kind)) { ++found[name_of(of, each)]; }
    }
    return found;
  };
  auto const first = counted(0);
  auto const refuse = [&](std::size_t number, std::string_view name, std::size_t now,
                          std::size_t then) {
    throw std::invalid_argument(
        "repetition " + std::to_string(number) + " of `" + pass.name + "` launches " +
        std::string{name.substr(0, 80)} + " " + std::to_string(now) +
        " times, and repetition 0 launches it " + std::to_string(then) +
        " times: there is no count of one pass; leave warm-ups out with --warm-ups N");
  };
  for (std::size_t number = 1; number < pass.count(); ++number) {
    auto const now = counted(number);
    auto const at = [](counts const& all, std::string_view name) {
      auto const found = all.find(name);
      return found == all.end() ? 0 : found->second;
    };
    for (auto const* side : {&first, &now}) {
      for (auto const& [name, count] : *side) {
        if (at(now, name) != at(first, name)) {
          refuse(number, name, at(now, name), at(first, name));
        }
      }
    }
  }
}

}  // namespace detail

/// The passes that ranges of a name are, with what all threads launch in their time; none where no
/// range has that name. Throws `std::invalid_argument` where repetitions differ.
inline std::optional<repeated_pass> passes_in(trace::view const& rows, std::string const& range,
                                              int warm_ups) {
  auto const& of = rows.of();
  row_filter by;
  by.range = range;
  by.any_thread = true;
  std::map<trace::thread_key, std::vector<trace::row_index>> by_process;
  auto found = range.empty() ? std::vector<trace::row_index>{} : outermost_ranges(of, by);
  if (found.empty()) { return {}; }
  auto const begin_of = [&](trace::row_index row) { return of.ranges[row].when.begin; };
  std::ranges::sort(found, {}, begin_of);
  if (static_cast<std::size_t>(warm_ups) >= found.size()) {
    throw std::invalid_argument("--warm-ups " + std::to_string(warm_ups) + ": `" + range +
                                "` has " + std::to_string(found.size()) +
                                " repetitions, and one has to be left");
  }
  found.erase(found.begin(), found.begin() + warm_ups);
  repeated_pass pass{std::string{of.strings[of.ranges[found[0]].name]}, {}, {}};
  auto const all = detail::in_launch_order(rows);
  auto const call_of = [&](auto const& each) { return trace::begin_of_call(of, each.call); };
  for (auto const row : found) {
    auto const& range_row = of.ranges[row];
    auto& inside = pass.operations.emplace_back();
    pass.host.push_back(range_row.when);
    auto const first = std::ranges::lower_bound(all, range_row.when.begin, {}, call_of);
    for (auto at = first; at != all.end() && call_of(*at) <= range_row.when.end; ++at) {
      if (of.calls[at->call].thread.process == range_row.thread.process) { inside.push_back(*at); }
    }
  }
  detail::require_equal_counts(of, pass);
  return pass;
}

/// The passes of a trace without such ranges: its kernels, in the order of their launches, are one
/// sequence again and again. Throws `std::invalid_argument` where they are not.
inline repeated_pass repeated_sequence(trace::view const& rows) {
  auto all = detail::in_launch_order(rows);
  std::erase_if(all, [](auto const& each) { return trace::is_memory(each.kind); });
  std::vector<trace::string_id> names;
  for (auto const& each : all) {
    auto const is_kernel = each.kind == trace::operation_kind::kernel;
    names.push_back(is_kernel ? rows.of().kernels[each.row].name : 0);  // 0: a graph
  }
  auto const period = detail::period_of(names);
  if (period == 0) {
    throw std::invalid_argument("the trace has no kernels: there is nothing to answer from");
  }
  repeated_pass pass{"the same " + std::to_string(period) + " launches", {}, {}};
  for (std::size_t first = 0; first < all.size(); first += period) {
    auto const begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    auto const& made =
        pass.operations.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(period));
    auto const& calls = rows.of().calls;
    if (made.front().call == trace::no_row || made.back().call == trace::no_row) { continue; }
    pass.host.push_back({calls[made.front().call].when.begin, calls[made.back().call].when.end});
  }
  return pass;
}

/// The answers, from rows that outlive them.
class trace_answers {
 public:
  /// Throws `std::invalid_argument` where the repetitions of a pass have other kernels.
  trace_answers(trace::view const& rows, answer_options const& asked,
                trace::kernel_classifier const& classes)
      : rows_(rows),
        asked_(asked),
        classes_(classes),
        step_(passes_in(rows, asked.step, asked.warm_ups)),
        forward_(passes_in(rows, asked.forward, asked.warm_ups)) {
    if (!step_ && !forward_) { forward_ = repeated_sequence(rows); }
    named_ = step_ || forward_->name.rfind("the same ", 0) != 0;
    class_of_name_.resize(rows.of().strings.size());
    for (auto const& each : rows.of().kernels) {
      auto& known = class_of_name_[each.name];
      if (known.empty()) { known = classes_.class_of(rows.of().strings[each.name]); }
    }
  }

  /// One line for each answer that has a number.
  trace::table answers() const {
    trace::table made{"answers", "Five Questions",
                      trace::parse_columns("Question:t, Pass:t, What:t, In All:3, In One:3")};
    each_pass([&](repeated_pass const& pass) { add_clocks(made, pass); });
    if (has_whole_graphs()) { return made; }
    each_pass([&](repeated_pass const& pass) { add_products(made, pass); });
    add_attention(made, forward_ ? *forward_ : *step_);
    return made;
  }

  /// The kernels that take at least one per cent, longest first.
  trace::table kernels() const {
    trace::table made{
        "answer_kernels", "Kernels with Non-Trivial Time",
        trace::parse_columns("Forward Count, Step Count, Count in All, Time in All (us):1, "
                             "Share (%):1, Class:t, Kernel:t")};
    if (has_whole_graphs()) { return made; }
    auto const& longest = step_ ? *step_ : *forward_;
    auto const whole = kernel_ns(longest);
    auto const all = by_name(longest);
    auto const of_forward = forward_ ? by_name(*forward_) : named_work{};
    std::vector<std::pair<trace::string_id, work>> sorted{all.begin(), all.end()};
    std::ranges::stable_sort(sorted, std::greater{},
                             [](auto const& each) { return each.second.ns; });
    auto const one = [&](std::optional<repeated_pass> const& pass, named_work const& found,
                         trace::string_id name) {
      if (!pass) { return std::optional<std::size_t>{}; }
      auto const at = found.find(name);
      return std::optional{at == found.end() ? 0 : at->second.count / pass->count()};
    };
    for (auto const& [name, each] : sorted) {
      if (100 * each.ns < whole) { break; }
      made.add(one(forward_, of_forward, name), one(step_, all, name), each.count,
               static_cast<double>(each.ns) / 1e3, percent(each.ns, whole), class_of_name_[name],
               rows_.of().strings[name]);
    }
    return made;
  }

  /// What the numbers mean, and which questions have no answer here.
  std::vector<std::string> notes() const {
    std::vector<std::string> lines;
    each_pass([&](repeated_pass const& pass) {
      lines.push_back(std::to_string(pass.count()) + " repetitions of " +
                      (named_ ? "`" + pass.name + "`" : pass.name) + ", each with the same counts");
    });
    if (!named_) {
      lines.push_back(
          pass_count() == 1
              ? "no range names a pass, and the kernels of the trace do not repeat as a whole: "
                "counts are those of the trace; name the ranges with --forward and --step"
              : "no range names a pass: a repetition is a forward pass if the program ran nothing "
                "else; --forward and --step name ranges");
    }
    if (has_whole_graphs()) {
      lines.push_back(
          "(b) to (e) have no answer: graphs were recorded whole, so that their kernels are not in "
          "the trace; `nsys profile --cuda-graph-trace=node` records them");
      return lines;
    }
    lines.push_back(
        "(a) the sum of kernels and the busy time are work; the extent on the device also has idle "
        "time, and the host's time has waits and tracing: a close match of these means nothing");
    if (softmax_ns(any_pass()) == 0) {
      lines.push_back(fused_ns(any_pass()) > 0
                          ? "(e) attention is fused: softmax and products are not separable"
                          : "(e) no range or kernel is a softmax: name ranges with --softmax and "
                            "--attention");
    }
    return lines;
  }

 private:
  struct work {
    std::size_t count = 0;
    std::int64_t ns = 0;
  };
  using named_work = std::map<trace::string_id, work>;

  static double percent(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  }
  repeated_pass const& any_pass() const { return forward_ ? *forward_ : *step_; }
  std::size_t pass_count() const { return any_pass().count(); }
  template <class Use>
  void each_pass(Use const& use) const {
    for (auto const* pass : {&forward_, &step_}) {
      if (*pass) { use(**pass); }
    }
  }
  bool has_whole_graphs() const {
    return std::ranges::any_of(rows_.operations(), [](auto const& each) {
      return each.kind == trace::operation_kind::graph;
    });
  }

  /// Calls `use(operation)` for the kernels of all repetitions.
  template <class Use>
  void each_kernel(repeated_pass const& pass, Use const& use) const {
    for (auto const& repetition : pass.operations) {
      for (auto const& each : repetition) {
        if (each.kind == trace::operation_kind::kernel) { use(each); }
      }
    }
  }
  named_work by_name(repeated_pass const& pass) const {
    named_work all;
    each_kernel(pass, [&](auto const& each) {
      auto& to = all[rows_.of().kernels[each.row].name];
      ++to.count;
      to.ns += each.when.length();
    });
    return all;
  }
  template <class Which>
  std::int64_t ns_of(repeated_pass const& pass, Which const& which) const {
    std::int64_t sum = 0;
    each_kernel(pass, [&](auto const& each) { sum += which(each) ? each.when.length() : 0; });
    return sum;
  }
  std::int64_t kernel_ns(repeated_pass const& pass) const {
    return ns_of(pass, [](auto const&) { return true; });
  }
  bool is_class(trace::gpu_operation const& each, std::string_view name) const {
    return class_of_name_[rows_.of().kernels[each.row].name] == name;
  }
  std::int64_t fused_ns(repeated_pass const& pass) const {
    return ns_of(pass, [&](auto const& each) { return is_class(each, "attention"); });
  }

  /// The operations that ranges of a name launched, by kind and row.
  std::vector<trace::gpu_operation> launched_in(std::string const& range) const {
    row_filter by;
    by.range = range;
    std::vector<trace::gpu_operation> found;
    for (auto const row : outermost_ranges(rows_.of(), by)) {
      rows_.visit(rows_.of().ranges[row], [&](auto const& each) { found.push_back(each); });
    }
    std::ranges::sort(found);
    return found;
  }
  /// By ranges, where there are any: a softmax whose kernel is called a product stays a softmax.
  std::int64_t softmax_ns(repeated_pass const& pass) const {
    auto const inside = launched_in(asked_.softmax);
    return ns_of(pass, [&](auto const& each) {
      return inside.empty() ? is_class(each, "softmax") : std::ranges::binary_search(inside, each);
    });
  }
  std::int64_t attention_products_ns(repeated_pass const& pass) const {
    auto const inside = launched_in(asked_.attention), softmax = launched_in(asked_.softmax);
    return ns_of(pass, [&](auto const& each) {
      return is_class(each, "matmul") && std::ranges::binary_search(inside, each) &&
             !std::ranges::binary_search(softmax, each);
    });
  }

  /// A number of nanoseconds in all repetitions, as microseconds.
  void add_time(trace::table& to, std::string_view question, repeated_pass const& pass,
                std::string_view what, std::int64_t ns) const {
    auto const us = static_cast<double>(ns) / 1e3;
    to.add(question, label(pass), what, us, us / static_cast<double>(pass.count()));
  }
  std::string_view label(repeated_pass const& pass) const {
    return !named_ ? "repetition" : step_ && &pass == &*step_ ? "step" : "forward";
  }

  void add_clocks(trace::table& to, repeated_pass const& pass) const {
    std::int64_t host = 0, extent = 0, busy = 0, added = 0;
    std::vector<trace::span> overheads;
    for (auto const& each : rows_.whole().overheads) { overheads.push_back(each.when); }
    trace::interval_set const tracing{std::move(overheads)};
    for (auto const& when : pass.host) {
      host += when.length();
      added += tracing.length_within(when);
    }
    for (auto const& repetition : pass.operations) {
      std::vector<trace::span> spans;
      for (auto const& each : repetition) { spans.push_back(each.when); }
      trace::interval_set const united{std::move(spans)};
      busy += united.length();
      extent += united.extent().length();
    }
    to.add("(a)", label(pass), "repetitions", pass.count(), 1);
    add_time(to, "(a)", pass,
             named_ ? "host, the range, us" : "host, first launch to end of the last, us", host);
    add_time(to, "(a)", pass, "device, first begin to last end, us", extent);
    add_time(to, "(a)", pass, "device, busy, us", busy);
    if (!has_whole_graphs()) { add_time(to, "(a)", pass, "kernels, sum, us", kernel_ns(pass)); }
    add_time(to, "(a)", pass, "tracing within, host, us", added);
  }

  void add_products(trace::table& to, repeated_pass const& pass) const {
    auto const products = ns_of(pass, [&](auto const& each) { return is_class(each, "matmul"); });
    add_time(to, "(d)", pass, "matrix products by name, us", products);
    auto const share = percent(products, kernel_ns(pass));
    to.add("(d)", label(pass), "matrix products, % of kernel time", share, share);
  }

  void add_attention(trace::table& to, repeated_pass const& pass) const {
    auto const softmax = softmax_ns(pass);
    if (softmax == 0) {
      if (auto const fused = fused_ns(pass); fused > 0) {
        add_time(to, "(e)", pass, "attention, not separable, us", fused);
      }
      return;
    }
    add_time(to, "(e)", pass, "softmax, us", softmax);
    auto const products = attention_products_ns(pass);
    if (products == 0) { return; }
    add_time(to, "(e)", pass, "products in attention, us", products);
    auto const ratio = static_cast<double>(softmax) / static_cast<double>(products);
    to.add("(e)", label(pass), "softmax / products, time", ratio, ratio);
    auto const flops = 4.0 * asked_.head_size / 5;  // 4 T T d of products, 5 T T of the softmax
    to.add("(e)", label(pass),
           "products / softmax, FLOPs with heads of " + std::to_string(asked_.head_size), flops,
           flops);
  }

  trace::view const& rows_;
  answer_options asked_;
  trace::kernel_classifier classes_;
  std::vector<std::string_view> class_of_name_;  // of kernels, by the number of their name
  std::optional<repeated_pass> step_, forward_;
  bool named_ = true;
};

}  // namespace assay::examples
