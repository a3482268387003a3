// SPDX-License-Identifier: Apache-2.0
/// @file
/// `all_reduce`: the all-reduce of this process's GPUs over peer access.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/all_reduce_buffers.hpp>
#include <assay/comm/all_reduce_checks.hpp>
#include <assay/comm/all_reduce_kernels.cuh>
#include <assay/comm/choice.hpp>
#include <assay/comm/concepts.hpp>
#include <assay/comm/launch.cuh>
#include <assay/comm/peer_probe.cuh>
#include <assay/comm/peers.hpp>
#include <assay/comm/workspace.hpp>
#include <assay/copy/regular.cuh>
#include <assay/copy/require_code.cuh>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::comm {

/// Reduces over `peers`; `Copy`, with blocks of `Threads`, is how the algorithms that work on whole
/// buffers bring tiles in.
///
/// See `all_reduce_engine` for `enqueue`. Results are the same bits on all ranks and in every run:
/// elements are summed in `float`, in rank order. Any count and alignment will do. Buffers must be
/// reached by all ranks: of `cudaMalloc`, not of a pool without peer access. Launches are
/// graph-safe: all that changes from one to the next is in device memory. Kernels of different
/// ranks wait for each other, so nothing else that runs forever may keep one of them from starting.
/// A rank's calls come from one thread at a time, and its operations run in order: on one stream,
/// or one after the other by events.
template <class Copy = copy::regular<>, int Threads = 512>
class basic_all_reduce {
 public:
  static constexpr std::string_view name = "comm::all_reduce";

  /// Takes memory on each device for its peers to write to, and probes that they can; throws
  /// `peer_error` where one cannot, `std::invalid_argument` for options that cannot be, or not with
  /// the code that the program was built with.
  explicit basic_all_reduce(peers who, all_reduce_options options = {})
      : peers_(std::move(who)), options_(options) {
    range const here{"all_reduce set up", category::transfer, peers_.devices().size()};
    unsigned most = ~0U;
    for (auto const place : peers_.distinct()) {
      copy::require_code<Copy>(reverse_remotely<uint4>, place);
      auto const sms = attribute(place, cudaDevAttrMultiProcessorCount);
      most = std::min(most, static_cast<unsigned>(sms));
    }
    auto const code = code_of(peers_);
    detail::require_options(options_, code);
    has_rings_ = code >= ring_capability;
    if (options_.scratch_bytes == 0) { options_.scratch_bytes = default_scratch_bytes; }
    // Code for less does not wait for the kernel before.
    options_.dependent_launch =
        options_.dependent_launch && peers_.most_on_one() == 1 && code >= 90;
    probe_peers(peers_);
    // Of kernels bounded to `most_push_threads` an SM holds at least one block.
    sure_ = std::max(most / static_cast<unsigned>(peers_.most_on_one()), 1U);
    layout_ = make_workspace_layout(
        ranks(), std::max(3 * sure_, options_.blocks), options_.scratch_bytes, sure_,
        has_rings_ && uses_ring(options_.how) ? std::max(sure_, 2U) : 0);
    for (auto const place : peers_.devices()) { workspaces_.emplace_back(place, layout_); }
  }

  int ranks() const noexcept { return peers_.ranks(); }
  on::device device(int rank) const { return peers_.device(rank); }
  /// As given, with the scratch that there is.
  all_reduce_options const& options() const noexcept { return options_; }
  std::string describe() const {
    return std::string{name} + options_.describe() + " with " + assay::describe(Copy{}) + " over " +
           peers_.describe();
  }

  /// As `all_reduce_engine` says. Throws `std::invalid_argument` for what cannot be reduced, and
  /// `all_reduce_error` for an earlier operation whose waiting was ended. Takes host memory for the
  /// first operation of a thread by each kernel and shape, then none.
  template <element T>
  void enqueue(int rank, ::cuda::stream_ref stream, rank_buffers<T> const& buffers,
               std::size_t count, reduction what) {
    range const here{"all_reduce", category::gpu, count * sizeof(T)};
    launch(plan(buffers, count, what), device(rank), rank, 1, stream);
  }

