// SPDX-License-Identifier: Apache-2.0
// Writes a trace, and what assay says of its kernels, for holistic_trace_analysis.py:
// holistic_trace_analysis_sample TRACE.json KERNELS.tsv

#include "trace/golden.hpp"

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/json_text.hpp>
#include <assay/nsys/reports_cuda.hpp>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>

namespace {

using namespace assay;
using namespace assay::trace;
namespace golden = assay::test::golden;

/// Four streams of two devices, names that are hard to write, waits, graphs of nodes, copies that
/// overlap kernels, steps.
model sample() {
  golden::builder b;
  std::mt19937_64 random{11};
  std::string const names[] = {"void scale<float>(float*, \"x\\y\")", "gemm\n\twith controls",
                               "caf\xc3\xa9 <1 & 2>", golden::long_name(3000), "softmax"};
  std::int64_t host = 1000;
  std::int64_t busy[4] = {};
  for (int step = 0; step < 4; ++step) {
    auto const begin = host;
    for (int i = 0; i < 250; ++i) {
      auto const lane = random() % 4;
      golden::on_stream const at{static_cast<std::int32_t>(lane / 2),
                                 static_cast<std::uint32_t>(7 + lane), 1};
      span const call{host, host + 1500 + static_cast<std::int64_t>(random() % 1000)};
      host = call.end + 100;
      auto& end = busy[lane];
      span const ran{std::max(end, call.end) + 1,
                     std::max(end, call.end) + 1000 + static_cast<std::int64_t>(random() % 9000)};
      end = ran.end;
      if (i % 25 == 0) {
        b.launch_copy(i % 2 == 0 ? copy_kind::host_to_device : copy_kind::device_to_host, 1 << 16,
                      call, ran, at);
      } else if (i % 40 == 1) {
        auto const graph = b.call("cudaGraphLaunch_v10000", call).correlation;
        auto const half = ran.begin + ran.length() / 2;
        b.node(names[0], {ran.begin, half}, graph, 1, at);
        b.node(names[1], {half, ran.end}, graph, 2, at);
      } else {
        b.launch(names[random() % 5], call, ran, at);
      }
    }
    auto const waited = b.call("cudaStreamSynchronize_v3020", {host, busy[0]}).correlation;
    b.sync(sync_kind::stream, {host, busy[0]}, {0, 7, 1}, waited);
    b.sync(sync_kind::stream_wait, {host, busy[0]}, {0, 8, 1}, waited);
    b.sync(sync_kind::context, {host, busy[0]}, {0, 0xffff'ffff, 1}, waited);
    host = std::max(host, busy[0]) + 500;
    b.range("step " + std::to_string(step), {begin, host});
    b.cost("Buffer flush (Profiler)", {host, host + 10});
    b.allocation(4096, 512, host);
  }
  b.device(0);
  b.device(1);
  b.trace.window = {0, host};
  b.trace.epoch_ns = 1'765'008'149'091'427'284;
  return b.trace;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) { return 2; }
  auto const trace = sample();
  write_chrome(trace, argv[1]);
  view const rows{trace};
  auto const kernels = cuda_gpu_kern_sum(rows);
  std::ofstream out{argv[2]};
  for (std::size_t row = 0; row < kernels.rows(); ++row) {
    for (auto const* column : {"Total Time (ns)", "Instances", "Min (ns)", "Max (ns)"}) {
      out << kernels.integer(row, kernels.column_of(column)) << '\t';
    }
    std::string name;
    append_quoted(name, kernels.text(row, kernels.column_of("Name")));
    out << name << '\n';
  }
  return out ? 0 : 1;
}
