// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cupti_session`: switches CUPTI's activity records on, reads them, and switches them off.
/// Internal to recorder.hpp.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/range_log.hpp>
#include <assay/cupti/api.hpp>
#include <assay/cupti/reader.hpp>
#include <assay/cupti/record_buffers.hpp>
#include <assay/cupti/recorder_options.hpp>
#include <assay/trace/glob.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>

#include <cuda_runtime_api.h>
#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::trace {

/// The state of recording CUDA; if CUDA is not recorded, the reason.
struct recorder_status {
  enum class kind { idle, recording, no_library, other_tool, no_driver, too_old, failed };
  kind what = kind::idle;
  std::string text;  ///< one line for people; names the other tool
  bool operator==(recorder_status const&) const = default;
};

/// One session of CUPTI's activity records. CUPTI has one client in a process, so `recorder` makes
/// one session at a time.
///
/// A thread of the session reads records and takes no lock while it calls CUPTI. The buffers belong
/// to the process and are never freed, since CUPTI may return one at any time until exit.
class cupti_session {
 public:
  cupti_session(recorder_options const& options, cupti_api const& api, std::int64_t epoch_ns)
      : options_(options), api_(api), epoch_ns_(epoch_ns) {}
  cupti_session(cupti_session const&) = delete;
  cupti_session& operator=(cupti_session const&) = delete;
  ~cupti_session() {
    try {
      if (reading_.joinable()) { (void)stop({}); }
    } catch (...) {  // the trace is discarded, and so is its failure
    }
    // start() or stop() may have thrown half-way.
    if (!subscribed_) { return; }
    (void)api_->unsubscribe(subscriber_);
    buffers().close();
    if (reading_.joinable()) { reading_.join(); }
  }

  /// Switches on the records that the options ask for. Records that a device or library lacks are
  /// left out, with a note.
  recorder_status start() {
    if (auto refused = subscribe(); refused.what != recorder_status::kind::recording) {
      return refused;
    }
    subscribed_ = true;
    buffers().open();
    try_to("number threads as the system does",
           api_->set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    try_to("take cleared buffers",
           api_->activity_set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
                                        &zeroed));
    auto const registered = api_->activity_register_callbacks(&requested, &completed);
    if (registered != CUPTI_SUCCESS) {
      return {recorder_status::kind::failed, describe(api_, registered)};
    }
    reader_.emplace(
        epoch_ns_,
        [api = api_](CUpti_CallbackDomain domain, CUpti_CallbackId id) -> char const* {
          char const* name = nullptr;
          return api->callback_name(domain, id, &name) == CUPTI_SUCCESS ? name : nullptr;
        },
        options_.most_rows);
    ++sessions_;
    reading_ = std::thread{[this] { read(); }};
    enable_kinds();
    if (enabled_.empty()) {
      (void)stop({});
      return {recorder_status::kind::failed,
              problems_.empty() ? "nothing was asked for" : problems_.front()};
    }
    return {recorder_status::kind::recording, {}};
  }

  /// Ends the recording of calls, waits for the devices by `synchronize()`, and gives the trace of
  /// `window` (since the epoch) with its notes.
  model stop(span window, std::function<void()> const& synchronize = [] {}) {
    stopping_ = true;
    for (auto const kind : enabled_) {
      if (!of_device(kind)) { api_->activity_disable(kind); }
    }
    synchronize();
    try_to("flush", api_->activity_flush_all(1));
    for (auto const kind : enabled_) {
      if (of_device(kind)) { api_->activity_disable(kind); }
    }
    std::size_t dropped = 0;
    (void)api_->activity_dropped_records(nullptr, 0, &dropped);
    (void)api_->unsubscribe(subscriber_);
    buffers().close();
    reading_.join();
    subscribed_ = false;
    reader_->drop(dropped);
    auto made = reader_->finish(window, system_clock_ns() - epoch_ns_, options_.runtime_calls);
    note(made);
    reader_.reset();
    return made;
  }

