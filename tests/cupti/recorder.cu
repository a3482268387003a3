// assay-uses: cupti

// SPDX-License-Identifier: Apache-2.0
// What the recorder says of work whose every launch is known.
#include "catch.hpp"

#include <assay/core/nvtx_range.hpp>
#include <assay/core/ptx.cuh>
#include <assay/core/stream.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/rig.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/trace/graph_replays.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transformer/op_scope.hpp>
#include <assay/workload/vector_add.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::kernel {

template <class T>
__global__ void traced_nothing(T) {}

/// Kernels that a trace tells apart.
template <int Number, class T>
__global__ void traced_numbered(T) {}

/// Runs for a given time by the device's own clock.
template <class T>
__global__ void traced_spin(T nanoseconds) {
  auto const begin = ::cuda::ptx::get_sreg_globaltimer();
  while (::cuda::ptx::get_sreg_globaltimer() - begin < nanoseconds) {}
}

}  // namespace assay::kernel

using namespace assay;
using trace::model;
using trace::recorder;
using trace::recorder_options;
using trace::recorder_status;

namespace {

using memory_type = resource_of<mr::async, on::device>;
using lane_type = lane<on::device, ::cuda::stream_ref, memory_type>;

/// Whether traces can be had here: not under a sanitizer or another tool, which the recorder must
/// then say.
bool can_record() {
  static bool const can = [] {
    recorder tracer;
    tracer.start();
    auto const status = tracer.status();
    (void)tracer.stop();
    if (status.what == recorder_status::kind::recording) { return true; }
    WARN("not recorded: " << status.text);
    CHECK(!status.text.empty());
    // Anywhere but under a tool the recorder must work.
    CHECK((assay::test::small() || status.what == recorder_status::kind::other_tool));
    return false;
  }();
  return can;
}

std::string short_name(model const& in, trace::kernel_run const& run) {
  return std::string{in.strings[run.short_name]};
}
std::size_t count_kernels(model const& in, std::string const& name) {
  return static_cast<std::size_t>(
      std::count_if(in.kernels.begin(), in.kernels.end(),
                    [&](auto const& run) { return short_name(in, run) == name; }));
}
std::size_t count_calls(model const& in, std::string const& name) {
  return static_cast<std::size_t>(std::count_if(
      in.calls.begin(), in.calls.end(),
      [&](auto const& call) { return in.strings[call.name].substr(0, name.size()) == name; }));
}
void nothing_lost(model const& in) {
  CHECK(in.lost.dropped == 0);
  CHECK(in.lost.zero_stamped == 0);
  CHECK(in.lost.out_of_window == 0);
  CHECK(in.lost.unmatched == 0);
  CHECK(in.lost.unnamed == 0);
}
void launch_nothing(::cuda::stream_ref on, unsigned blocks = 1) {
  kernel::launch(kernel::traced_nothing<int>, blocks, 1, 0, on, 0);
}

/// Two kernels, a copy and a set for each item.
template <class Mode>
model two_batches(Mode const& mode, std::byte* data) {
  std::vector<stream> streams;
  std::vector<lane_type> lanes;
  auto const memory = mr::async{}.open(on::device{0});
  for (int i = 0; i < mode.lanes(); ++i) {
    streams.emplace_back(on::device{0});
    lanes.push_back({on::device{0}, streams.back(), memory, i});
  }
  return trace::record({}, [&] {
    auto runner = mode.open(lanes);
    for (int batch = 0; batch < 2; ++batch) {
      runner.run([data](lane_type& where, int) {
        auto* const mine = data + 8192 * where.index;
        launch_nothing(where.stream);
        check(
            cudaMemcpyAsync(mine, mine + 4096, 4096, cudaMemcpyDeviceToDevice, where.stream.get()));
        check(cudaMemsetAsync(mine, 1, 2048, where.stream.get()));
        launch_nothing(where.stream);
      });
    }
  });
}

template <class Mode>
void exact(Mode const& mode, std::byte* data) {
  INFO(Mode::name);
  auto const made = two_batches(mode, data);
  auto const items = 2 * static_cast<std::size_t>(mode.batch_items());
  CHECK(count_kernels(made, "traced_nothing") == 2 * items);
  auto const copies = std::count_if(made.copies.begin(), made.copies.end(), [](auto const& each) {
    return each.bytes == 4096 && each.kind == trace::copy_kind::device_to_device;
  });
  auto const sets = std::count_if(made.memsets.begin(), made.memsets.end(),
                                  [](auto const& each) { return each.bytes == 2048; });
  CHECK(static_cast<std::size_t>(copies) == items);
  CHECK(static_cast<std::size_t>(sets) == items);
  if (std::string{Mode::name} != "submit::graph") {
    CHECK(count_calls(made, "cudaLaunchKernel") == 2 * items);
    CHECK(count_calls(made, "cudaMemcpyAsync") == items);
    CHECK(count_calls(made, "cudaMemsetAsync") == items);
  } else {
    CHECK(count_calls(made, "cudaGraphLaunch") > 0);
    CHECK(std::all_of(made.kernels.begin(), made.kernels.end(),
                      [](auto const& run) { return run.where.graph_node != 0; }));
  }
  if (std::string{Mode::name} != "submit::graph") { nothing_lost(made); }
  // CUPTI up to 13.1 misnumbers graph launches in every recording but a process's first.
  CHECK(made.lost.dropped + made.lost.zero_stamped + made.lost.out_of_window == 0);
}

}  // namespace

