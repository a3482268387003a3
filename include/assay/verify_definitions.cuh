// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify.cuh: calls on streams.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/core/device.hpp>
#include <assay/core/stream.hpp>
#include <assay/machine/stream_latch.cuh>
#include <assay/verify.cuh>
#include <assay/verify/call_place.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace assay {
namespace verify_detail {

/// A graph that was recorded from a stream, and can be run.
class recorded_graph {
 public:
  explicit recorded_graph(cudaGraph_t from) { check(cudaGraphInstantiate(&handle_, from)); }
  recorded_graph(recorded_graph const&) = delete;
  recorded_graph& operator=(recorded_graph const&) = delete;
  ~recorded_graph() { check_noexcept(cudaGraphExecDestroy(handle_)); }
  void launch(stream const& on) const { check(cudaGraphLaunch(handle_, on.get())); }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

/// Streams of one device. Arrays have a stream of their own, and all work of the device is
/// complete before they are looked at.
class device_place final : public call_place {
 public:
  explicit device_place(on::device which)
      : place_(which), guard_(which), arrays_(which), one_(which), two_(which) {}

  std::unique_ptr<arrays::array_store> make_store() override {
    return std::make_unique<arrays::device_array_store>(place_, arrays_, 0);
  }

  void call(callables::work const& what) override {
    enqueue(what, one_);
    one_.synchronize();
  }

  /// A call that waits for its stream cannot be recorded.
  std::optional<std::function<void()>> record(callables::work const& what) override {
    check(cudaStreamBeginCapture(one_.get(), cudaStreamCaptureModeRelaxed));
    bool threw = false;
    try {
      what(one_.get());
    } catch (...) { threw = true; }
    cudaGraph_t graph = nullptr;
    auto const code = cudaStreamEndCapture(one_.get(), &graph);
    (void)cudaGetLastError();  // of calls that a capture does not permit
    auto const destroy = [](CUgraph_st* each) { check_noexcept(cudaGraphDestroy(each)); };
    std::unique_ptr<CUgraph_st, decltype(destroy)> const owned{graph, destroy};
    check(cudaDeviceSynchronize());  // work outside the stream has changed its arrays by now
    if (threw || code != cudaSuccess) { return {}; }
    auto const ready = std::make_shared<recorded_graph>(graph);
    return [this, ready] {
      ready->launch(one_);
      one_.synchronize();
    };
  }

  bool call_both(callables::work const& a, callables::work const& b) override {
    // A call that waits for its stream would wait for ever, so the latch gives way.
    constexpr double held_at_most = 0.05;
    machine::stream_latch<> latch{held_at_most};
    latch.hold(one_);
    latch.hold(two_);
    std::exception_ptr failure;
    try {
      enqueue(a, one_);
      enqueue(b, two_);
    } catch (...) { failure = std::current_exception(); }
    latch.open();
    one_.synchronize();  // the held streams read the latch until then
    two_.synchronize();
    if (failure) { std::rethrow_exception(failure); }
    return true;
  }

  bool is_alive() override {
    (void)cudaGetLastError();
    return cudaDeviceSynchronize() == cudaSuccess;
  }

 private:
  static void enqueue(callables::work const& what, stream const& on) {
    what(on.get());
    check_launches();
  }

  on::device place_;
  device_guard guard_;
  stream arrays_, one_, two_;
};

inline std::unique_ptr<call_place> make_device_place(verify_options const& chosen) {
  auto which = chosen.place.value_or(on::device{});
  require_device(which);
  if (!chosen.place) { check(cudaGetDevice(&which.id)); }
  return std::make_unique<device_place>(which);
}
ASSAY_INLINE place launches() noexcept { return {make_device_place}; }

}  // namespace verify_detail
}  // namespace assay
