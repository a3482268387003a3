// expect-error: ranks need optimiser::per_tensor
// SPDX-License-Identifier: Apache-2.0
#include <assay/transformer/host_trainer.hpp>

#include <span>
#include <vector>

namespace {

struct nothing {
  std::vector<assay::nn::gradient_bucket> list;
  std::vector<assay::nn::gradient_bucket> const& buckets() const { return list; }
  void begin(assay::nn::gradient_bucket const&, std::span<float>) {}
  void wait(assay::nn::gradient_bucket const&) {}
};

}  // namespace

int main() {
  assay::nn::host_trainer<float> run{{}};  // with optimiser::fused
  nothing reduce;
  return run.step({}, reduce) > 0 ? 0 : 1;
}