/// A workload of two launches an item, to be recorded as a pipeline.
struct two_launches {
  static constexpr std::string_view name = "two_launches";
  bool operator==(two_launches const&) const = default;
  struct state {};
  state prepare(device_lane auto&, int) const { return {}; }
  void enqueue(device_lane auto& lane, state&) const {
    nvtx_range const here{"two launches", category::gpu};
    launch_nothing(lane.stream);
    launch_nothing(lane.stream);
  }
  traffic item_traffic() const { return {}; }
  void poison(state&) const {}
  mismatch verify(state&) const { return {}; }
};

TEST_CASE("One batch of a pipeline is recorded, and only that") {
  if (!can_record()) { return; }
  pipeline const what{two_launches{}, on::device{0}, mr::async{},
                      submit::concurrent{.threads = 2, .items = 9}};
  rig real{what};
  real.run();
  auto const made = trace::record_warm({}, [&] { real.run(0); });
  CHECK(count_kernels(made, "traced_nothing") == 36);
  auto const named = [&](std::string const& name) {
    return std::count_if(made.ranges.begin(), made.ranges.end(),
                         [&](auto const& row) { return made.strings[row.name] == name; });
  };
  CHECK(named("two launches") == 18);
  CHECK(named("item") == 18);
  CHECK(named("rig") == 0);
  nothing_lost(made);
}

TEST_CASE("Kernels, copies, sets and calls are counted exactly, for all submission modes") {
  if (!can_record()) { return; }
  std::byte* data = nullptr;
  check(cudaMalloc(&data, 8 * 8192));
  check(cudaMemset(data, 0, 8 * 8192));
  int const items = assay::test::small() ? 3 : 25;
  exact(submit::sequential{.items = items + 15}, data);
  exact(submit::concurrent{.threads = 4, .items = items}, data);
  exact(submit::serialized{.threads = 4, .items = items}, data);
  exact(submit::graph{.threads = 4, .items = items}, data);
  check(cudaFree(data));
}

