// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"

#include <assay/nsys/reports.hpp>
#include <assay/nsys/reports_cuda.hpp>
#include <assay/nsys/select.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/labels.hpp>

#include <sstream>
#include <string>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;

namespace {

std::string csv(std::string_view name, view const& rows) {
  std::ostringstream out;
  report::csv_table(out, make_report(name, rows));
  return out.str();
}

constexpr auto times = "Time (%),Total Time (ns)";
constexpr auto shape = "Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)";

std::string time_head(std::string const& count, std::string const& last) {
  return std::string{times} + "," + count + "," + shape + "," + last + "\n";
}

}  // namespace

TEST_CASE("cuda_api_sum sums calls of the runtime and the driver without their version") {
  builder b;
  b.call("cudaLaunchKernel_v7000", {0, 10});
  b.call("cudaLaunchKernel_v7000", {20, 40}, second_thread);
  b.call("cudaLaunchKernel", {40, 110});  // already without
  b.call("cudaGraphLaunch_v10000", {0, 60});
  b.call("cuGetProcAddress_v2", {5, 5});
  b.call("poll", {0, 1'000'000});
  CHECK(csv("cuda_api_sum", b.trace) ==
        time_head("Num Calls", "Name") +
            // of 10, 20, 70: mean 33.3, squares 544.4 + 177.8 + 1344.4 = 2066.7, / 2, root 32.1
            "62.5,100,3,33.3,20.0,10,70,32.1,cudaLaunchKernel\n"
            "37.5,60,1,60.0,60.0,60,60,0.0,cudaGraphLaunch_v10000\n"
            "0.0,0,1,0.0,0.0,0,0,0.0,cuGetProcAddress_v2\n");
  CHECK(csv("osrt_sum", b.trace) == time_head("Num Calls", "Name") +
                                        "100.0,1000000,1,1000000.0,1000000.0,1000000,1000000,0.0,"
                                        "poll\n");
}

TEST_CASE("only a version of four digits is cut off") {
  CHECK(trace::without_version("cudaMemcpyAsync_v3020") == "cudaMemcpyAsync");
  CHECK(trace::without_version("cudaGraphLaunch_v10000") == "cudaGraphLaunch_v10000");
  CHECK(trace::without_version("cuGetProcAddress_v2") == "cuGetProcAddress_v2");
  CHECK(trace::without_version("cudaThing_v30a0") == "cudaThing_v30a0");
  CHECK(trace::without_version("_v3020") == "_v3020");
  CHECK(trace::without_version("") == "");
  CHECK(trace::plain_name("cudaGraphLaunch_v10000") == "cudaGraphLaunch");
  CHECK(trace::plain_name("cuGetProcAddress_v2") == "cuGetProcAddress");
  CHECK(trace::plain_name("cudaMalloc3D") == "cudaMalloc3D");
  CHECK(trace::plain_name("cuLaunch_v") == "cuLaunch_v");
  CHECK(trace::plain_name("42") == "42");
  CHECK(trace::plain_name("") == "");
}

TEST_CASE("cuda_gpu_kern_sum sums kernels by name, graph nodes and zero-length ones too") {
  builder b;
  b.kernel("b", {0, 30});
  b.kernel("a", {0, 10}, {1, 9, 2});
  b.node("a", {5, 25}, 3, 77);
  b.kernel("zero", {40, 40});
  b.kernel("also zero", {40, 40});
  b.whole_graph({0, 1'000'000});  // of a graph without nodes there are no kernels to tell
  CHECK(csv("cuda_gpu_kern_sum", b.trace) == time_head("Instances", "Name") +
                                                 "50.0,30,2,15.0,15.0,10,20,7.1,a\n"
                                                 "50.0,30,1,30.0,30.0,30,30,0.0,b\n"
                                                 "0.0,0,1,0.0,0.0,0,0,0.0,also zero\n"
                                                 "0.0,0,1,0.0,0.0,0,0,0.0,zero\n");
}

