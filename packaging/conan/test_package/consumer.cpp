// SPDX-License-Identifier: Apache-2.0
// Compares two sums on the host. Any verdict will do: the package is what is tested.
#include <assay/compare.hpp>
#include <assay/version.hpp>

#include <iostream>
#include <numeric>
#include <vector>

int main() {
  std::vector<int> numbers(1 << 16, 1);
  long sum = 0;
  auto const forward = [&] { sum = std::accumulate(numbers.begin(), numbers.end(), 0L); };
  auto const backward = [&] { sum = std::accumulate(numbers.rbegin(), numbers.rend(), 0L); };
  std::cout << "assay " << assay::version << '\n'
            << assay::compare("forward", forward, "backward", backward, assay::options{.max_seconds = 2});
  return sum == 1 << 16 ? 0 : 1;
}
