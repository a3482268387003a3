// SPDX-License-Identifier: Apache-2.0
/// @file
/// `view`: a trace as reports read it. `select` makes the view of a part, by range, device, stream
/// and kernel name.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <typeindex>
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
    all.reserve(of().kernels.size() + of().copies.size() + of().memsets.size());
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
    auto& made = indices_[std::type_index{typeid(Index)}];
    if (made == nullptr) { made = std::make_shared<Index const>(*this); }
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
      return calls[all[a].call].when.begin < calls[all[b].call].when.begin;
    };
    for (auto& [thread, launched] : threads) {
      if (std::is_sorted(launched.begin(), launched.end(), before)) { continue; }
      std::stable_sort(launched.begin(), launched.end(), before);
    }
    return threads;
  }

  std::shared_ptr<model const> kept_;
  model const* of_;
  model const* whole_;
  mutable std::optional<call_index> calls_;
  mutable std::optional<std::vector<gpu_operation>> operations_;
  mutable std::optional<std::map<thread_key, std::vector<std::uint32_t>>> by_thread_;
  mutable std::map<std::type_index, std::shared_ptr<void const>> indices_;
};

/// A choice of rows: each member narrows the choice further, and a default filter takes all rows.
struct filter {
  /// A glob of whole range names: takes the rows that instances of these ranges launched or did.
  std::string range = {};
  /// A glob of the whole name of that range's domain; "" is the default domain.
  std::optional<std::string> domain = {};
  std::optional<std::int32_t> device = {};
  std::optional<std::uint32_t> stream = {};
  std::string kernel = {};  ///< a glob of any part of the name; takes no copies and memsets
  /// Takes the rows of all threads of the process in the time of the range; else only the rows of
  /// the thread that opened the range. A step of training launches its backward pass from another
  /// thread.
  bool any_thread = false;

  /// The thread to look up for rows of this thread: with `any_thread`, one for the process.
  thread_key owner(thread_key key) const noexcept {
    return any_thread ? thread_key{key.process, 0} : key;
  }
};

/// The outermost ranges that a filter matches, by thread and begin: the begins and ends of one
/// thread's ranges both rise.
inline std::vector<row_index> outermost_ranges(model const& of, filter const& by) {
  glob const name{by.range, glob_scope::whole};
  glob const domain{by.domain.value_or(""), glob_scope::whole};
  auto const matches = [&](range_record const& each) {
    auto const usable = by.any_thread ? each.style != range_style::mark : on_one_thread(each);
    if (!usable || !name.matches(of.strings[each.name])) { return false; }
    auto const text = of.strings[each.domain];
    return !by.domain || (domain.empty() ? text.empty() : domain.matches(text));
  };
  std::vector<row_index> found;
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    if (matches(of.ranges[row])) { found.push_back(row); }
  }
  std::sort(found.begin(), found.end(), [&](row_index a, row_index b) {
    auto const& x = of.ranges[a];
    auto const& y = of.ranges[b];
    return std::tuple{by.owner(x.thread), x.when.begin, y.when.end, a} <
           std::tuple{by.owner(y.thread), y.when.begin, x.when.end, b};
  });
  auto const holds = [&](row_index outer, row_index inner) {
    auto const& x = of.ranges[outer];
    auto const& y = of.ranges[inner];
    return by.owner(x.thread) == by.owner(y.thread) && y.when.end <= x.when.end;
  };
  found.erase(std::unique(found.begin(), found.end(), holds), found.end());
  return found;
}

/// The rows that a filter takes, in the model's order; all else of the model stays as it is.
///
/// A call that launched operations is taken if one of these is. Device, stream and kernel name do
/// not exclude a call that launched nothing, nor another row that names no device. A filter by
/// range takes no page faults: nothing says which range they belong to.
inline view select(model const& of, filter const& by) {
  auto const ranged = !by.range.empty() || by.domain.has_value();
  auto const placed = by.device || by.stream || !by.kernel.empty();
  if (!ranged && !placed) { return of; }
  auto const ranges = outermost_ranges(of, by);
  auto const inside = [&](thread_key thread, span when) {
    if (!ranged) { return true; }
    auto const key = std::pair{by.owner(thread), when.begin};
    auto const after =
        std::upper_bound(ranges.begin(), ranges.end(), key, [&](auto const& wanted, row_index row) {
          return wanted < std::pair{by.owner(of.ranges[row].thread), of.ranges[row].when.begin};
        });
    if (after == ranges.begin()) { return false; }
    auto const& last = of.ranges[*(after - 1)];
    return by.owner(last.thread) == key.first && when.end <= last.when.end;
  };
  call_index const calls{of};
  auto const asked_inside = [&](device_place const& where) {
    if (!ranged) { return true; }
    auto const row = calls.find(where);
    return row != no_row && inside(of.calls[row].thread, of.calls[row].when);
  };
  auto const here = [&](device_place const& where) {
    return (!by.device || where.device == *by.device) && (!by.stream || where.stream == *by.stream);
  };
  glob const kernel{by.kernel};  // an empty one matches every name
  auto named = once_per_name(of.strings.size(),
                             [&](string_id name) { return kernel.matches(of.strings[name]); });
  model part;
  part.strings = of.strings;
  part.epoch_ns = of.epoch_ns;
  part.window = of.window;
  part.source = of.source;
  part.notes = of.notes;
  part.devices = of.devices;
  part.threads = of.threads;
  part.lost = of.lost;
  auto const keep = [&](auto& into, auto const& rows, auto const& wanted) {
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(into), wanted);
  };
  std::vector<bool> launched(of.calls.size()), kept(of.calls.size());
  auto const keep_work = [&](auto& into, auto const& rows, auto const& wanted) {
    keep(into, rows, [&](auto const& each) {
      auto const taken = here(each.where) && wanted(each) && asked_inside(each.where);
      if (auto const call = calls.find(each.where); placed && call != no_row) {
        launched[call] = true;
        if (taken) { kept[call] = true; }
      }
      return taken;
    });
  };
  auto const any = [&](auto const&) { return by.kernel.empty(); };
  keep_work(part.kernels, of.kernels, [&](kernel_run const& each) { return named(each.name); });
  keep_work(part.copies, of.copies, any);
  keep_work(part.memsets, of.memsets, any);
  keep_work(part.graph_launches, of.graph_launches, any);
  auto const of_thread = [&](auto const& each) { return inside(each.thread, each.when); };
  keep(part.calls, of.calls, [&](api_call const& each) {
    auto const row = static_cast<std::size_t>(&each - of.calls.data());
    return of_thread(each) && (!launched[row] || kept[row]);
  });
  keep(part.ranges, of.ranges, of_thread);
  keep(part.overheads, of.overheads, of_thread);
  keep(part.synchronizations, of.synchronizations,
       [&](synchronization const& each) { return here(each.where) && asked_inside(each.where); });
  keep(part.memory, of.memory, [&](memory_event const& each) {
    return (!by.device || each.where.device == *by.device) &&
           inside(each.thread, {each.at, each.at});
  });
  keep(part.host_faults, of.host_faults, [&](auto const&) { return !ranged; });
  keep(part.device_faults, of.device_faults, [&](device_page_faults const& each) {
    return !ranged && (!by.device || each.device == *by.device);
  });
  return {std::move(part), of};
}

}  // namespace assay::trace