TEST_CASE("Kernels take as long as events say, within one per cent") {
  if (!can_record() || assay::test::small()) { return; }
  constexpr int pairs = 20;
  stream const on{on::device{0}};
  auto const spin = [&](std::uint64_t time) {
    kernel::launch(kernel::traced_spin<std::uint64_t>, 1, 1, 0, on, time);
  };
  event begin{event::kind::timed};
  event end{event::kind::timed};
  // The device is kept busy until all is queued, so that nothing between the events waits for the
  // host.
  constexpr std::uint64_t busy = 50'000;
  auto const timed = [&](std::uint64_t time) {
    spin(busy);
    begin.record(on);
    spin(time);
    end.record(on);
    end.synchronize();
    return end.seconds_since(begin);
  };
  (void)timed(0);
  for (std::uint64_t const nanoseconds : {std::uint64_t{150'000}, std::uint64_t{1'000'000}}) {
    // Events also see what lies between them and the kernel. A kernel that does nothing has as much
    // of that, so it is taken away on both sides. They are read without a tracer, which adds some
    // microseconds between the events, but none to the kernel.
    double by_events = 0;
    for (int i = 0; i < pairs; ++i) { by_events += timed(nanoseconds) - timed(0); }
    auto const made = trace::record({}, [&] {
      for (int i = 0; i < pairs; ++i) { (void)(timed(nanoseconds) - timed(0)); }
    });
    REQUIRE(made.kernels.size() == 4 * pairs);
    auto runs = made.kernels;
    std::sort(runs.begin(), runs.end(),
              [](auto const& a, auto const& b) { return a.when.begin < b.when.begin; });
    double by_trace = 0;
    for (std::size_t i = 1; i < runs.size(); i += 2) {  // without those that keep it busy
      by_trace += (i % 4 == 1 ? 1e-9 : -1e-9) * static_cast<double>(runs[i].when.length());
    }
    INFO(nanoseconds << " ns: events " << by_events << " s, trace " << by_trace << " s");
    CHECK(by_trace > 0.9e-9 * pairs * static_cast<double>(nanoseconds));
    CHECK(std::abs(by_trace / by_events - 1) < 0.01);
  }
}

TEST_CASE("Every kernel lies in the range that launched it, with eight threads") {
  if (!can_record()) { return; }
  constexpr int threads = 8;
  int const rounds = assay::test::small() ? 10 : 200;
  auto const made = trace::record({}, [&] {
    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) {
      crew.emplace_back([=] {
        check(cudaSetDevice(0));
        stream const on{on::device{0}};
        for (int i = 0; i < rounds; ++i) {
          auto const number = static_cast<unsigned>(1 + t * rounds + i);
          auto const name = "launch " + std::to_string(number);
          // The library's own ranges, and those of other code, in turn.
          if (i % 2 == 0) {
            nvtx_range const outer{"outer"};
            nvtx_range const here{name.c_str(), category::gpu, number};
            launch_nothing(on, number);
          } else {
            nvtxRangePushA("outer");
            nvtxRangePushA(name.c_str());
            launch_nothing(on, number);
            nvtxRangePop();
            nvtxRangePop();
          }
        }
        on.synchronize();
      });
    }
    for (auto& each : crew) { each.join(); }
  });
  nothing_lost(made);
  std::map<std::uint32_t, trace::api_call> calls;
  for (auto const& call : made.calls) { calls.emplace(call.correlation, call); }
  std::map<std::string, trace::range_record> ranges;
  for (auto const& row : made.ranges) { ranges.emplace(made.strings[row.name], row); }
  std::set<unsigned> seen;
  bool inside = true;
  for (auto const& run : made.kernels) {
    auto const number = run.grid[0];
    auto const call = calls.find(run.where.correlation);
    auto const row = ranges.find("launch " + std::to_string(number));
    if (call == calls.end() || row == ranges.end()) {
      inside = false;
      continue;
    }
    inside = inside && call->second.thread == row->second.thread &&
             row->second.when.begin <= call->second.when.begin &&
             call->second.when.end <= row->second.when.end;
    seen.insert(number);
  }
  CHECK(inside);
  CHECK(seen.size() == static_cast<std::size_t>(threads * rounds));
  CHECK(made.kernels.size() == seen.size());
  CHECK(made.ranges.size() == 2 * seen.size());
}

/// The calls that submit, allocate or move and lie in no range of the library, by name.
std::vector<std::string> calls_in_no_range(model const& in) {
  std::map<std::uint32_t, std::vector<trace::span>> ranges;  // by thread
  for (auto const& row : in.ranges) {
    if (in.strings[row.domain] == "assay") { ranges[row.thread.thread].push_back(row.when); }
  }
  std::vector<std::string> found;
  for (auto const& call : in.calls) {
    std::string const name{in.strings[call.name]};
    auto const is = [&](char const* word) { return name.starts_with(word); };
    // A pool's own making and ending, and the host's own memory, are neither.
    if (!(is("cudaLaunchKernel") || is("cudaGraphLaunch") || is("cudaMemcpy") || is("cudaMemset") ||
          is("cudaMallocFromPool") || is("cudaMalloc_") || is("cudaFree") || is("cudaHostAlloc") ||
          is("cudaHostRegister") || is("cudaHostUnregister"))) {
      continue;
    }
    auto const& mine = ranges[call.thread.thread];
    if (std::none_of(mine.begin(), mine.end(), [&](trace::span each) {
          return each.begin <= call.when.begin && call.when.end <= each.end;
        })) {
      found.push_back(name);
    }
  }
  return found;
}

TEST_CASE("Whatever the library launches, allocates, sets and copies lies in a range") {
  if (!can_record()) { return; }
  auto const all_of = [](auto const& what) {
    auto const made = trace::record({}, [&] {
      rig real{what};
      (void)real.run();
      CHECK_FALSE(real.verify());
    });
    CHECK(made.kernels.size() > 0);
    CHECK(made.copies.size() > 0);
    for (auto const& name : calls_in_no_range(made)) { FAIL_CHECK(name << " in no range"); }
  };
  workloads::vector_add<float> const work{.elements = assay::test::small() ? 2'000 : 100'000};
  all_of(pipeline{work, on::device{0}, mr::async{}, submit::concurrent{.threads = 2, .items = 3}});
  all_of(pipeline{work, on::device{0}, mr::async{}, submit::graph{.threads = 2, .items = 3}});
  all_of(pipeline{work, on::device{0}, mr::cuda_malloc{},
                  submit::serialized{.threads = 2, .items = 3}});
  all_of(pipeline{work, on::device{0}, mr::async{}, submit::sequential{.items = 3},
                  transfer::pinned{}});
}

void CUPTIAPI hear_nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {}

TEST_CASE("Where another tool has the trace the recorder says so, and the program goes on") {
  bool const free = can_record();
  auto const& library = trace::cupti_api::load();
  CUpti_SubscriberHandle other = nullptr;
  if (free) {
    CUpti_SubscriberParams who{};
    who.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    who.subscriberName = "a tool";
    REQUIRE(library->subscribe(&other, &hear_nothing, nullptr, &who) == CUPTI_SUCCESS);
  }
  stream const on{on::device{0}};
  std::uint32_t* data = nullptr;
  check(cudaMalloc(&data, sizeof *data));
  std::uint32_t got = 0;
  recorder tracer;
  tracer.start();
  auto const status = tracer.status();
  {
    nvtx_range const here{"here", category::gpu};
    launch_nothing(on);
    check(cudaMemsetAsync(data, 0x5A, sizeof *data, on.get()));
    check(cudaMemcpyAsync(&got, data, sizeof got, cudaMemcpyDeviceToHost, on.get()));
    on.synchronize();
  }
  auto const made = tracer.stop();
  check(cudaFree(data));
  INFO(status.text);
  CHECK(got == 0x5A5A5A5AU);
  CHECK(status.what != recorder_status::kind::recording);
  CHECK_FALSE(status.text.empty());
  if (free) { CHECK(status.what == recorder_status::kind::other_tool); }
  CHECK(made.kernels.empty());
  CHECK(made.calls.empty());
  REQUIRE(made.ranges.size() == 1);
  CHECK(made.strings[made.ranges[0].name] == "here");
  CHECK(std::any_of(made.notes.begin(), made.notes.end(),
                    [](auto const& note) { return note.first == "CUDA is not recorded"; }));
  if (!free) { return; }
  REQUIRE(library->unsubscribe(other) == CUPTI_SUCCESS);
  CHECK(count_kernels(trace::record({}, [&] { launch_nothing(on); }), "traced_nothing") == 1);
}

TEST_CASE("Copies tell their direction, memory and bytes; allocations their pool") {
  if (!can_record()) { return; }
  constexpr std::size_t bytes = 1 << 20;
  std::vector<char> pageable(bytes);
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, bytes));
  stream const on{on::device{0}};
  auto const made = trace::record({}, [&] {
    void* data = nullptr;
    check(cudaMallocAsync(&data, bytes, on.get()));
    check(cudaMemcpyAsync(data, pinned, bytes, cudaMemcpyHostToDevice, on.get()));
    check(cudaMemcpyAsync(pinned, data, bytes / 2, cudaMemcpyDeviceToHost, on.get()));
    check(cudaMemcpyAsync(data, pageable.data(), bytes, cudaMemcpyHostToDevice, on.get()));
    check(cudaFreeAsync(data, on.get()));
    on.synchronize();
  });
  check(cudaFreeHost(pinned));
  nothing_lost(made);
  auto const total = [&](trace::copy_kind kind, trace::memory_kind from, trace::memory_kind to) {
    std::uint64_t sum = 0;
    for (auto const& each : made.copies) {
      if (each.kind == kind && each.from == from && each.to == to) { sum += each.bytes; }
    }
    return sum;
  };
  using trace::copy_kind;
  using trace::memory_kind;
  CHECK(total(copy_kind::host_to_device, memory_kind::pinned, memory_kind::device) == bytes);
  CHECK(total(copy_kind::device_to_host, memory_kind::device, memory_kind::pinned) == bytes / 2);
  CHECK(total(copy_kind::host_to_device, memory_kind::pageable, memory_kind::device) == bytes);
  auto const allocated = std::find_if(made.memory.begin(), made.memory.end(), [](auto const& each) {
    return each.bytes == bytes && each.operation == trace::memory_operation::allocate;
  });
  REQUIRE(allocated != made.memory.end());
  CHECK(allocated->pool != 0);
  CHECK(allocated->kind == memory_kind::device);
  CHECK(allocated->thread.thread != 0);
  CHECK(std::any_of(made.memory.begin(), made.memory.end(), [&](auto const& each) {
    return each.address == allocated->address && each.operation == trace::memory_operation::release;
  }));
  CHECK(std::any_of(made.synchronizations.begin(), made.synchronizations.end(),
                    [](auto& each) { return each.kind == trace::sync_kind::stream; }));
  CHECK(count_calls(made, "cudaGetLastError") == 0);
  auto const device = std::find_if(made.devices.begin(), made.devices.end(),
                                   [](auto const& each) { return each.id == 0; });
  REQUIRE(device != made.devices.end());
  CHECK(device->sm_count ==
        static_cast<unsigned>(attribute(on::device{0}, cudaDevAttrMultiProcessorCount)));
  CHECK_FALSE(device->name.empty());
}

