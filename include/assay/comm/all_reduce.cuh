// SPDX-License-Identifier: Apache-2.0
/// @file
/// `all_reduce`: the all-reduce of this process's GPUs over peer access.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/all_reduce_checks.hpp>
#include <assay/comm/all_reduce_kernels.cuh>
#include <assay/comm/concepts.hpp>
#include <assay/comm/failure_board.hpp>
#include <assay/comm/peers.hpp>
#include <assay/comm/probe_peers.cuh>
#include <assay/comm/tuning.hpp>
#include <assay/comm/workspace.hpp>
#include <assay/copy/regular.cuh>
#include <assay/copy/require_code.cuh>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::comm {

/// All-reduces over `peers`. `Copy` and blocks of `Threads` are the copy strategy of `pull` and
/// `two_shot`, by which they load the inputs.
///
/// Results are the same bits on all ranks and in every run: elements are summed in rank order,
/// those of 8 and 16 bits in `float`. Counts and alignments are arbitrary. All ranks must reach the
/// buffers: memory of `cudaMalloc`, not of a pool without peer access. Launches can be recorded
/// into graphs, since all state is in device memory. Kernels of different ranks wait for each
/// other: no other endless kernel may keep one of them from starting. One thread at a time makes a
/// rank's calls. A rank's operations run in order: on one stream, or ordered by events.
template <class Copy = copy::regular<>, int Threads = 512>
class basic_all_reduce {
 public:
  static constexpr std::string_view name = "comm::all_reduce";

