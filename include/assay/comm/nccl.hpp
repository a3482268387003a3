// SPDX-License-Identifier: Apache-2.0
/// @file
/// `comm::nccl`: NCCL's all-reduce between the ranks of a world. Needs the target `assay::nccl`.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/core/device.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/host/poll_until.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/world/device_barrier.hpp>
#include <assay/world/world.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace assay::comm {

/// A call of NCCL that failed, or that did not end within the limit.
class nccl_error : public std::runtime_error {
 public:
  nccl_error(ncclResult_t code, std::string const& call)
      : std::runtime_error(call + ": " + ncclGetErrorString(code) + " (" +
                           ncclGetLastError(nullptr) + "); NCCL_DEBUG=INFO tells more"),
        code_(code) {}

  ncclResult_t code() const noexcept { return code_; }

 private:
  ncclResult_t code_;
};

/// Throws `nccl_error` unless a call worked.
inline void check_nccl(ncclResult_t code, char const* call) {
  if (code != ncclSuccess) { throw nccl_error(code, call); }
}

namespace detail {

template <class T>
struct nccl_type_of {};
template <ncclDataType_t Type>
using nccl_number = std::integral_constant<ncclDataType_t, Type>;
template <>
struct nccl_type_of<float> : nccl_number<ncclFloat32> {};
template <>
struct nccl_type_of<double> : nccl_number<ncclFloat64> {};
template <>
struct nccl_type_of<__half> : nccl_number<ncclFloat16> {};
template <>
struct nccl_type_of<__nv_bfloat16> : nccl_number<ncclBfloat16> {};
template <>
struct nccl_type_of<__nv_fp8_e4m3> : nccl_number<ncclFloat8e4m3> {};
template <>
struct nccl_type_of<__nv_fp8_e5m2> : nccl_number<ncclFloat8e5m2> {};
template <>
struct nccl_type_of<std::int32_t> : nccl_number<ncclInt32> {};
template <>
struct nccl_type_of<std::uint32_t> : nccl_number<ncclUint32> {};
template <>
struct nccl_type_of<std::int64_t> : nccl_number<ncclInt64> {};
template <>
struct nccl_type_of<std::uint64_t> : nccl_number<ncclUint64> {};

}  // namespace detail

/// An element type of NCCL's all-reduce: `float`, `double`, `__half`, `__nv_bfloat16`, fp8 on
/// devices that have it, and integers of 32 and 64 bits.
template <class T>
concept nccl_element = requires { detail::nccl_type_of<T>::value; };

/// This rank's end of an NCCL communicator between all ranks of a world, one GPU each.
///
/// Calls come from one thread at a time. All ranks enqueue the same operations in the same order.
/// After a failure, or where a rank is missing at the limit, the communicator is aborted: its work
/// ends, the call throws, and so do later calls. The destructor waits for the other ranks, unless
/// an exception unwinds.
class nccl {
 public:
  static constexpr std::string_view name = "nccl";

  /// Joins the other ranks. Throws on all ranks where a rank has no such GPU, or two share one. The
  /// limit of each rank must be above 0 and at most 1e6 s.
  explicit nccl(world const& all, on::device place,
                std::chrono::duration<double> limit = std::chrono::seconds{120})
      : nccl(place, limit, all.rank(), all.ranks()) {
    nvtx_range const scope{"meet", category::cpu};
    auto const id = agree(all, place, limit);
    device_guard const guard{place};
    auto config = options(0);
    config.splitShare = 1;  // what makes operations needs no resources of its own
    finish(ncclCommInitRankConfig(&joined_, ranks_, id, rank_, &config), "ncclCommInitRankConfig");
    make_worker();
  }
  /// The GPU whose ordinal is the local rank.
  explicit nccl(world const& all) : nccl(all, on::device{all.local_rank()}) {}

