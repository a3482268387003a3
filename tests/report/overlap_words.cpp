// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"

#include <assay/report/overlap_words.hpp>

#include <string>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;

namespace {

std::string overlap_words(model const& of) {
  std::string all;
  for (auto const& line : report::overlap_sentences(explain_overlap(view{of}), of)) {
    all += line + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("copies in one stream: how much, how fast, and why they are exposed") {
  builder b;
  b.device(0, "GPU");
  b.trace.window = {1000, 9000};
  b.launch_copy(copy_kind::host_to_device, 1 << 20, {1000, 1010}, {2000, 3000}, {0, 13});
  b.launch("gemm<float>", {1010, 1020}, {3000, 5000}, {0, 13});
  b.launch_copy(copy_kind::device_to_host, 1 << 10, {1030, 1040}, {5000, 5500}, {0, 13});
  CHECK(overlap_words(b.trace) ==
        "Copies do not overlap kernels: kernels ran for 0 % of the 1.500 us of copies; 1.500 us "
        "are exposed.\n"
        "GPU (0), Host-to-Device: 1 copy, 1.00 MiB at 1.05 TB/s, 0 % hidden.\n"
        "GPU (0), Device-to-Host: 1 copy, 1.00 KiB at 2.05 GB/s, 0 % hidden.\n"
        "2 copies, exposed for 1.500 us: the kernels next to them are in their own stream, which "
        "runs one thing after the other (worst: [CUDA memcpy Host-to-Device] of 1.00 MiB at 1.000 "
        "us in stream 13, kernel gemm in stream 13, call cudaMemcpyAsync).\n");
  b.trace.copies[1].where.stream = 14;
  b.trace.copies[1].when = {4000, 5500};
  CHECK_THAT(overlap_words(b.trace),
             contains("Copies overlap kernels in part: kernels ran for 40.0 %") &&
                 contains("1 copy, exposed for 500.0 ns: asked for in time, but not run at once"));
}

TEST_CASE("traces with no copies, with all hidden, and with none") {
  builder b;
  CHECK(overlap_words(b.trace) == "There are no copies.\n");
  b.kernel("k", {0, 100});
  b.copy(copy_kind::host_to_device, 1, {10, 20}, {0, 8});
  CHECK_THAT(overlap_words(b.trace),
             contains("Copies overlap kernels all the time: kernels ran for 100 %"));
  b.trace.kernels.clear();
  CHECK_THAT(overlap_words(b.trace),
             contains("Copies do not overlap kernels") && contains("the device ran no kernel"));
}

TEST_CASE("an obstacle that is not the only one is said to be so") {
  builder b;
  b.launch_copy(copy_kind::host_to_device, 1, {0, 250}, {100, 200}, {0, 13}).from =
      memory_kind::pageable;
  b.launch("k", {260, 270}, {300, 400}, {0, 13});
  CHECK_THAT(overlap_words(b.trace), contains("; each of these copies has another cause too ("));
  b.launch_copy(copy_kind::host_to_device, 1, {1000, 1005}, {1100, 1150}, {0, 13});
  b.launch("k", {1005, 1010}, {1200, 1900}, {0, 13});
  CHECK_THAT(overlap_words(b.trace), contains("; for 50.00 ns this is the only cause ("));
}

TEST_CASE("every obstacle has words") {
  for (std::size_t i = 0; i < overlap_obstacles; ++i) {
    CHECK(!report::detail::obstacle_words(static_cast<overlap_obstacle>(i)).empty());
  }
}
