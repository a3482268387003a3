// SPDX-License-Identifier: Apache-2.0
// Work on a side stream comes after what the other stream had, and before what joins it.
#include "catch.hpp"

#include <assay/memory/async.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transformer/side_stream.hpp>

#include <cstddef>
#include <vector>

using namespace assay;

TEST_CASE("a side stream works between its begin and its join, also in a graph", "[nn]") {
  on::device const place{0};
  stream const main{place};
  constexpr std::size_t bytes = std::size_t{64} << 20U;  // long enough to be overtaken
  auto memory = mr::async{}.open(place);
  auto from = make_buffer<std::byte>(bytes, main, memory);
  auto to = make_buffer<std::byte>(bytes, main, memory);
  nn::side_stream beside;
  auto const work = [&] {
    check(cudaMemsetAsync(from.data(), 1, bytes, main.get()));
    auto const side = beside.behind(main);
    check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, side.get()));
    beside.join(main);
    check(cudaMemsetAsync(from.data(), 2, bytes, main.get()));
  };
  auto const check_copy = [&] {
    std::vector<std::byte> found(bytes);
    check(cudaMemcpyAsync(found.data(), to.data(), bytes, cudaMemcpyDeviceToHost, main.get()));
    main.synchronize();
    CHECK(found == std::vector<std::byte>(bytes, std::byte{1}));
    check(cudaMemsetAsync(to.data(), 0, bytes, main.get()));
    main.synchronize();
  };
  check(cudaMemsetAsync(to.data(), 0, bytes, main.get()));
  main.synchronize();
  work();
  check_copy();
  submit::stream_capture capture{main};
  work();  // without the join the capture could not end
  submit::graph_exec recorded{capture.end()};
  recorded.launch(main);
  check_copy();
}
