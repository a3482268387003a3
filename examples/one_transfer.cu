// SPDX-License-Identifier: Apache-2.0
// One job over arrays in host memory: copies in, kernels and copies out at the same time.
#include <assay/memory/async.hpp>
#include <assay/transfer/overlapped.hpp>

#include <exception>
#include <iostream>
#include <vector>

__global__ void square(float const* in, float* out, long count) {
  long const step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = in[i] * in[i];
  }
}

// Enqueues the work of one chunk on arrays of the device.
struct squares {
  void operator()(cuda::stream_ref on, assay::transfer::chunk const& part) const {
    square<<<1056, 256, 0, on.get()>>>(part.input<float>(0), part.output<float>(0), part.count);
  }
};

int main() try {
  constexpr int count = 1 << 24;
  assay::on::device const gpu{0};
  assay::stream const stream{gpu};
  std::vector<float> in(count, 3.0f), out(count);
  // docs: transfer
  auto engine = assay::transfer::overlapped{}.open(gpu, assay::mr::async{}.open(gpu));
  engine.run(stream, assay::transfer::job<squares>{.elements = count,
                                                   .inputs = {{in.data(), sizeof(float)}},
                                                   .outputs = {{out.data(), sizeof(float)}}});
  stream.synchronize();
  // docs: end
  std::cout << engine.plan().why << '\n';
  return out.back() == 9.0f ? 0 : 1;
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
