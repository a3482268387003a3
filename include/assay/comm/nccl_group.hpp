// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nccl_group`: NCCL's communicators, memory and errors. No header but this one and `nccl.hpp`
/// includes NCCL.
#pragma once

#include <assay/comm/environment.hpp>
#include <assay/core/stream.hpp>

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::comm {

/// A call of NCCL that failed: `what()` names the call, the rank, NCCL's text, and what to do.
class nccl_error : public std::runtime_error {
 public:
  nccl_error(ncclResult_t code, std::string const& call, std::string const& who,
             std::string const& detail)
      : std::runtime_error(call + " " + who + ": " + ncclGetErrorString(code) +
                           (detail.empty() ? "" : " (" + detail + ")") + "; " + remedy(code)),
        code_(code) {}

  ncclResult_t code() const noexcept { return code_; }

 private:
  static std::string remedy(ncclResult_t code) {
    switch (code) {
      case ncclInvalidArgument:
      case ncclInvalidUsage:
        return "every rank must name the same count, type and operation, one device each; "
               "NCCL_DEBUG=WARN tells more";
      case ncclSystemError:
      case ncclRemoteError:
        return "see whether all ranks live and reach each other (NCCL_COMM_ID, "
               "NCCL_SOCKET_IFNAME); NCCL_DEBUG=INFO tells more";
      case ncclInProgress:
        return "see whether all ranks were started and call alike; the communicator is lost";
      default:
        return "NCCL_DEBUG=INFO tells more";
    }
  }

  ncclResult_t code_;
};

/// The options of `nccl`.
struct nccl_options {
  bool symmetric = false;  ///< `allocate` gives windows of the communicator (NCCL 2.27 or newer)
  /// The bound of `synchronize`, and of all calls where they do not block. The rank's communicator
  /// is aborted at its end.
  double timeout_seconds = 60;
  /// False: the timeout also bounds the meeting of the ranks. NCCL then enqueues on a thread of its
  /// own, and each call waits for that thread.
  bool blocking = true;
  bool operator==(nccl_options const&) const = default;
};

namespace detail {

/// The communicators of this process's ranks, `first` and those after it.
class nccl_group {
 public:
  /// Blocks until all ranks have come; they meet at `meeting` where it is given.
  nccl_group(int ranks, int first, std::vector<on::device> devices, nccl_options how,
             std::optional<std::string> const& meeting)
      : ranks_(ranks), first_(first), devices_(std::move(devices)), how_(how) {
    if (!(how_.timeout_seconds > 0)) {
      throw std::invalid_argument("nccl_options.timeout_seconds is " +
                                  std::to_string(how_.timeout_seconds) + ", but must be positive");
    }
    without_multicast const no_multicast;
    scoped_variable const address{"NCCL_COMM_ID", meeting};
    ncclUniqueId id;
    require(ncclGetUniqueId(&id), "ncclGetUniqueId", first);
    comms_.assign(devices_.size(), nullptr);
    try {
      grouped("ncclCommInitRankConfig", [&](int rank, std::size_t i) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = how_.blocking ? 1 : 0;
        return ncclCommInitRankConfig(&comms_[i], ranks_, id, rank, &config);
      });
    } catch (...) {
      destroy();
      throw;
    }
  }
  nccl_group(nccl_group const&) = delete;
  nccl_group& operator=(nccl_group const&) = delete;
  ~nccl_group() { destroy(); }

  int ranks() const noexcept { return ranks_; }
  int first() const noexcept { return first_; }
  int count() const noexcept { return static_cast<int>(devices_.size()); }
  on::device device(int rank) const { return devices_[index(rank)]; }
  nccl_options const& how() const noexcept { return how_; }

  /// The rank's communicator, unless a failure has ended it.
  ncclComm_t comm(int rank) const {
    auto* const found = comms_[index(rank)];
    if (found != nullptr && !failed_.load(std::memory_order_relaxed)) { return found; }
    throw std::logic_error("comm::nccl was aborted after an error: make a new one");
  }

  /// Throws unless the call of `rank` worked, waiting where it is still under way.
  void settle(ncclResult_t code, char const* call, int rank) {
    if (code == ncclSuccess) { return; }
    auto const deadline = std::chrono::steady_clock::now() + timeout();
    while (code == ncclInProgress && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      require(ncclCommGetAsyncError(comms_[index(rank)], &code), "ncclCommGetAsyncError", rank);
    }
    if (code != ncclSuccess) { fail(code, call, rank); }
  }

  /// Makes a group of calls, `make(rank, i)` for each rank of this process, on its device.
  template <class Make>
  void grouped(char const* call, Make const& make) {
    require(ncclGroupStart(), "ncclGroupStart", first_);
    ncclResult_t code = ncclSuccess;
    int rank = first_;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      device_guard const guard{devices_[i]};
      rank = first_ + static_cast<int>(i);
      code = make(rank, i);
      if (code != ncclSuccess && code != ncclInProgress) { break; }
    }
    // Also after a failure, since an open group would take in the next calls of this thread.
    auto const ended = ncclGroupEnd();
    if (code != ncclSuccess && code != ncclInProgress) { fail(code, call, rank); }
    if (ended != ncclSuccess && ended != ncclInProgress) { fail(ended, call, first_); }
    for (int i = 0; ended == ncclInProgress && i < count(); ++i) {
      settle(ended, call, first_ + i);
    }
  }

  /// Throws unless a call that has nothing to do with a communicator's state worked.
  void require(ncclResult_t code, char const* call, int rank) const {
    if (code == ncclSuccess) { return; }
    throw nccl_error{code, call, of(rank), ncclGetLastError(nullptr)};
  }

  /// Waits for `stream`, and watches the rank's communicator for errors meanwhile.
  void synchronize(int rank, ::cuda::stream_ref stream) {
    auto const deadline = std::chrono::steady_clock::now() + timeout();
    for (;;) {
      auto const found = cudaStreamQuery(stream.get());
      if (found == cudaSuccess) { return; }
      if (found != cudaErrorNotReady) { check(found); }
      if (failed_.load(std::memory_order_relaxed)) { fail(ncclRemoteError, "all-reduce", rank); }
      ncclResult_t code = ncclSuccess;
      require(ncclCommGetAsyncError(comm(rank), &code), "ncclCommGetAsyncError", rank);
      if (code != ncclSuccess && code != ncclInProgress) { fail(code, "all-reduce", rank); }
      if (std::chrono::steady_clock::now() > deadline) {
        fail(ncclInProgress, "all-reduce was not done in time", rank);
      }
      std::this_thread::yield();
    }
  }

 private:
  std::chrono::duration<double> timeout() const {
    return std::chrono::duration<double>{how_.timeout_seconds};
  }

  std::size_t index(int rank) const {
    if (rank >= first_ && rank < first_ + count()) {
      return static_cast<std::size_t>(rank - first_);
    }
    throw std::invalid_argument("rank " + std::to_string(rank) + " is not of this process, which " +
                                "has " + std::to_string(count()) + " from " +
                                std::to_string(first_) + " of " + std::to_string(ranks_));
  }

  std::string of(int rank) const {
    return "on rank " + std::to_string(rank) + " of " + std::to_string(ranks_);
  }

  /// Aborts the rank's communicator with its work on the device, and throws. Other ranks of this
  /// process abort their communicators at their next call.
  [[noreturn]] void fail(ncclResult_t code, char const* call, int rank) {
    failed_.store(true, std::memory_order_relaxed);
    std::string const detail = ncclGetLastError(nullptr);
    if (auto* const lost = std::exchange(comms_[index(rank)], nullptr)) {
      (void)ncclCommAbort(lost);
    }
    throw nccl_error{code, call, of(rank), detail};
  }

  /// Destroys the communicators, or aborts them after an error: ranks of one machine must destroy
  /// together (NCCL's documentation), and after an error the others may never come to this.
  void destroy() noexcept {
    bool const alone =
        failed_.load(std::memory_order_relaxed) || std::uncaught_exceptions() > unwinding_;
    for (auto*& each : comms_) {
      if (each == nullptr) { continue; }
      (void)(alone ? ncclCommAbort(each) : ncclCommDestroy(each));
      each = nullptr;
    }
  }

  int ranks_;
  int first_;
  std::vector<on::device> devices_;
  nccl_options how_;
  std::vector<ncclComm_t> comms_;
  std::atomic<bool> failed_ = false;
  int unwinding_ = std::uncaught_exceptions();  ///< at construction
};

}  // namespace detail