  /// All ranks by one launch, where they share a device: kernels of one launch run side by side
  /// also under tools that let no others do so.
  template <element T>
  void enqueue_together(::cuda::stream_ref stream, rank_buffers<T> const& buffers,
                        std::size_t count, reduction what) {
    range const here{"all_reduce together", category::gpu, count * sizeof(T)};
    detail::require_one_device(peers_);
    launch(plan(buffers, count, what), device(0), 0, ranks(), stream);
  }

  /// The sum, plus `residual`, of `tokens` rows of `hidden` elements, and its RMSNorm: one launch
  /// for what decoding does after each matmul. The sum of residual and inputs is rounded to `T`,
  /// kept in `residual_out`, and normalised: `out = rounded / sqrt(mean(rounded^2) + epsilon) *
  /// gamma`. For messages that fit into scratch; pays where they are small.
  template <element T>
  void enqueue_rms_norm(int rank, ::cuda::stream_ref stream, norm_buffers<T> const& buffers,
                        std::size_t tokens, std::size_t hidden, float epsilon) {
    range const here{"all_reduce rms_norm", category::gpu, tokens * hidden * sizeof(T)};
    launch(plan_norm(buffers, tokens, hidden, epsilon), device(rank), rank, 1, stream);
  }
  template <element T>
  void enqueue_rms_norm_together(::cuda::stream_ref stream, norm_buffers<T> const& buffers,
                                 std::size_t tokens, std::size_t hidden, float epsilon) {
    range const here{"all_reduce rms_norm together", category::gpu, tokens * hidden * sizeof(T)};
    detail::require_one_device(peers_);
    launch(plan_norm(buffers, tokens, hidden, epsilon), device(0), 0, ranks(), stream);
  }

  /// Loads the kernels for `T` on all devices, which their first launch does otherwise: before a
  /// recording, and before anything is enqueued that the loading could have to wait for.
  template <element T>
  void prepare() {
    range const here{"all_reduce prepare", category::gpu};
    for (auto const place : peers_.distinct()) {
      device_guard const guard{place};
      for (int which = 1; which < algorithms; ++which) {
        auto const how = static_cast<algorithm>(which);
        auto const kernel = kernels<T>::of(how, ranks());
        (void)kernel::compiled(kernel, place);
        kernel::allow_shared(kernel, place, is_push(how) ? 0 : tiled(how).shared_bytes);
      }
      (void)kernel::compiled(kernels<T>::rms_norm(ranks()), place);
    }
  }

  /// The algorithm that `enqueue` takes.
  template <element T>
  algorithm chosen(rank_buffers<T> const& buffers, std::size_t count) const {
    bool const in_place = detail::in_place(buffers, ranks());
    auto const bytes = count * sizeof(T);
    if (options_.how == algorithm::automatic) {
      return choose({bytes, ranks(), in_place, has_rings_}, options_.scratch_bytes);
    }
    if (options_.how == algorithm::pull && in_place) { return algorithm::two_shot; }
    detail::require_capacity(options_, bytes, ranks());
    return options_.how;
  }

  /// Waits for the rank's stream, then throws what an operation whose waits are bounded failed
  /// with.
  void synchronize(int rank, ::cuda::stream_ref stream) const {
    range const here{"all_reduce synchronize", category::cpu, static_cast<std::uint64_t>(rank)};
    device_guard const guard{device(rank)};
    check(cudaStreamSynchronize(stream.get()));
    failures_.require_none(options_.timeout());
  }

  /// Makes the engine as new after a failure; all ranks' streams must be idle.
  void reset() {
    for (auto& each : workspaces_) { each.reset(); }
    failures_.clear();
  }