  nccl(nccl&& other) noexcept
      : place_(other.place_),
        limit_(other.limit_),
        rank_(other.rank_),
        ranks_(other.ranks_),
        joined_(std::exchange(other.joined_, nullptr)),
        worker_(std::exchange(other.worker_, nullptr)) {}
  nccl& operator=(nccl&&) = delete;
  ~nccl() {
    if (std::uncaught_exceptions() > unwinding_) { abort(); }
    for (auto* const each : {worker_, joined_}) {
      if (each != nullptr) { (void)ncclCommDestroy(each); }
    }
  }

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  on::device device() const noexcept { return place_; }
  /// For other calls of NCCL; they may block.
  ncclComm_t get() const noexcept { return worker_; }
  std::string describe() const { return std::string{name} + '{' + std::to_string(ranks_) + '}'; }

  /// Enqueues this rank's part; may be captured after a first call. `out` may be `in`. The first
  /// calls make connections, and block while a rank is missing.
  template <nccl_element T>
  void enqueue(::cuda::stream_ref on, T const* in, T* out, std::size_t count,
               reduction what) const {
    nvtx_range const scope{"ncclAllReduce", category::gpu, count * sizeof(T)};
    constexpr std::array operations{ncclSum, ncclMax, ncclAvg};
    require_alive();
    auto const code = ncclAllReduce(in, out, count, detail::nccl_type_of<T>::value,
                                    operations[static_cast<std::size_t>(what)], worker_, on.get());
    if (code != ncclSuccess) { fail(code, "ncclAllReduce"); }
  }

  /// A barrier on the streams of all ranks for `options::barrier`, by an all-reduce of one element.
  /// All ranks call it at once. The communicator outlives it, and is not moved.
  device_barrier barrier() const {
    device_guard const guard{place_};
    auto const one = std::make_shared<device_block>(place_, sizeof(float));
    device_barrier made{std::string{"NCCL"},
                        [this, one](CUstream_st* on) {
                          auto* const at = static_cast<float*>(one->get());
                          enqueue(::cuda::stream_ref{on}, static_cast<float const*>(at), at, 1,
                                  reduction::max);
                        },
                        [this](CUstream_st* on, std::chrono::duration<double> most) {
                          synchronize(::cuda::stream_ref{on}, most);
                        }};
    stream const first{place_};  // the first operation makes connections, and blocks meanwhile
    check(cudaMemsetAsync(one->get(), 0, sizeof(float), first.get()));
    made.enqueue(first.get());
    synchronize(first);
    return made;
  }