TEST_CASE("memory operations are summed by direction, sizes in millions of bytes") {
  builder b;
  b.copy(copy_kind::host_to_device, 4'194'304, {0, 300});
  b.copy(copy_kind::host_to_device, 1'000'000, {0, 100});
  b.copy(copy_kind::device_to_host, 1, {0, 500});
  b.set(2'000'500, {0, 100});
  CHECK(csv("cuda_gpu_mem_time_sum", b.trace) ==
        time_head("Count", "Operation") +
            "50.0,500,1,500.0,500.0,500,500,0.0,[CUDA memcpy Device-to-Host]\n"
            "40.0,400,2,200.0,200.0,100,300,141.4,[CUDA memcpy Host-to-Device]\n"
            "10.0,100,1,100.0,100.0,100,100,0.0,[CUDA memset]\n");
  CHECK(csv("cuda_gpu_mem_size_sum", b.trace) ==
        "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
        "5.194,2,2.597,2.597,1.000,4.194,2.259,[CUDA memcpy Host-to-Device]\n"
        "2.001,1,2.001,2.001,2.001,2.001,0.000,[CUDA memset]\n"
        "0.000,1,0.000,0.000,0.000,0.000,0.000,[CUDA memcpy Device-to-Host]\n");
}

TEST_CASE("cuda_gpu_trace has a row for each operation, in order of start, as nsys writes it") {
  builder b;
  b.device(0, "NVIDIA, \"the\" card");
  auto& kernel = b.kernel("saxpy(float, const float *)", {2000, 42'672}, {0, 13, 1}, 128);
  kernel.grid = {4096, 2, 1};
  kernel.block = {256, 1, 3};
  kernel.registers_per_thread = 16;
  kernel.static_shared_bytes = 1024;
  kernel.dynamic_shared_bytes = 49'152;
  kernel.where.green_context = 5;
  b.copy(copy_kind::host_to_device, 4'194'304, {1000, 662'398}, {0, 13, 1}, 123);
  auto& fill = b.set(272, {3000, 3800}, {2, 7, 3}, 344);
  fill.kind = memory_kind::device;
  b.copy(copy_kind::device_to_host, 10, {4000, 4000});
  b.copy(copy_kind::device_to_host, 10, {5000, 2'000'005'000}).to = memory_kind::pageable;
  CHECK(
      csv("cuda_gpu_trace", b.trace) ==
      "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
      "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
      // 10^9 / 661398 is 1511 whole ones, times 4194304 bytes
      "1000,661398,123,,,,,,,,,,4.194,6337.593,Pinned,Device,\"NVIDIA, \"\"the\"\" card (0)\",1,,"
      "13,[CUDA memcpy Host-to-Device]\n"
      "2000,40672,128,4096,2,1,256,1,3,16,0.001,0.049,,,,,\"NVIDIA, \"\"the\"\" card (0)\",1,5,13,"
      "\"saxpy(float, const float *)\"\n"
      "3000,800,344,,,,,,,,,,0.000,340.000,Device,,Device (2),3,,7,[CUDA memset]\n"
      "4000,0,0,,,,,,,,,,0.000,,Device,Pinned,\"NVIDIA, \"\"the\"\" card (0)\",1,,7,"
      "[CUDA memcpy Device-to-Host]\n"
      "5000,2000000000,0,,,,,,,,,,0.000,0.000,Device,Pageable,\"NVIDIA, \"\"the\"\" card (0)\",1,,"
      "7,[CUDA memcpy Device-to-Host]\n");
}

TEST_CASE("nvtx_sum tells styles apart and leaves marks out") {
  builder b;
  b.trace.window = {0, 100};
  b.range("step", {0, 10});
  b.range("step", {20, 40}, second_thread);
  b.range("step", {0, 30}, main_thread, "", range_style::start_end).end_thread = second_thread;
  b.range("step", {0, 10}, main_thread, "NCCL");
  b.mark("step", 5);
  b.unended("step", 70);
  CHECK(csv("nvtx_sum", b.trace) == time_head("Instances", "Style,Range") +
                                        "60.0,60,3,20.0,20.0,10,30,10.0,PushPop,:step\n"
                                        "30.0,30,1,30.0,30.0,30,30,0.0,StartEnd,:step\n"
                                        "10.0,10,1,10.0,10.0,10,10,0.0,PushPop,NCCL:step\n");
}

TEST_CASE("nvtx_pushpop_trace numbers ranges in order of start and tells each one's place") {
  builder b;
  b.range("copy, in", {130, 150}, {126760, 126761}, "lib");
  b.range("phases", {100, 200}, {126760, 126761});
  b.range("kernel", {160, 190}, {126760, 126761});
  b.range("inner", {165, 165}, {126760, 126761});
  b.range("other", {120, 300}, {126760, 126762});
  CHECK(csv("nvtx_pushpop_trace", b.trace) ==
        "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,"
        "NumChild,RangeId,ParentId,RangeStack,NameTree\n"
        "100,200,100,50,50,:phases,126760,126761,0,2,1,,:1,:phases\n"
        "120,300,180,0,180,:other,126760,126762,0,0,2,,:2,:other\n"
        "130,150,20,0,20,\"lib:copy, in\",126760,126761,1,0,3,1,:1:3,\"--lib:copy, in\"\n"
        "160,190,30,0,30,:kernel,126760,126761,1,1,4,1,:1:4,--:kernel\n"
        "165,165,0,0,0,:inner,126760,126761,2,0,5,4,:1:4:5,----:inner\n");
}

TEST_CASE("a program that never pops costs no more than its rows") {
  builder b;
  for (int i = 0; i < 20'000; ++i) { b.range("leak", {i, 1'000'000}); }
  auto const all = make_report("nvtx_pushpop_trace", b.trace);
  REQUIRE(all.rows() == 20'000);
  CHECK(all.integer(19'999, all.column_of("Lvl")) == 19'999);
  CHECK(all.text(255, all.column_of("RangeStack")).substr(0, 5) == ":1:2:");
  CHECK(all.text(19'999, all.column_of("RangeStack")).substr(0, 11) == ":...:19745:");
}

TEST_CASE("nvtx_kern_sum counts a kernel for every range of its thread that holds its launch") {
  builder b;
  b.range("step", {0, 1000});
  b.range("forward", {100, 200});
  b.range("forward", {300, 400});
  b.range("step", {0, 1000}, second_thread);
  b.launch("gemm", {110, 120}, {500, 510});
  b.launch("gemm", {130, 140}, {510, 530});
  b.launch("gemm", {310, 320}, {530, 560});
  b.launch("softmax", {330, 340}, {560, 565});
  b.launch("gemm", {390, 410}, {570, 580});  // its call ends after "forward"
  auto const graph = b.call("cudaGraphLaunch_v10000", {600, 610}, second_thread).correlation;
  b.node("gemm", {2000, 2100}, graph, 1, {}, second_thread);
  b.node("node, \"x\"", {2100, 2107}, graph, 2, {}, second_thread);
  b.launch_copy(copy_kind::host_to_device, 1, {150, 160}, {700, 800});  // no kernel
  b.kernel("gemm", {150, 160});                                         // nobody asked for it
  CHECK(csv("nvtx_kern_sum", b.trace) ==
        "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),"
        "Max (ns),StdDev (ns),Kernel Name\n"
        ":step,PushPop,100,101,1,1,100,100.0,100.0,100,100,0.0,gemm\n"
        ":step,PushPop,100,100,1,4,70,17.5,15.0,10,30,9.6,gemm\n"
        ":forward,PushPop,100,100,2,3,60,20.0,20.0,10,30,10.0,gemm\n"
        ":step,PushPop,100,101,1,1,7,7.0,7.0,7,7,0.0,\"node, \"\"x\"\"\"\n"
        ":forward,PushPop,100,100,1,1,5,5.0,5.0,5,5,0.0,softmax\n"
        ":step,PushPop,100,100,1,1,5,5.0,5.0,5,5,0.0,softmax\n");
}

TEST_CASE("nvtx_gpu_proj_sum reaches from the first start to the last end of what was launched") {
  builder b;
  b.range("step", {0, 1000});
  b.range("forward", {100, 200});
  b.range("forward", {300, 400});
  b.range("empty", {500, 600});
  b.range("crossing", {0, 1000}, main_thread, "", range_style::start_end).end_thread =
      second_thread;
  b.launch("gemm", {110, 120}, {550, 560}, {1, 7, 2});
  b.launch_copy(copy_kind::host_to_device, 1, {130, 140}, {500, 530});
  b.launch("gemm", {310, 320}, {600, 640});
  auto const graph = b.call("cudaGraphLaunch_v10000", {600, 610}).correlation;
  b.node("a", {700, 710}, graph, 1);
  b.node("b", {710, 1700}, graph, 2);
  CHECK(csv("nvtx_gpu_proj_sum", b.trace) ==
        "Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),"
        "Proj Med (ns),Proj Min (ns),Proj Max (ns),Proj StdDev (ns),Total GPU Ops,Avg GPU Ops,"
        "Avg Range Lvl,Avg Num Child\n"
        ":step,PushPop,1200,1000,1,1200.0,1200.0,1200,1200,0.0,5,5.0,0.0,3.0\n"
        ":forward,PushPop,100,200,2,50.0,50.0,40,60,14.1,3,1.5,1.0,0.0\n");
}

TEST_CASE("cuda_kern_exec_sum sets each launch beside its kernel") {
  builder b;
  b.launch("k", {0, 10}, {30, 80});       // total 80, queued 20
  b.launch("k", {100, 110}, {105, 108});  // started and ended before its call did: total 10
  b.launch("k", {0, 10}, {30, 80}, {1, 9, 2}, second_thread);
  b.kernel("k", {0, 1'000'000});
  CHECK(csv("cuda_kern_exec_sum", b.trace) ==
        "PID,TID,DevId,Count,QCount,TAvg (ns),TMed (ns),TMin (ns),TMax (ns),TStdDev (ns),AAvg (ns),"
        "AMed (ns),AMin (ns),AMax (ns),AStdDev (ns),QAvg (ns),QMed (ns),QMin (ns),QMax (ns),"
        "QStdDev (ns),KAvg (ns),KMed (ns),KMin (ns),KMax (ns),KStdDev (ns),API Name,Kernel Name\n"
        "100,100,0,2,1,45.0,45.0,10,80,49.5,10.0,10.0,10,10,0.0,20.0,20.0,20,20,0.0,26.5,26.5,3,50,"
        "33.2,cudaLaunchKernel,k\n"
        "100,101,1,1,1,80.0,80.0,80,80,0.0,10.0,10.0,10,10,0.0,20.0,20.0,20,20,0.0,50.0,50.0,50,50,"
        "0.0,cudaLaunchKernel,k\n");
  b.trace.kernels.resize(1);
  b.trace.kernels[0].when = {5, 6};
  auto const none_queued = make_report("cuda_kern_exec_sum", b.trace);
  CHECK(none_queued.missing(0, none_queued.column_of("QAvg (ns)")));
}

TEST_CASE("cuda_gpu_sum and cuda_api_gpu_sum have a column for the category") {
  builder b;
  b.launch("k", {0, 10}, {20, 80});
  b.launch_copy(copy_kind::host_to_device, 10, {10, 20}, {30, 60});
  b.set(10, {60, 70});
  b.call("poll", {0, 1'000});
  CHECK(csv("cuda_gpu_sum", b.trace) ==
        time_head("Instances", "Category,Operation") +
            "60.0,60,1,60.0,60.0,60,60,0.0,CUDA_KERNEL,k\n"
            "30.0,30,1,30.0,30.0,30,30,0.0,MEMORY_OPER,[CUDA memcpy Host-to-Device]\n"
            "10.0,10,1,10.0,10.0,10,10,0.0,MEMORY_OPER,[CUDA memset]\n");
  CHECK(csv("cuda_api_gpu_sum", b.trace) ==
        time_head("Instances", "Category,Operation") +
            "50.0,60,1,60.0,60.0,60,60,0.0,CUDA_KERNEL,k\n"
            "25.0,30,1,30.0,30.0,30,30,0.0,MEMORY_OPER,[CUDA memcpy Host-to-Device]\n"
            "8.3,10,1,10.0,10.0,10,10,0.0,CUDA_API,cudaLaunchKernel\n"
            "8.3,10,1,10.0,10.0,10,10,0.0,CUDA_API,cudaMemcpyAsync\n"
            "8.3,10,1,10.0,10.0,10,10,0.0,MEMORY_OPER,[CUDA memset]\n");
}

TEST_CASE("cuda_kern_exec_trace has a row for each launch, in order of the calls") {
  builder b;
  b.launch("late", {100, 110}, {105, 108});  // started before its call returned
  b.launch("k", {0, 10}, {30, 80}, {1, 9, 2}, second_thread).grid = {4096, 2, 1};
  b.kernel("nobody asked", {0, 1'000'000});
  CHECK(csv("cuda_kern_exec_trace", b.trace) ==
        "API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),"
        "Kernel Dur (ns),Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n"
        "0,10,10,20,30,50,80,100,101,1,cudaLaunchKernel,4096    2    1,  32    1    1,k\n"
        "100,10,,,105,3,10,100,100,0,cudaLaunchKernel,   1    1    1,  32    1    1,late\n");
}

TEST_CASE("nvtx_gpu_proj_trace has a row for each range that launched work") {
  builder b;
  b.range("step", {0, 1000});
  b.range("forward", {100, 200}, main_thread, "net");
  b.range("empty", {500, 600});
  b.range("free", {250, 400}, main_thread, "", range_style::start_end);
  b.launch("gemm", {110, 120}, {550, 560}, {1, 7, 2});
  b.launch_copy(copy_kind::host_to_device, 1, {300, 310}, {500, 530});
  CHECK(csv("nvtx_gpu_proj_trace", b.trace) ==
        "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),"
        "Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n"
        ":step,500,60,0,1000,PushPop,100,100,2,0,2,1,,:1\n"
        ":free,500,30,250,150,StartEnd,100,100,1,,,,,\n"
        "net:forward,550,10,100,100,PushPop,100,100,1,1,0,2,1,:1:2\n");
}

TEST_CASE("unified memory is summed by address, in total, and by the code that faults") {
  builder b;
  auto const migrate = [&](copy_kind kind, std::uint64_t bytes, span when, std::uint64_t address) {
    b.copy(kind, bytes, when).address = address;
  };
  migrate(copy_kind::unified_host_to_device, 3'000'000, {0, 1'000'000}, 0x7f9c'8000'0000);
  migrate(copy_kind::unified_device_to_host, 1'000'000, {0, 1'000'000}, 0x7f9c'8000'0000);
  migrate(copy_kind::unified_host_to_device, 5'000'000, {0, 500'000}, 0x7f9d'7ff8'3000);
  migrate(copy_kind::host_to_device, 9'000'000, {0, 500'000}, 0);  // no migration
  b.trace.host_faults = {
      {1, 100, 0x7f9c'8000'0000, 0xab}, {2, 100, 0x10, 0xcd}, {3, 100, 0x10, 0xcd}};
  b.trace.device_faults = {{1, 100, 0, 0x7f9d'7ff8'3000, 20}, {2, 100, 0, 0x7f9d'7ff8'3000, 3}};
  CHECK(csv("um_sum", b.trace) ==
        "Virtual Address,HtoD Migration Size (MB),DtoH Migration Size (MB),CPU Page Faults,"
        "GPU PageFaults,Migration Throughput (MB/s)\n"
        "0x7F9D7FF83000,5.000,0.000,0,23,10000.000\n"
        "0x7F9C80000000,3.000,1.000,1,0,2000.000\n"
        "0x10,0.000,0.000,2,0,\n");
  CHECK(csv("um_total_sum", b.trace) ==
        "Total HtoD Migration Size (MB),Total DtoH Migration Size (MB),Total CPU Page Faults,"
        "Total GPU PageFaults,Minimum Virtual Address,Maximum Virtual Address\n"
        "8.000,1.000,3,23,0x10,0x7F9D7FF83000\n");
  CHECK(csv("um_cpu_page_faults_sum", b.trace) ==
        "CPU Page Faults,CPU Instruction Address\n2,0xCD\n1,0xAB\n");
  for (int i = 0; i < 20; ++i) { b.trace.device_faults.push_back({3, 100, 0, 0x20U + i, 1}); }
  CHECK(make_report("um_sum", b.trace).rows() == 10);  // as nsys
  CHECK(um_sum(b.trace, 0).rows() == 23);
  model const nothing;
  CHECK(make_report("um_total_sum", nothing).rows() == 0);
}

TEST_CASE("unified memory at one address of two processes is that of each") {
  builder b;
  for (std::uint32_t const process : {100U, 200U}) {
    auto& copy = b.copy(copy_kind::unified_host_to_device, process * 10'000, {0, 1'000'000});
    copy.address = 0x10;
    copy.where.process = process;
    b.trace.host_faults.push_back({1, process, 0x10, 0xab});
  }
  CHECK_THAT(csv("um_sum", b.trace),
             assay::test::contains("\n0x10 (process 200),2.000,0.000,1,0,2000.000\n"
                                   "0x10 (process 100),1.000,0.000,1,0,1000.000\n"));
  CHECK_THAT(csv("um_total_sum", b.trace), assay::test::contains("\n3.000,0.000,2,0,0x10,0x10\n"));
  CHECK_THAT(csv("um_cpu_page_faults_sum", b.trace),
             assay::test::contains("\n1,0xAB (process 100)\n1,0xAB (process 200)\n"));
}

TEST_CASE("every report is made of an empty trace, of one with all fields, and of random ones") {
  model const empty;
  auto const full = everything();
  auto const random = random_model(assay::test::fresh_seed(), 60);
  for (auto const& each : trace::reports()) {
    INFO(each.name);
    CHECK(each.make(empty).rows() == 0);
    CHECK(each.make(empty).name() == each.name);
    CHECK(csv(each.name, full).size() > csv(each.name, empty).size());
    CHECK_NOTHROW(each.make(random));
  }
  CHECK_THAT(assay::test::message_of([&] { make_report("nvtx", empty); }),
             contains("no report is called 'nvtx'; there are nvtx_sum, osrt_sum"));
}

TEST_CASE("a clock that was set back makes negative durations, and nothing worse") {
  builder b;
  b.range("step", {0, 1000});
  b.range("back", {500, 400});
  b.launch("k", {450, 440}, {700, 650});
  b.launch("k", {460, 470}, {800, 950});
  b.copy(copy_kind::host_to_device, 10, {900, 890});
  CHECK(make_report("cuda_gpu_kern_sum", b.trace).integer(0, 1) == 100);
  auto const work = make_report("cuda_gpu_trace", b.trace);
  CHECK(work.missing(2, work.column_of("Throughput (MB/s)")));
  for (auto const& each : trace::reports()) { CHECK_NOTHROW(csv(each.name, b.trace)); }
  for (auto const& each : trace::own_reports()) { CHECK_NOTHROW(csv(each.name, b.trace)); }
}

TEST_CASE("reports of a view tell only what is in it") {
  builder b;
  b.range("forward", {0, 100});
  b.launch("in", {10, 20}, {20, 30});
  b.launch("out", {110, 120}, {120, 130});
  auto const rows = select(b.trace, {.range = "forward"});
  CHECK_THAT(csv("cuda_gpu_kern_sum", rows), contains(",in\n") && !contains(",out\n"));
  CHECK_THAT(csv("cuda_gpu_trace", rows), !contains(",out\n"));
  CHECK_THAT(csv("nvtx_kern_sum", rows), contains(",in\n"));
  CHECK(make_report("cuda_api_sum", rows).integer(0, 2) == 1);
}