TEST_CASE("Recordings begin and end many times; work between them is not in them") {
  if (!can_record()) { return; }
  stream const on{on::device{0}};
  recorder tracer;
  for (int i = 0; i < (assay::test::small() ? 3 : 12); ++i) {
    tracer.start();
    for (int k = 0; k <= i; ++k) { launch_nothing(on); }
    {
      recorder second;
      CHECK_THROWS_AS(second.start(), std::logic_error);
    }
    auto const made = tracer.stop();
    CHECK(count_kernels(made, "traced_nothing") == static_cast<std::size_t>(i + 1));
    nothing_lost(made);
    for (int k = 0; k < 5; ++k) { launch_nothing(on); }
    on.synchronize();
  }
}

TEST_CASE("Many launches through many buffers lose nothing") {
  if (!can_record()) { return; }
  int const launches = assay::test::small() ? 500 : 40'000;
  stream const on{on::device{0}};
  auto const made = trace::record({}, [&] {
    for (int i = 0; i < launches; ++i) { launch_nothing(on); }
  });
  CHECK(count_kernels(made, "traced_nothing") == static_cast<std::size_t>(launches));
  CHECK(count_calls(made, "cudaLaunchKernel") == static_cast<std::size_t>(launches));
  nothing_lost(made);
}

namespace {

template <int Number>
void launch_numbered(stream const& on) {
  kernel::launch(kernel::traced_numbered<Number, int>, 1, 1, 0, on, 0);
}

/// A graph of six operations of one to three nodes, the fourth on a branch beside the fifth.
class owned_graph {
 public:
  explicit owned_graph(std::byte* data) : data_(data) { capture(); }

