// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to referee.cuh: candidates that enqueue work on a stream of a device.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/core/device.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/machine/ceiling.hpp>
#include <assay/machine/stream_latch.cuh>
#include <assay/measure/device_watch.hpp>
#include <assay/measure/subject.hpp>
#include <assay/referee/candidate_place.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace assay::referee_detail {

/// Adds a number for each word of an array, which depends on the word and its place from `first`
/// on. `last` are the bits of the last word that count.
template <class Word>
__global__ void sum_words(Word const* from, std::uint64_t count, Word last, std::uint64_t first,
                          Word* sum) {
  __shared__ Word of_block;
  if (threadIdx.x == 0) { of_block = 0; }
  __syncthreads();
  Word own = 0;
  for (auto const i : kernel::grid_stride(count)) {
    own += random_draw{i + 1 < count ? from[i] : from[i] & last, first + i}.bits;
  }
  for (unsigned apart = 16; apart > 0; apart /= 2) {
    own += __shfl_xor_sync(0xFFFF'FFFFU, own, apart);
  }
  if (threadIdx.x % 32 == 0) { atomicAdd(&of_block, own); }
  __syncthreads();
  if (threadIdx.x == 0) { atomicAdd(sum, of_block); }  // one of each block: they go one by one
}

/// Dense operations of the tensor cores of an SM in a clock, at the narrowest type; 0: not known.
///
/// From the published peak rates of boards, by rate / SMs / boost clock: A100 1,248 TOP/s of
/// int4 / 108 / 1.41 GHz; RTX 4090 1,321 TOP/s of int4 / 128 / 2.52 GHz; H100 1,979 TFLOP/s of fp8
/// / 132 / 1.83 GHz; B200 9 PFLOP/s of fp4 / 148 / 1.86 GHz; RTX 5090 1,676 TFLOP/s of fp4 / 170
/// / 2.41 GHz.
constexpr double flops_per_clock(int capability) noexcept {
  switch (capability) {
    case 80:
    case 90:
      return 8192;
    case 89:
    case 120:
      return 4096;
    case 100:
      return 32768;
    default:
      return 0;
  }
}

/// Candidates on one device. Their stream is `stream()`; the referee looks through another one.
class device_candidate_place final : public candidate_place {
 public:
  explicit device_candidate_place(on::device place)
      : place_(required(place)), stream_(place), inspection_(place), latch_(held_seconds) {
    void* block = nullptr;
    check(cudaMalloc(&block, sizeof(word)));
    sum_.reset(static_cast<word*>(block));
    check(cudaMemsetAsync(block, 0, sizeof(word), stream_.get()));
    check(cudaMallocHost(&block, sizeof(word)));
    total_.reset(static_cast<word*>(block));
    *total_ = 0;
    latch_.hold(stream_);  // loads its kernel, which must not happen behind a held stream
    latch_.open();
    stream_.synchronize();
  }

  std::unique_ptr<arrays::array_store> make_store(std::uint64_t seed) override {
    return std::make_unique<arrays::device_array_store>(place_, inspection_, seed);
  }
  measure::clock decides() const override { return measure::clock::gpu; }
  void* stream() override { return stream_.get(); }
  void drain() override { stream_.synchronize(); }
  void settle(double seconds) override {
    candidate_place::settle(seconds);
    check(cudaDeviceSynchronize());
  }
  std::uint64_t checksum(std::span<array_memory const> of) override { return sum(of, inspection_); }
  std::uint64_t sampled_checksum(std::span<array_memory const> of, std::uint64_t) override {
    return sum(of, stream_);
  }
  /// Two events enclose the calls, which wait in the held stream until all are enqueued. The stream
  /// is not held once calls of three runs in turn waited for the device, as the first launch of a
  /// kernel may.
  measure::cell run(std::vector<stream_call> const& calls) override {
    using std::chrono::steady_clock;
    auto const count = static_cast<double>(calls.size());
    auto const since = [](steady_clock::time_point begin) {
      return std::chrono::duration<double>(steady_clock::now() - begin).count();
    };
    measure::cell mean;
    bool const holds = waits_ < 3;
    if (holds) { latch_.hold(stream_); }
    auto const first = steady_clock::now();
    begin_.record(stream_);
    auto const enqueueing = steady_clock::now();
    for (auto const& each : calls) { each(stream_.get()); }
    mean[measure::clock::submit] = since(enqueueing) / count;
    end_.record(stream_);
    if (holds) { latch_.open(); }
    stream_.synchronize();
    mean[measure::clock::wall] = since(first) / count;
    mean[measure::clock::gpu] = end_.seconds_since(begin_) / count;
    check_launches();
    if (holds) {
      bool const waited = latch_.gave_way();
      waits_ = waited ? waits_ + 1 : 0;
      if (waited) { mean.disturbance = "its calls took more than 50 ms to enqueue"; }
    }
    look_for_escaped_work();
    return mean;
  }
  std::size_t most_bytes() const override { return std::size_t{1} << 30U; }
  /// A device moves data that its L2 cache has room for faster than its memory can be copied; by
  /// less than four times on all devices so far.
  machine::ceiling bytes_ceiling(double moved) override {
    auto most = measure::device_ceilings(place_).front();
    bool const cached = moved < 2.0 * attribute(place_, cudaDevAttrL2CacheSize);
    most.per_second *= cached ? 4 : 1.1;
    return most;
  }
  /// Boards run faster than their rated clock, by less than 1.3 times: an RTX 4090 reaches 1.25.
  std::optional<machine::ceiling> flops_ceiling() override {
    constexpr double hertz_of_attribute = 1e3, most_clock = 1.3;
    int const capability = 10 * attribute(place_, cudaDevAttrComputeCapabilityMajor) +
                           attribute(place_, cudaDevAttrComputeCapabilityMinor);
    double const most = flops_per_clock(capability) *
                        attribute(place_, cudaDevAttrMultiProcessorCount) * hertz_of_attribute *
                        attribute(place_, cudaDevAttrClockRate) * most_clock;
    if (most <= 0) { return {}; }
    return machine::ceiling{"tensor cores at 1.3 times the rated clock", most,
                            machine::ceiling::unit::flops};
  }
  std::uint64_t device_bytes() override {
    std::size_t free = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&free, &all));
    return all - free;
  }
  void describe(std::map<std::string, std::string>& to) override {
    int current = -1;
    check(cudaGetDevice(&current));
    to["current device"] = std::to_string(current);
    unsigned flags = 0;
    check(cudaGetDeviceFlags(&flags));
    flags &= ~unsigned{cudaDeviceLmemResizeToMax};  // the runtime sets it for a graph
    to["device flags"] = std::to_string(flags);
    for (auto const which : {cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize,
                             cudaLimitPersistingL2CacheSize, cudaLimitMaxL2FetchGranularity}) {
      std::size_t limit = 0;
      check(cudaDeviceGetLimit(&limit, which));
      to["device limit " + std::to_string(static_cast<int>(which))] = std::to_string(limit);
    }
  }
  std::optional<bool> works_while_held(stream_call const& call,
                                       std::function<std::uint64_t()> const& changes) override {
    auto const before = changes();
    latch_.hold(stream_);
    std::uint64_t during = before;
    std::exception_ptr failure;
    try {
      call(stream_.get());
      std::this_thread::sleep_for(std::chrono::milliseconds{3});  // 60 times a call of 50 us
      during = changes();
    } catch (...) { failure = std::current_exception(); }
    latch_.open();
    stream_.synchronize();
    if (failure) { std::rethrow_exception(failure); }
    if (latch_.gave_way()) { return {}; }  // the call waited for the device
    return during != before;
  }

 private:
  static constexpr double held_seconds = 0.05;
  using word = unsigned long long;

  struct free_device {
    void operator()(void* block) const noexcept { check_noexcept(cudaFree(block)); }
  };
  struct free_pinned {
    void operator()(void* block) const noexcept { check_noexcept(cudaFreeHost(block)); }
  };

  static on::device required(on::device place) {
    require_device(place);
    check(cudaSetDevice(place.id));
    return place;
  }

  /// Throws where the device still runs when the stream has drained, three times in turn: a thread
  /// of the host may lose its processor during one wait for the device.
  void look_for_escaped_work() {
    using std::chrono::steady_clock;
    auto const begin = steady_clock::now();
    check(cudaDeviceSynchronize());
    auto const drained = steady_clock::now();
    check(cudaDeviceSynchronize());
    bool const is_long =
        drained - begin > std::chrono::microseconds{100} + 10 * (steady_clock::now() - drained);
    escapes_ = is_long ? escapes_ + 1 : 0;
    if (escapes_ == 3) {
      throw escaped("work that it enqueued on other streams still ran when its stream had drained");
    }
  }

  /// The sum of all arrays, by one wait. Behind the end of an array lies a red zone, so its last
  /// word may be read there.
  std::uint64_t sum(std::span<array_memory const> of, assay::stream const& on) {
    device_guard const guard{place_};
    auto const run = sum_words<word>;
    std::uint64_t first = 0;
    for (auto const& [data, size] : of) {
      auto const count = std::uint64_t{(size + sizeof(word) - 1) / sizeof(word)};
      if (count == 0) { continue; }
      auto const last = ~word{0} >> 8U * (count * sizeof(word) - size);
      kernel::launch(run, kernel::stride_shape(run, place_, count, 256), 0, on,
                     static_cast<word const*>(data), count, last, first, sum_.get());
      first += count;
    }
    auto const before = *total_;
    check(
        cudaMemcpyAsync(total_.get(), sum_.get(), sizeof(word), cudaMemcpyDeviceToHost, on.get()));
    on.synchronize();
    return *total_ - before;
  }

  on::device place_;
  assay::stream stream_, inspection_;
  machine::stream_latch<> latch_;
  event begin_{event::kind::timed}, end_{event::kind::timed};
  std::unique_ptr<word, free_device> sum_;    ///< of all words so far
  std::unique_ptr<word, free_pinned> total_;  ///< the same, as the host saw it last
  int waits_ = 0;                             ///< successive runs whose calls waited for the device
  int escapes_ = 0;                           ///< successive cells after which the device still ran
};

}  // namespace assay::referee_detail