  /// Allocates a workspace on each device and probes that its peers can write to it. Throws
  /// `peer_error` where a peer cannot, and `std::invalid_argument` for options that the devices, or
  /// the code that the program was built with, cannot run.
  explicit basic_all_reduce(peers who, all_reduce_options options = {})
      : peers_(std::move(who)), options_(options) {
    nvtx_range const here{"all_reduce set up", category::transfer, peers_.devices().size()};
    unsigned most = ~0U;
    for (auto const place : peers_.distinct()) {
      copy::require_code<Copy>(reverse_remotely<uint4>, place);
      detail::require_shared_memory(
          assay::describe(Copy{}), tiled(algorithm::two_shot).shared_bytes,
          static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin)));
      auto const sms = attribute(place, cudaDevAttrMultiProcessorCount);
      most = std::min(most, static_cast<unsigned>(sms));
    }
    auto const code = code_of(peers_);
    detail::require_options(options_);
    detail::require_fifo_code(options_.how, ranks(), code);
    has_fifo_ = uses_fifo(options_.how, ranks(), code);
    // Code for less than 9.0 does not wait for the previous kernel.
    options_.dependent_launch =
        options_.dependent_launch && peers_.most_on_one() == 1 && code >= 90;
    probe_peers(peers_);
    // An SM holds at least one block of each kernel, which are compiled for `most_push_threads`.
    min_resident_blocks_ = std::max(most / static_cast<unsigned>(peers_.most_on_one()), 1U);
    if (options_.scratch_bytes == 0) { options_.scratch_bytes = default_scratch_bytes(ranks()); }
    layout_ = engine_layout(options_, ranks(), min_resident_blocks_, has_fifo_);
    for (auto const place : peers_.devices()) { memory_->workspaces.emplace_back(place, layout_); }
    resident_.resize(peers_.devices().size());
  }

  int ranks() const noexcept { return peers_.ranks(); }
  on::device device(int rank) const { return peers_.device(rank); }
  /// One rank's end, a `collective`.
  rank_of<basic_all_reduce> rank(int which) { return {*this, which}; }
  /// As given, with the scratch that there is.
  all_reduce_options const& options() const noexcept { return options_; }
  std::string describe() const {
    return std::string{name} + options_.describe() + " with " + assay::describe(Copy{}) + " over " +
           peers_.describe();
  }

  /// Enqueues one rank's part on a stream of its device, and does not block. Each operation takes
  /// one call for every rank, with equal `buffers`, `count` and `what`. The order of operations is
  /// the same on all ranks. The calls come from one thread for each device, or from one thread rank
  /// after rank. Wait for a device only after all ranks of its operations are enqueued. A rank's
  /// output is complete, and its input free, when its own stream has passed the operation.
  ///
  /// Throws `std::invalid_argument` for arguments that cannot be reduced, and `all_reduce_error`
  /// for an earlier operation that failed. Allocates host memory only for a thread's first
  /// operation by each kernel and shape.
  ///
  /// An exception ends all waits, as `abort` does, once another rank has been asked for the same
  /// operation. Until then the call can be repeated.
  template <element T>
  void enqueue(int rank, ::cuda::stream_ref stream, rank_buffers<T> const& buffers,
               std::size_t count, reduction what) {
    nvtx_range const here{"all_reduce", category::gpu, count * sizeof(T)};
    (void)device(rank);
    failures().make_call(rank, options_.timeout_seconds,
                         [&] { launch_with(buffers, count, what, rank, 1, stream); });
  }

  /// The same with this rank's buffers alone, which other ranks need not reach. Each rank makes its
  /// calls for one operation in this form, or each in the other. Buffers on 16-byte boundaries are
  /// fastest. Takes `lamport_push` and the FIFO algorithms, and throws `std::invalid_argument`
  /// where another is asked for, or where none of these can run the operation.
  template <element T>
  void enqueue(int rank, ::cuda::stream_ref stream, T const* in, T* out, std::size_t count,
               reduction what) {
    nvtx_range const here{"all_reduce", category::gpu, count * sizeof(T)};
    auto const place = device(rank);
    failures().make_call(rank, options_.timeout_seconds, [&] {
      if (count == 0) { return; }
      detail::require_buffers_of(place, rank, in, out, count, options_.checked);
      auto const how = chosen<T>(count);
      auto planned = plan<T>(how, detail::own_grid(in, out, count), what, rank);
      planned.call.in[rank] = in;
      planned.call.out[rank] = out;
      planned.sign(count, what, rank_buffers<T>{});
      launch(planned, place, rank, 1, stream);
    });
  }

  /// Enqueues all ranks by one launch, where they share a device, and does not block. The blocks of
  /// one launch run side by side even under tools that serialise kernels. Throws
  /// `std::invalid_argument` where ranks have several devices, else what `enqueue` throws. An
  /// exception ends no waits, since no rank's part is enqueued then.
  template <element T>
  void enqueue_together(::cuda::stream_ref stream, rank_buffers<T> const& buffers,
                        std::size_t count, reduction what) {
    nvtx_range const here{"all_reduce together", category::gpu, count * sizeof(T)};
    detail::require_one_device(peers_);
    failures().require_none(options_.timeout_seconds);
    launch_with(buffers, count, what, 0, ranks(), stream);
  }

  /// Loads the kernels for `T` on all devices, and enqueues nothing. Call `prepare` before a graph
  /// is recorded, and before work is enqueued that the loading may have to wait for; otherwise the
  /// first launch loads them. Throws `cuda_error`.
  template <element T>
  void prepare() {
    nvtx_range const here{"all_reduce prepare", category::gpu};
    for (auto const place : peers_.distinct()) {
      device_guard const guard{place};
      for (int which = 1; which < algorithms; ++which) {
        auto const how = static_cast<algorithm>(which);
        auto const kernel = kernels<T>::of(how, ranks());
        (void)kernel::kernel_attributes(kernel, place);
        kernel::set_max_dynamic_shared_memory(kernel, place, tiled(how).shared_bytes);
      }
    }
  }

  /// The algorithm that `enqueue` uses.
  template <element T>
  algorithm chosen(rank_buffers<T> const& buffers, std::size_t count) const {
    auto const bytes = count * sizeof(T);
    if (options_.how == algorithm::automatic) {
      return choose(problem_of<T>(bytes, false), options_.scratch_bytes);
    }
    detail::require_kernel<T>(options_.how, ranks());
    if (options_.how == algorithm::pull && detail::in_place(buffers, ranks())) {
      return algorithm::two_shot;
    }
    detail::require_capacity(options_, bytes);
    return options_.how;
  }

  /// The algorithm that `enqueue` with one rank's own buffers uses.
  template <element T>
  algorithm chosen(std::size_t count) const {
    auto const bytes = count * sizeof(T);
    bool const open = options_.how == algorithm::automatic;
    auto const how =
        open ? choose(problem_of<T>(bytes, true), options_.scratch_bytes) : options_.how;
    detail::require_own_buffers_suffice<T>(how, bytes, options_);
    detail::require_kernel<T>(how, ranks());
    if (!open) { detail::require_capacity(options_, bytes); }
    return how;
  }

  /// Waits for the rank's stream, then throws the failure of an operation, if there is one.
  void synchronize(int rank, ::cuda::stream_ref stream) const {
    nvtx_range const here{"all_reduce synchronize", category::cpu,
                          static_cast<std::uint64_t>(rank)};
    device_guard const guard{device(rank)};
    check(cudaStreamSynchronize(stream.get()));
    failures().require_none(options_.timeout_seconds);
  }

  /// Ends all waits of all ranks, of operations that run and of those enqueued, within some
  /// milliseconds each. The next call throws `all_reduce_error`, until `reset`. Any thread may call
  /// `abort`; it makes no CUDA call and does not wait. Buffers are in use until all ranks'
  /// streams are idle.
  void abort() noexcept { failures().stop(detail::stopped_by::abort); }

  /// Clears the engine after a failure or an abort; all ranks' streams must be idle. Waits for all
  /// devices. Throws `cuda_error`; the failure then stays.
  void reset() {
    for (auto& each : memory_->workspaces) { each.reset(); }
    failures().clear();
  }

  /// A rank's workspace and its layout, for tests that damage it.
  std::byte* workspace_of(int rank) const {
    return memory_->workspaces.at(static_cast<std::size_t>(rank)).base();
  }
  workspace_layout const& layout() const noexcept { return layout_; }

 private:
  template <class T>
  using kernels = all_reduce_kernels<T, Copy, Threads>;

  detail::failure_board& failures() const noexcept { return memory_->failures; }
  tiled_launch tiled(algorithm how) const { return tiled_shape<Copy, Threads>(how, ranks()); }

  template <class T>
  problem problem_of(std::size_t bytes, bool own) const {
    bool const fifo = has_fifo_ && detail::fits_fifo<T>(ranks() > 2, ranks());
    return {bytes, ranks(), fifo, own, has_sentinel<T>};
  }

  /// Slices of the message, one for each rank that reduces.
  std::uint64_t slices(algorithm how) const {
    return is_two_shot(how) ? static_cast<std::uint64_t>(ranks()) : 1;
  }

  /// Plans and launches `count` ranks from `first` on.
  template <class T>
  void launch_with(rank_buffers<T> const& buffers, std::size_t elements, reduction what, int first,
                   int count, ::cuda::stream_ref stream) {
    if (elements == 0) { return; }
    detail::require_buffers(peers_, buffers, elements, options_.checked);
    auto planned = plan<T>(chosen(buffers, elements), detail::grid_of(buffers, elements, ranks()),
                           what, first);
    std::copy(buffers.in.begin(), buffers.in.end(), planned.call.in);
    std::copy(buffers.out.begin(), buffers.out.end(), planned.call.out);
    planned.sign(elements, what, buffers);
    launch(planned, device(first), first, count, stream);
  }

  /// All of a launch but buffers and signature, on the thread of `rank`.
  template <class T>
  planned_launch<T> plan(algorithm how, vec16_grid const& grid, reduction what, int rank) {
    planned_launch<T> to;
    auto& call = to.call;
    fill(call);
    call.grid = grid;
    call.op = reduce_op<T>::of(what, ranks());
    to.kernel = kernels<T>::of(how, ranks());
    if (how == algorithm::lamport_push) {
      auto const shape = push_shape(
          call.grid.vecs, {options_.blocks, most_blocks(rank, to.kernel, most_push_threads, 0),
                           layout_.slot_vecs, min_resident_blocks_});
      to.blocks = shape.blocks;
      to.threads = shape.threads;
      call.block_vecs = static_cast<unsigned>(ceil_div(call.grid.vecs, shape.blocks));
    } else {
      auto const tuned = tiled(how);
      to.threads = tuned.threads;
      to.shared_bytes = tuned.shared_bytes;
      auto const most = most_blocks(rank, to.kernel, to.threads, to.shared_bytes);
      if (is_fifo(how)) {
        detail::require_two_kinds(most, how, peers_.most_on_one());
        auto const limit =
            std::min({most, layout_.fifo_blocks, options_.blocks != 0 ? options_.blocks : most});
        bool const two_shot = how == algorithm::fifo_two_shot;
        auto const shape =
            shape_fifo(call.grid.vecs, static_cast<unsigned>(slices(how)), limit,
                       layout_.fifo_slots / (two_shot ? 2U : 1U), fifo_block::groups);
        to.blocks = shape.blocks;
        call.fifo = shape.plan;
      } else {
        call.to_all = how == algorithm::two_shot;
        call.slice_vecs = slice_vecs(call.grid.vecs, call.to_all ? ranks() : 1);
        auto const wanted = options_.blocks != 0 ? options_.blocks : direct_blocks;
        to.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
            ceil_div(call.slice_vecs, tuned.tile_vecs), 1, std::min(wanted, most)));
      }
    }
    return to;
  }

  /// Sets the arguments that are the same for all operations.
  template <class T>
  void fill(all_reduce_call<T>& call) const {
    for (int rank = 0; rank < ranks(); ++rank) { call.workspaces[rank] = workspace_of(rank); }
    call.failures = failures().words();
    call.at = layout_;
    call.ranks = ranks();
    call.dependent = options_.dependent_launch;
    call.checked = options_.checked;
    call.timeout_nanoseconds = options_.timeout_seconds > 0
                                   ? static_cast<std::uint64_t>(options_.timeout_seconds * 1e9)
                                   : UINT64_MAX / (2 * max_ranks);
  }

  /// Blocks of each rank that are resident together on every device; found once for each rank and
  /// kernel, since a kernel always has the same shape.
  template <class Kernel>
  unsigned most_blocks(int rank, Kernel kernel, unsigned threads, std::size_t shared_bytes) {
    auto& known = resident_[static_cast<std::size_t>(rank)];
    auto const entry = reinterpret_cast<void const*>(kernel);
    for (auto const& each : known) {
      if (each.first == entry) { return each.second; }
    }
    unsigned most = layout_.blocks;
    auto const share = static_cast<unsigned>(peers_.most_on_one());
    for (auto const place : peers_.devices()) {
      auto const all = kernel::resident_blocks(kernel, place, threads, shared_bytes);
      most = std::min(most, all / share);
    }
    detail::require_resident(most, peers_, threads);
    known.emplace_back(entry, most);
    return most;
  }

  /// Launches `count` ranks from `first` on.
  template <class T>
  void launch(planned_launch<T>& planned, on::device place, int first, int count,
              ::cuda::stream_ref stream) {
    planned.call.first_rank = first;
    device_guard const guard{place};
    launch_early(planned.kernel, dim3(planned.blocks, static_cast<unsigned>(count)),
                 planned.threads, planned.shared_bytes, stream, options_.dependent_launch,
                 planned.call);
  }

  peers peers_;
  all_reduce_options options_;
  workspace_layout layout_;
  unsigned min_resident_blocks_ = 1;  ///< blocks of a rank that are resident for every kernel
  bool has_fifo_ = true;
  std::vector<std::vector<std::pair<void const*, unsigned>>> resident_;  ///< by rank
  std::unique_ptr<detail::engine_memory> memory_ = std::make_unique<detail::engine_memory>();
};

using all_reduce = basic_all_reduce<>;

}  // namespace assay::comm