  std::vector<trace::graph_node> nodes() const {
    std::vector<trace::graph_node> made;
    for (auto const& each : log_.nodes()) {
      using enum nn::captured_node::kind;
      made.push_back({each.what == kernel ? trace::operation_kind::kernel
                      : each.what == copy ? trace::operation_kind::copy
                                          : trace::operation_kind::memset,
                      each.operation, "operation " + std::to_string(each.operation)});
    }
    return made;
  }
  void replay(int times) const {
    for (int i = 0; i < times; ++i) {
      nvtx_range const step{"owned step", category::gpu};
      made_->launch(on_);
      on_.synchronize();
    }
  }

 private:
  template <class Body>
  void operation(std::uint64_t number, Body const& body) {
    nn::op_scope const scope{"operation", number, log_};
    body();
  }
  void capture() {
    submit::stream_capture capturing{on_};
    log_.look(on_);
    operation(0, [&] { launch_numbered<0>(on_); });
    operation(1, [&] {
      for (int i = 0; i < 3; ++i) { launch_numbered<1>(on_); }
    });
    operation(2, [&] {
      check(cudaMemsetAsync(data_, 1, 4096, on_.get()));
      check(cudaMemcpyAsync(data_ + 4096, data_, 4096, cudaMemcpyDeviceToDevice, on_.get()));
    });
    event forked, joined;
    forked.record(on_);
    check(cudaStreamWaitEvent(side_.get(), forked.get(), 0));
    operation(3, [&] {
      launch_numbered<3>(side_);
      launch_numbered<3>(side_);
    });
    operation(4, [&] { launch_numbered<4>(on_); });
    joined.record(side_);
    check(cudaStreamWaitEvent(on_.get(), joined.get(), 0));
    operation(5, [&] { launch_numbered<5>(on_); });
    launch_numbered<6>(on_);  // of no operation
    log_.list();
    made_.emplace(capturing.end());
  }

