// SPDX-License-Identifier: Apache-2.0
/// @file
/// `view`: a trace as reports read it.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <typeinfo>
#include <utility>
#include <vector>

namespace assay::trace {

/// A model, and lists that several reports need. A view makes each list when a report first asks
/// for it. Copies of a view share what `index` has made. Not safe for use from several threads.
class view {
 public:
  /// All rows of a model, which must outlive the view.
  view(model const& of) : of_{&of}, whole_{&of} {}  // NOLINT: reports take a model as its view
  view(model&&) = delete;
  /// A part of a model. The view keeps the part; the whole must outlive the view.
  view(model part, model const& whole)
      : kept_{std::make_shared<model const>(std::move(part))}, of_{kept_.get()}, whole_{&whole} {}

  model const& of() const noexcept { return *of_; }
  /// The model that the rows were selected from, with the causes of what the rows show.
  model const& whole() const noexcept { return *whole_; }

  call_index const& calls() const {
    if (!calls_) { calls_.emplace(of()); }
    return *calls_;
  }

  /// The operations of devices by their begin. A graph launch is left out if the trace has nodes of
  /// the launch, since their time would count twice.
  std::vector<gpu_operation> const& operations() const {
    if (operations_) { return *operations_; }
    auto& all = operations_.emplace();
    all.reserve(of().kernels.size() + of().copies.size() + of().memsets.size() +
                of().graph_launches.size());
    // The tables are mostly in order each, so that a merge is cheaper than a sort of all.
    auto const add = [&](operation_kind kind, auto const& rows, auto const& wanted) {
      auto const before = static_cast<std::ptrdiff_t>(all.size());
      for (row_index row = 0; row < rows.size(); ++row) {
        auto const& each = rows[row];
        if (wanted(each)) { all.push_back({each.when, kind, row, calls().find(each.where)}); }
      }
      auto const added = all.begin() + before;
      if (!std::is_sorted(added, all.end())) { std::sort(added, all.end()); }
      std::inplace_merge(all.begin(), added, all.end());
    };
    auto const any = [](auto const&) { return true; };
    add(operation_kind::kernel, of().kernels, any);
    add(operation_kind::copy, of().copies, any);
    add(operation_kind::memset, of().memsets, any);
    if (!of().graph_launches.empty()) {
      add(operation_kind::graph, of().graph_launches,
          [&, nodes = launches_with_nodes()](graph_launch const& each) {
            return !std::binary_search(nodes.begin(), nodes.end(), launch_of(each.where));
          });
    }
    return all;
  }

  /// The index `Index{view}` of the rows. It is made once, however many reports ask for it, and
  /// must not point to the view.
  template <class Index>
  Index const& index() const {
    for (auto const& [type, made] : indices_) {
      if (*type == typeid(Index)) { return *static_cast<Index const*>(made.get()); }
    }
    std::shared_ptr<void const> made = std::make_shared<Index const>(*this);
    indices_.emplace_back(&typeid(Index), made);
    return *static_cast<Index const*>(made.get());
  }

  /// Calls `use(operation)` for each operation with a launching call that the range's thread makes
  /// and that lies wholly inside the range, in the order of the calls. Takes O(log n) plus the
  /// number of these operations.
  template <class Use>
  void visit(range_record const& range, Use&& use) const {
    auto const thread = by_thread().find(range.thread);
    if (!on_one_thread(range) || thread == by_thread().end()) { return; }
    auto const& launched = thread->second;
    auto const call_of = [&](std::uint32_t at) { return of().calls[(*operations_)[at].call].when; };
    auto at = std::lower_bound(
        launched.begin(), launched.end(), range.when.begin,
        [&](std::uint32_t each, std::int64_t begin) { return call_of(each).begin < begin; });
    for (; at != launched.end() && call_of(*at).begin <= range.when.end; ++at) {
      if (call_of(*at).end <= range.when.end) { use((*operations_)[*at]); }
    }
  }

 private:
  using graph_key = std::pair<std::uint32_t, std::uint32_t>;
  static graph_key launch_of(device_place const& where) noexcept {
    return {where.process, where.correlation};
  }

  std::vector<graph_key> launches_with_nodes() const {
    std::vector<graph_key> nodes;
    auto const add = [&](auto const& rows) {
      for (auto const& each : rows) {
        if (each.where.graph_node != 0) { nodes.push_back(launch_of(each.where)); }
      }
    };
    add(of().kernels);
    add(of().copies);
    add(of().memsets);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  /// The indices of the operations that each thread launched, in the order of the calls.
  std::map<thread_key, std::vector<std::uint32_t>> const& by_thread() const {
    if (by_thread_) { return *by_thread_; }
    auto& threads = by_thread_.emplace();
    auto const& all = operations();
    auto const& calls = of().calls;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (all[i].call != no_row) { threads[calls[all[i].call].thread].push_back(i); }
    }
    auto const before = [&](std::uint32_t a, std::uint32_t b) {
      auto const x = calls[all[a].call].when.begin;
      auto const y = calls[all[b].call].when.begin;
      return x != y ? x < y : a < b;
    };
    for (auto& [thread, launched] : threads) {
      if (std::is_sorted(launched.begin(), launched.end(), before)) { continue; }
      std::sort(launched.begin(), launched.end(), before);
    }
    return threads;
  }

  std::shared_ptr<model const> kept_;
  model const* of_;
  model const* whole_;
  mutable std::optional<call_index> calls_;
  mutable std::optional<std::vector<gpu_operation>> operations_;
  mutable std::optional<std::map<thread_key, std::vector<std::uint32_t>>> by_thread_;
  mutable std::vector<std::pair<std::type_info const*, std::shared_ptr<void const>>> indices_;
};

}  // namespace assay::trace