/// Device memory from NCCL's allocator for each rank of this process; windows of the communicator
/// with `nccl_options::symmetric`. Keeps the communicator alive. Work that uses the memory must
/// have ended before its destructor.
class nccl_memory {
 public:
  nccl_memory(std::shared_ptr<detail::nccl_group> of, std::size_t bytes) : of_(std::move(of)) {
    blocks_.resize(static_cast<std::size_t>(of_->count()));
    try {
      for (int i = 0; i < of_->count(); ++i) { allocate(i, bytes); }
      if (of_->how().symmetric) { enter_windows(bytes); }
    } catch (...) {
      release();
      throw;
    }
  }
  nccl_memory(nccl_memory&&) noexcept = default;
  nccl_memory& operator=(nccl_memory&&) = delete;
  ~nccl_memory() {
    if (of_) { release(); }
  }

  void* data(int rank) const {
    return blocks_.at(static_cast<std::size_t>(rank - of_->first())).at;
  }

 private:
  struct block {
    void* at = nullptr;
    ncclWindow_t window = nullptr;
  };

  void allocate(int i, std::size_t bytes) {
    auto const rank = of_->first() + i;
    device_guard const guard{of_->device(rank)};
    of_->require(ncclMemAlloc(&blocks_[static_cast<std::size_t>(i)].at, bytes), "ncclMemAlloc",
                 rank);
  }

  /// Registers windows, together with all ranks of all processes. NCCL's allocator uses larger
  /// pages than the rounding, so the rounded size stays inside the memory.
  void enter_windows(std::size_t bytes) {
    constexpr std::size_t step = NCCL_WIN_REQUIRED_ALIGNMENT;
    auto const rounded = (bytes + step - 1) / step * step;
    (void)of_->comm(of_->first());  // throws after a failure, which it must not inside the group
    of_->grouped("ncclCommWindowRegister", [&](int rank, std::size_t i) {
      return ncclCommWindowRegister(of_->comm(rank), blocks_[i].at, rounded, &blocks_[i].window,
                                    NCCL_WIN_COLL_SYMMETRIC);
    });
  }

  void release() noexcept {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].at == nullptr) { continue; }
      auto const rank = of_->first() + static_cast<int>(i);
      try {
        device_guard const guard{of_->device(rank)};
        if (blocks_[i].window != nullptr) {
          of_->settle(ncclCommWindowDeregister(of_->comm(rank), blocks_[i].window),
                      "ncclCommWindowDeregister", rank);
        }
      } catch (...) {  // an aborted communicator has given its windows back
      }
      (void)ncclMemFree(blocks_[i].at);
    }
    blocks_.clear();
  }

  std::shared_ptr<detail::nccl_group> of_;
  std::vector<block> blocks_;
};

}  // namespace assay::comm