  /// Waits for the stream. Aborts and throws where an operation fails, or where the stream has not
  /// drained at the limit, as when a rank has ended or has not enqueued its part. The limit is that
  /// of the communicator, or `most`.
  void synchronize(::cuda::stream_ref on) const { synchronize(on, limit_); }
  void synchronize(::cuda::stream_ref on, std::chrono::duration<double> most) const {
    require_alive();
    auto const drained = [&] {
      auto const state = cudaStreamQuery(on.get());
      if (state == cudaSuccess) { return true; }
      if (state != cudaErrorNotReady) { check(state); }
      ncclResult_t found = ncclSuccess;
      check_nccl(ncclCommGetAsyncError(worker_, &found), "ncclCommGetAsyncError");
      if (found != ncclSuccess && found != ncclInProgress) { fail(found, "ncclAllReduce"); }
      return false;
    };
    auto const limit = std::min(most, limit_);
    if (!poll_until(drained, limit)) { fail_late("the stream", limit); }
    ncclResult_t found = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(worker_, &found), "ncclCommGetAsyncError");
    if (found != ncclSuccess) { fail(found, "ncclAllReduce"); }
  }

  /// A communicator of the ranks that give the same color, ordered by their keys. All ranks call
  /// it. Throws `std::invalid_argument` for a color below 0.
  nccl split(int color, int key) const {
    if (color < 0) {
      throw std::invalid_argument("color " + std::to_string(color) + ": colors begin at 0");
    }
    require_alive();
    device_guard const guard{place_};
    nccl made{place_, limit_, 0, 0};
    auto config = options(0);
    config.splitShare = 1;
    finish(ncclCommSplit(joined_, color, key, &made.joined_, &config), "ncclCommSplit");
    check_nccl(ncclCommUserRank(made.joined_, &made.rank_), "ncclCommUserRank");
    check_nccl(ncclCommCount(made.joined_, &made.ranks_), "ncclCommCount");
    made.make_worker();
    return made;
  }

 private:
  nccl(on::device place, std::chrono::duration<double> limit, int rank, int ranks)
      : place_(place), limit_(limit), rank_(rank), ranks_(ranks) {}

  static ncclConfig_t options(int blocking) {
    ncclConfig_t made = NCCL_CONFIG_INITIALIZER;
    made.blocking = blocking;
    return made;
  }

  /// Joining has a deadline in a communicator that does not block. Each operation of such a one
  /// starts a thread of the host, so operations run in a blocking part of it.
  void make_worker() {
    auto config = options(1);
    finish(ncclCommSplit(joined_, 0, rank_, &worker_, &config), "ncclCommSplit");
  }

  static void require_limit(std::chrono::duration<double> limit) {
    if (limit.count() > 0 && limit.count() <= 1e6) { return; }
    throw std::invalid_argument("the limit of a communicator is " +
                                stats::number_text(limit.count()) +
                                " s: it must be above 0 and at most 1e6");
  }

  /// Checks the GPUs of all ranks and shares NCCL's identity of the communicator.
  static ncclUniqueId agree(world const& all, on::device place,
                            std::chrono::duration<double> limit) {
    ncclUniqueId id{};
    std::string told;
    try {
      require_limit(limit);
      require_device(place);
      auto const gpus = all.gather(gpu_uuid(place));
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        for (std::size_t j = 0; j < i && told.empty(); ++j) {
          if (gpus[i] != gpus[j]) { continue; }
          told = "ranks " + std::to_string(j) + " and " + std::to_string(i) + " have one GPU, " +
                 gpus[i] + ": NCCL needs one for each rank";
        }
      }
      if (all.rank() == 0 && told.empty()) {
        check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
        told.assign(id.internal, sizeof id.internal);
        told += '.';
      }
    } catch (world_error const&) { throw; } catch (std::exception const& cause) {
      all.abandon(cause.what());
      throw;
    }
    told = all.broadcast(told);
    if (told.size() != sizeof id.internal + 1 || told.back() != '.') {
      throw std::invalid_argument(told);
    }
    told.copy(id.internal, sizeof id.internal);
    return id;
  }

  /// Waits until `joined_` is done with a call that may go on in the background. `ncclCommSplit`
  /// returns success at once there too, and writes the part's handle when it is done.
  void finish(ncclResult_t code, char const* call) const {
    if (code == ncclSuccess) { code = ncclInProgress; }
    auto const ended = [&] {
      if (code == ncclInProgress) {
        auto const asked = ncclCommGetAsyncError(joined_, &code);
        if (asked != ncclSuccess) { code = asked; }
      }
      return code != ncclInProgress;
    };
    if (!poll_until(ended, limit_)) { fail_late(call, limit_); }
    if (code != ncclSuccess) { fail(code, call); }
  }

  [[noreturn]] void fail_late(std::string const& what, std::chrono::duration<double> limit) const {
    abort();
    throw nccl_error(ncclInProgress, what + " did not end within " +
                                         stats::number_text(limit.count()) + " s on rank " +
                                         std::to_string(rank_) + ", a rank may be missing");
  }

  [[noreturn]] void fail(ncclResult_t code, char const* call) const {
    nccl_error const error{code, std::string{call} + " on rank " + std::to_string(rank_)};
    abort();
    throw error;
  }

  /// Ends all work of the communicator and gives up its resources.
  void abort() const noexcept {
    for (auto** const each : {&worker_, &joined_}) {
      if (*each != nullptr) { (void)ncclCommAbort(std::exchange(*each, nullptr)); }
    }
  }

  void require_alive() const {
    if (worker_ == nullptr) {
      throw std::logic_error("a communicator of NCCL is used after a failure or a move");
    }
  }

  on::device place_;
  std::chrono::duration<double> limit_;
  int rank_, ranks_;
  int unwinding_ = std::uncaught_exceptions();
  mutable ncclComm_t joined_ = nullptr;  ///< does not block, and runs no operation
  mutable ncclComm_t worker_ = nullptr;  ///< a part of `joined_` with the same ranks
};

static_assert(collective<nccl>);

}  // namespace assay::comm