  /// Where a rank's workspace is, and where things are in it: for tests that damage it.
  std::byte* workspace_of(int rank) const {
    return workspaces_.at(static_cast<std::size_t>(rank)).base();
  }
  workspace_layout const& layout() const noexcept { return layout_; }

 private:
  template <class T>
  using kernels = all_reduce_kernels<T, Copy, Threads>;

  /// What a launch needs but the rank; no blocks: nothing to do.
  template <class Call>
  struct planned_launch {
    Call call{};
    void (*kernel)(Call) = nullptr;
    unsigned blocks = 0;
    unsigned threads = 0;
    std::size_t shared_bytes = 0;
  };

  tiled_launch tiled(algorithm how) const { return tiled_shape<Copy, Threads>(how, ranks()); }

  /// Into how many the packs are cut, one for each rank that reduces.
  std::uint64_t slices(algorithm how) const {
    return is_two_shot(how) ? static_cast<std::uint64_t>(ranks()) : 1;
  }

  template <class T>
  planned_launch<all_reduce_call<T>> plan(rank_buffers<T> const& buffers, std::size_t count,
                                          reduction what) {
    failures_.require_none(options_.timeout());
    if (count == 0) { return {}; }
    detail::require_buffers(peers_, buffers, count, options_.checked);
    auto const how = chosen(buffers, count);
    planned_launch<all_reduce_call<T>> to;
    auto& call = to.call;
    fill(call);
    std::copy(buffers.in.begin(), buffers.in.end(), call.in);
    std::copy(buffers.out.begin(), buffers.out.end(), call.out);
    call.grid = detail::grid_of(buffers, count, ranks());
    call.how = {what == reduction::max,
                what == reduction::average ? 1.0F / static_cast<float>(ranks()) : 1.0F};
    to.kernel = kernels<T>::of(how, ranks());
    if (is_push(how)) {
      bool const two_shot = how == algorithm::lamport_two_shot;
      auto const packs = share_of(call.grid.packs, slices(how));
      auto const slot = how == algorithm::ll_push ? layout_.ll_slot_packs
                                                  : layout_.slot_packs / (two_shot ? 2U : 1U);
      auto const grid =
          push_shape(packs, {options_.blocks, options_.threads,
                             most_blocks(to.kernel, most_push_threads, 0), slot, sure_});
      to.blocks = grid.blocks;
      to.threads = grid.threads;
      call.block_packs = static_cast<unsigned>(share_of(packs, grid.blocks));
      detail::require_slot(call.block_packs, slot, options_);
    } else {
      auto const tuned = tiled(how);
      to.threads = tuned.threads;
      to.shared_bytes = tuned.shared_bytes;
      auto const most = most_blocks(to.kernel, to.threads, to.shared_bytes);
      if (is_ring(how)) {
        detail::require_two_kinds(most, how, peers_.most_on_one());
        auto const in_ring =
            std::min({most, layout_.ring_blocks, options_.blocks != 0 ? options_.blocks : most});
        bool const two_shot = how == algorithm::ring_two_shot;
        auto const shape =
            shape_ring(call.grid.packs, static_cast<unsigned>(slices(how)), in_ring,
                       layout_.ring_slots / (two_shot ? 2U : 1U), ring_block::groups);
        to.blocks = shape.blocks;
        call.ring = shape.plan;
      } else {
        call.to_all = how == algorithm::two_shot;
        call.slice_packs = slice_packs(call.grid.packs, call.to_all ? ranks() : 1);
        auto const wanted = options_.blocks != 0 ? options_.blocks : direct_blocks;
        to.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
            share_of(call.slice_packs, tuned.tile_packs), 1, std::min(wanted, most)));
      }
    }
    call.signature = detail::signature(to.kernel, count, what, buffers.in, buffers.out);
    return to;
  }

  template <class T>
  planned_launch<norm_call<T>> plan_norm(norm_buffers<T> const& buffers, std::size_t tokens,
                                         std::size_t hidden, float epsilon) {
    failures_.require_none(options_.timeout());
    if (tokens == 0 || hidden == 0) { return {}; }
    buffers.for_each(tokens, hidden, ranks(), [this](buffer_span const& each) {
      detail::require_buffer(peers_, each, options_.checked);
    });
    planned_launch<norm_call<T>> to;
    auto& call = to.call;
    fill(call);
    auto const own_out = buffers.with_residual_out();
    std::copy(buffers.in.begin(), buffers.in.end(), call.in);
    std::copy(buffers.out.begin(), buffers.out.end(), call.out);
    std::copy(buffers.residual.begin(), buffers.residual.end(), call.residual);
    std::copy(buffers.gamma.begin(), buffers.gamma.end(), call.gamma);
    std::copy(own_out.begin(), own_out.end(), call.residual_out);
    call.epsilon = epsilon;
    call.grid = {.count = hidden};  // of one row
    call.hidden = static_cast<unsigned>(hidden);
    call.tokens = static_cast<unsigned>(tokens);
    constexpr auto in_pack = pack_bytes / sizeof(T);
    call.row_packs = static_cast<unsigned>(share_of(hidden, in_pack));
    call.wide = hidden % in_pack == 0 && detail::all_aligned(buffers, ranks());
    to.threads = norm_threads(call.row_packs, options_.threads);
    to.kernel = kernels<T>::rms_norm(ranks());
    auto const most = most_blocks(to.kernel, to.threads, 0);
    auto const wanted = std::min(options_.blocks != 0 ? options_.blocks : sure_, most);
    to.blocks = static_cast<unsigned>(std::min<std::uint64_t>(wanted, tokens));
    auto const rows = static_cast<unsigned>(share_of(tokens, to.blocks));
    call.block_packs = rows * call.row_packs;
    detail::require_norm(call.block_packs, layout_.slot_packs, call.row_packs, tokens, hidden,
                         most_row_packs);
    call.signature = detail::signature(to.kernel, tokens, hidden, epsilon, buffers.in,
                                       buffers.residual, buffers.gamma, buffers.out, own_out);
    return to;
  }

  /// What is the same in all calls.
  template <class Call>
  void fill(Call& call) const {
    for (std::size_t rank = 0; rank < workspaces_.size(); ++rank) {
      call.workspaces[rank] = workspaces_[rank].base();
    }
    call.failures = failures_.get();
    call.at = layout_;
    call.ranks = ranks();
    call.dependent = options_.dependent_launch;
    call.checked = options_.checked;
    call.timeout_nanoseconds = static_cast<std::uint64_t>(options_.timeout() * 1e9);
  }

  /// Blocks of each rank that all ranks' devices hold at once.
  template <class Kernel>
  unsigned most_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) const {
    unsigned most = layout_.blocks;
    auto const share = static_cast<unsigned>(peers_.most_on_one());
    for (auto const place : peers_.devices()) {
      auto const all = kernel::resident_blocks(kernel, place, threads, shared_bytes);
      most = std::min(most, all / share);
    }
    detail::require_resident(most, peers_, threads);
    return most;
  }

  /// Of so many ranks from `first` on.
  template <class Call>
  void launch(planned_launch<Call> planned, on::device place, int first, int count,
              ::cuda::stream_ref stream) {
    if (planned.blocks == 0) { return; }
    planned.call.first_rank = first;
    device_guard const guard{place};
    launch_early(planned.kernel, dim3(planned.blocks, static_cast<unsigned>(count)),
                 planned.threads, planned.shared_bytes, stream, options_.dependent_launch,
                 planned.call);
  }

  peers peers_;
  all_reduce_options options_;
  workspace_layout layout_;
  unsigned sure_ = 1;  ///< blocks of a rank that are resident on any account
  bool has_rings_ = true;
  std::vector<workspace> workspaces_;
  detail::failure_board failures_;
};

using all_reduce = basic_all_reduce<>;

}  // namespace assay::comm