  std::byte* data_;
  stream on_{on::device{0}}, side_{on::device{0}};
  nn::capture_log log_;
  std::optional<submit::graph_exec> made_;
};

/// Each kernel of operation N is called `traced_numbered<N, ...>`.
void check_owners(model const& made, std::vector<trace::graph_node> const& nodes, int replays) {
  for (auto const& each : made.kernels) { CHECK(each.where.graph_node >> 32U == each.graph); }
  auto const found = trace::replayed_operations(made, "owned step", nodes);
  REQUIRE(found.size() == static_cast<std::size_t>(replays));
  for (auto const& each : found) {
    REQUIRE(each.operations.size() == 6);
    CHECK(each.total.count == nodes.size());
    CHECK(each.outside.count == 1);
    CHECK(each.busy_ns + each.idle_ns() == each.device.length());
    CHECK(each.operations[2].work.at("[set]").count == 1);
    CHECK(each.operations[2].work.at("[copy]").count == 1);
    for (auto const& [number, count] : {std::pair{0, 1}, {1, 3}, {3, 2}, {4, 1}, {5, 1}}) {
      INFO("operation " << number);
      auto const& work = each.operations[static_cast<std::size_t>(number)].work;
      CHECK(each.operations[static_cast<std::size_t>(number)].total().count ==
            static_cast<std::size_t>(count));
      for (auto const& [name, some] : work) { CHECK_THAT(name, test::contains("traced_numbered")); }
    }
  }
  // By their whole names, in the order of their identities, the kernels are in that of the capture.
  std::map<std::uint64_t, std::string> names;
  for (auto const& each : made.kernels) { names[each.where.graph_node] = made.strings[each.name]; }
  std::string order;
  for (auto const& [node, name] : names) { order += name.substr(name.find('<') + 1, 1); }
  CHECK(order == "011133456");
}

}  // namespace

TEST_CASE("Nodes of a graph belong to the operations that captured them") {
  if (!can_record()) { return; }
  auto const memory = mr::cuda_malloc{}.open(on::device{0});
  stream const on{on::device{0}};
  auto data = make_buffer<std::byte>(8192, on, memory);
  owned_graph const before{data.span().data()};
  before.replay(1);
  // Made before the recording, and within it. Later recordings misnumber the launches of graphs.
  for (int times = 1; times <= 2; ++times) {
    auto const made = trace::record({}, [&] { before.replay(3); });
    check_owners(made, before.nodes(), 3);
  }
  std::vector<trace::graph_node> nodes;
  auto const made = trace::record({}, [&] {
    owned_graph const within{data.span().data()};
    nodes = within.nodes();
    within.replay(2);
  });
  check_owners(made, nodes, 2);
}
