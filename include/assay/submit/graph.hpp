// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::graph`: each item recorded once as a CUDA graph, then replayed.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/error.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/submit/threaded.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::submit {

/// An owned executable graph. The graph must not run when the owner is destroyed.
class graph_exec {
 public:
  explicit graph_exec(cudaGraph_t recorded) { check(cudaGraphInstantiate(&handle_, recorded, 0)); }
  graph_exec(graph_exec&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  graph_exec& operator=(graph_exec&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~graph_exec() {
    if (handle_ != nullptr) { check_noexcept(cudaGraphExecDestroy(handle_)); }
  }

  /// Uploads the graph to the device, so that the first launch is as fast as the others.
  void upload(::cuda::stream_ref on) const { check(cudaGraphUpload(handle_, on.get())); }
  void launch(::cuda::stream_ref on) const { check(cudaGraphLaunch(handle_, on.get())); }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

/// A capture of a stream, from construction to `end()` or to destruction.
///
/// Meanwhile, calls that could block or that a graph cannot hold fail on the capturing thread.
/// Other threads are not restricted.
class stream_capture {
 public:
  explicit stream_capture(::cuda::stream_ref on) : on_(on) {
    check(cudaStreamBeginCapture(on_.get(), cudaStreamCaptureModeThreadLocal));
  }
  stream_capture(stream_capture const&) = delete;
  stream_capture& operator=(stream_capture const&) = delete;
  ~stream_capture() {
    if (open_) { check_noexcept(cudaStreamEndCapture(on_.get(), &graph_)); }
    if (graph_ != nullptr) { check_noexcept(cudaGraphDestroy(graph_)); }
  }

  graph_exec end() {
    open_ = false;
    check(cudaStreamEndCapture(on_.get(), &graph_));
    return graph_exec{graph_};
  }

 private:
  ::cuda::stream_ref on_;
  cudaGraph_t graph_ = nullptr;
  bool open_ = true;
};

/// A lane that can be captured: a CUDA stream, a capturable memory resource, and a transfer that
/// never blocks the host.
template <class L>
concept graph_lane =
    device_lane<L> && std::same_as<typename L::stream_type, ::cuda::stream_ref> &&
    capturable_memory<typename L::memory_type, ::cuda::stream_ref> && L::transfer_type::capturable;

/// Records the items of each key once and replays them. After a failure the runner can be used
/// again, unless the device is lost. A recording that failed is made anew.
template <graph_lane Lane>
class graph_runner {
 public:
  graph_runner(char const* name, std::vector<Lane> lanes, int items, bool sync_per_item)
      : items_(lanes.size() * static_cast<std::size_t>(items)),
        replays_(name, std::move(lanes), items, sync_per_item) {}

  /// See `submission_mode`. The first batch with a key records each item in turn, before the timed
  /// part. Later batches with that key call no item. The runner keeps the graphs and their memory
  /// until its destruction.
  template <class Item, class Probe = no_probe>
  batch_times run(Item&& item, std::uint64_t key = 0, Probe&& probe = Probe{}) {
    auto known = recordings_.find(key);
    if (known == recordings_.end()) { known = recordings_.emplace(key, record(item)).first; }
    auto const& graphs = known->second.graphs;
    auto const replay = [&](Lane& lane, int number) {
      nvtx_range const here{"submit::graph launch", category::gpu};
      graphs[static_cast<std::size_t>(number)]->launch(lane.stream);
    };
    return replays_.run(replay, key, probe);
  }

 private:
  using hold = decltype(std::declval<typename Lane::memory_type&>().capture(
      std::declval<::cuda::stream_ref>()));

  /// The graphs of one key, and a hold on the memory of each lane. Items of a lane may share
  /// blocks, since they replay in stream order.
  struct recording {
    std::vector<hold> holds;
    std::vector<std::optional<graph_exec>> graphs;  // destroyed before the holds
  };

  /// Calls `end()` of all holds at the end of the scope, also when an item failed.
  struct open_holds {
    std::vector<hold>& all;
    ~open_holds() {
      for (auto& each : all) { each.end(); }
    }
  };

  /// Opens a hold for each lane before the first capture begins: a resource may have to wait for
  /// the device, and no thread may do that while another captures. A refusal counts as a failure of
  /// the lane's first item.
  void hold_all(std::vector<hold>& holds) {
    failure refused;
    int first = 0;
    for (auto& lane : replays_.lanes()) {
      refused.guard(first, [&] { holds.push_back(lane.memory.capture(lane.stream)); });
      refused.rethrow();
      first += static_cast<int>(items_ / replays_.lanes().size());
    }
  }

  template <class Item>
  recording record(Item& item) {
    nvtx_range const scope{"submit::graph record", category::cpu, items_};
    recording fresh;
    fresh.graphs.resize(items_);
    {
      open_holds const open{fresh.holds};
      hold_all(fresh.holds);
      // One capture at a time: CUPTI 13.0, and so every tool above it, takes copies for kernels or
      // crashes when threads capture and instantiate at the same time.
      std::mutex one_at_a_time;
      replays_.run([&](Lane& lane, int number) {
        auto& graph = fresh.graphs[static_cast<std::size_t>(number)];
        {
          std::lock_guard const lock{one_at_a_time};
          stream_capture capture{lane.stream};
          item(lane, number);
          graph.emplace(capture.end());
        }
        graph->upload(lane.stream);
      });
    }
    return fresh;
  }

  std::size_t items_;
  threaded_runner<Lane, no_lock> replays_;
  std::map<std::uint64_t, recording> recordings_;
};

/// As `submit::concurrent`, but each item is captured once as a CUDA graph and then replayed by a
/// single call.
///
/// Items must not block, and must do the same work each time for the same key.
struct graph {
  int threads = 4;
  int items = 100;             ///< of each thread
  bool sync_per_item = false;  ///< synchronise with the lane after each item

  static constexpr std::string_view name = "submit::graph";
  std::string describe() const { return describe_batch(name, threads, items, sync_per_item); }
  int lanes() const noexcept { return threads; }
  int batch_items() const noexcept { return threads * items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <graph_lane Lane>
  graph_runner<Lane> open(std::vector<Lane> lanes) const {
    require_batch(name, threads, items, lanes.size());
    return {name.data(), std::move(lanes), items, sync_per_item};
  }

  /// Explains a refusal where a program calls this overload. `submits_to` is false for such a pair.
  template <class Lane>
  requires(!graph_lane<Lane>)
  void open(std::vector<Lane>) const {
    static_assert(device_lane<Lane>,
                  "submit::graph cannot run on a host lane: it records CUDA streams (use "
                  "on::device, or submit::concurrent)");
    static_assert(Lane::transfer_type::capturable,
                  "submit::graph cannot run with this lane's transfer: it blocks the host, which a "
                  "graph cannot record (use transfer::pinned, mapped or overlapped)");
    static_assert(
        !device_lane<Lane> || graph_lane<Lane> || !Lane::transfer_type::capturable,
        "submit::graph cannot run with this lane's memory: a graph needs memory that "
        "keeps its blocks, a capturable_memory such as mr::pool or mr::async (mr::cuda_malloc "
        "is not)");
  }

  bool operator==(graph const&) const = default;
};
static_assert(submission_mode<graph>);

}  // namespace assay::submit