 private:
  static record_buffers& buffers() {
    static auto* const only = new record_buffers;
    return *only;
  }
  static void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *buffer = buffers().request(*size);
    *records = 0;  // as many as fit
  }
  static void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size,
                                 std::size_t valid) {
    buffers().complete(buffer, size, valid);
  }
  static void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {}

  static bool of_device(CUpti_ActivityKind kind) noexcept {
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
           kind == CUPTI_ACTIVITY_KIND_MEMCPY2 || kind == CUPTI_ACTIVITY_KIND_MEMSET ||
           kind == CUPTI_ACTIVITY_KIND_CONTEXT || kind == CUPTI_ACTIVITY_KIND_DEVICE;
  }

  recorder_status subscribe() {
    if (!api_.available()) { return {recorder_status::kind::no_library, api_.why_missing()}; }
    std::uint32_t version = 0;
    if (auto const code = api_->version(&version); code != CUPTI_SUCCESS) {
      return {recorder_status::kind::failed, describe(api_, code)};
    }
    version_ = version;
    if (version < cupti::least_version) {
      return {
          recorder_status::kind::too_old,
          concat({"CUPTI ", std::to_string(version), " was loaded, ",
                  std::to_string(cupti::least_version),
                  " or newer is needed: put the CUDA 13 toolkit's library first on the loader's "
                  "path"})};
    }
    // Nsight Systems, Nsight Compute and other injected tools set these variables.
    for (auto const* variable : {"NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
                                 "CUDA_INJECTION64_PATH", "NSYSDK_INJECTION64_PATH"}) {
      if (std::getenv(variable) != nullptr) {
        return {recorder_status::kind::other_tool,
                concat({"a tool is injected into this process (", variable,
                        " is set), and has the trace"})};
      }
    }
    std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> other{};
    CUpti_SubscriberParams who{};
    who.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    who.subscriberName = "assay";
    who.oldSubscriberName = other.data();
    who.oldSubscriberSize = other.size();
    auto const code = api_->subscribe(&subscriber_, &ignore, nullptr, &who);
    if (code == CUPTI_SUCCESS) { return {recorder_status::kind::recording, {}}; }
    if (code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
      other.back() = 0;
      std::string const name = other.front() != 0 ? other.data() : "another tool";
      return {recorder_status::kind::other_tool, name + " traces this process, and has the trace"};
    }
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
      (void)cudaGetLastError();
      return {recorder_status::kind::no_driver, "no CUDA driver on this machine"};
    }
    return {recorder_status::kind::failed, describe(api_, code)};
  }

  bool try_to(std::string_view what, CUptiResult code) {
    if (code != CUPTI_SUCCESS) {
      problems_.push_back(concat({"cannot ", what, ": ", describe(api_, code)}));
    }
    return code == CUPTI_SUCCESS;
  }

  void enable_kinds() {
    auto const on = [&](bool wanted, char const* what, CUpti_ActivityKind kind, bool dump = false) {
      if (!wanted) { return; }
      auto const code = dump ? api_->activity_enable_and_dump(kind) : api_->activity_enable(kind);
      if (try_to(std::string{"record "} + what, code)) { enabled_.push_back(kind); }
    };
    bool const device_work = options_.kernels || options_.copies || options_.memsets;
    on(device_work, "devices", CUPTI_ACTIVITY_KIND_DEVICE, true);
    on(device_work || options_.synchronizations, "contexts", CUPTI_ACTIVITY_KIND_CONTEXT, true);
    on(options_.kernels, "kernels", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    on(options_.copies, "copies", CUPTI_ACTIVITY_KIND_MEMCPY);
    on(options_.copies, "copies between devices", CUPTI_ACTIVITY_KIND_MEMCPY2);
    on(options_.memsets, "sets", CUPTI_ACTIVITY_KIND_MEMSET);
    on(options_.synchronizations, "synchronisations", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    on(options_.memory, "allocations", CUPTI_ACTIVITY_KIND_MEMORY2);
    on(options_.overheads, "overheads", CUPTI_ACTIVITY_KIND_OVERHEAD);
    on(options_.runtime_calls, "runtime calls", CUPTI_ACTIVITY_KIND_RUNTIME);
    on(options_.driver_calls, "driver calls", CUPTI_ACTIVITY_KIND_DRIVER);
    if (options_.runtime_calls) {
      ignore_calls(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
                   api_->activity_enable_runtime_api);
    }
    if (options_.driver_calls) {
      ignore_calls(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE,
                   api_->activity_enable_driver_api);
    }
  }

  /// `cudaGetDevice` for `cudaGetDevice_v3020` and `cudaGetDevice_ptsz_v7000`.
  static std::string_view unversioned(std::string_view name) {
    name = plain_name(name);
    for (std::string_view const per_thread_stream : {"_ptsz", "_ptds"}) {
      if (name.ends_with(per_thread_stream)) { name.remove_suffix(per_thread_stream.size()); }
    }
    return plain_name(name);
  }
  void ignore_calls(CUpti_CallbackDomain domain, unsigned end,
                    CUptiResult (*switch_call)(CUpti_CallbackId, std::uint8_t)) {
    glob const queries{query_calls, glob_scope::whole};
    for (CUpti_CallbackId id = 1; id < end; ++id) {
      char const* name = nullptr;
      if (api_->callback_name(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) { continue; }
      // A call that cannot be switched off only adds a row.
      if (queries.matches(unversioned(name))) { switch_call(id, 0); }
    }
  }

  void read() noexcept {
    constexpr std::chrono::seconds patience{1};
    while (auto const filled = buffers().next(patience)) {
      if (filled->data == nullptr) {  // buffers that are not yet full are read
        if (!stopping_) { (void)api_->activity_flush_all(0); }
        continue;
      }
      try {
        read(*filled);
      } catch (std::exception const&) { out_of_memory_ = true; }
      try {
        buffers().recycle(*filled);
      } catch (std::exception const&) { out_of_memory_ = true; }
    }
  }
  void read(record_buffers::filled const& from) {
    CUpti_Activity* record = nullptr;
    for (;;) {
      auto const code = api_->activity_next_record(from.data, from.valid, &record);
      if (code == CUPTI_ERROR_MAX_LIMIT_REACHED) { return; }
      if (code != CUPTI_SUCCESS || record == nullptr) {  // one that was never finished
        ++cut_short_;
        return;
      }
      if (from.dropped() || out_of_memory_) {
        reader_->drop(*record);
      } else {
        reader_->read(*record);
      }
    }
  }

  void note(model& made) const {
    made.source = "assay recorder, CUPTI " + std::to_string(version_);
    for (auto const& problem : problems_) { made.notes.emplace_back("CUPTI", problem); }
    auto const counts = buffers().counts();
    made.notes.emplace_back(
        "buffers", concat({std::to_string(counts.requested), " of ",
                           std::to_string(buffers().limits().buffer_bytes), " bytes, at most ",
                           std::to_string(counts.peak_bytes), " bytes at a time"}));
    auto const say = [&](char const* what, std::uint64_t count) {
      if (count != 0) { made.notes.emplace_back(what, std::to_string(count)); }
    };
    say("buffers beyond the limit, their records dropped", counts.overflowed);
    say("buffers that ended in an unfinished record", cut_short_);
    if (out_of_memory_) { made.notes.emplace_back("CUPTI", "no memory for all records"); }
    // A known fault, mended in 13.1 Update 1.
    constexpr std::uint32_t mended = 130101;
    auto const of_graph = [](kernel_run const& run) { return run.where.graph_node != 0; };
    if (sessions_ > 1 && version_ < mended &&
        std::any_of(made.kernels.begin(), made.kernels.end(), of_graph)) {
      made.notes.emplace_back("graphs",
                              "this CUPTI misnumbers the launches of graphs in all recordings of a "
                              "process but the first: which call launched a graph may be wrong");
    }
    // The driver's copy kernel in graphs. CUPTI reported it as a kernel when threads captured and
    // instantiated graphs at the same time.
    say("copies of graphs that CUPTI took for kernels, memcpy32_post",
        static_cast<std::uint64_t>(
            std::count_if(made.kernels.begin(), made.kernels.end(), [&](kernel_run const& run) {
              return of_graph(run) && made.strings[run.short_name] == "memcpy32_post";
            })));
  }

  static inline constinit std::atomic<int> sessions_{0};

  recorder_options options_;
  cupti_api api_;
  std::int64_t epoch_ns_;
  std::uint32_t version_ = 0;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool subscribed_ = false;
  std::vector<CUpti_ActivityKind> enabled_;
  std::vector<std::string> problems_;
  std::optional<cupti_reader> reader_;  // the reading thread's between start and its end
  std::uint64_t cut_short_ = 0;
  bool out_of_memory_ = false;
  std::atomic<bool> stopping_{false};
  std::thread reading_;
};

}  // namespace assay::trace
