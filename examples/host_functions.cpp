// SPDX-License-Identifier: Apache-2.0
// Two functions on the host: what does a stable sort cost?
#include <assay/compare.hpp>

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

int main() {
  std::vector<int> data(100'000), work;
  std::generate(data.begin(), data.end(), std::mt19937{1});
  auto const sort = [&] {
    work = data;
    std::sort(work.begin(), work.end());
  };
  auto const stable_sort = [&] {
    work = data;
    std::stable_sort(work.begin(), work.end());
  };
  // docs: compare
  std::cout << assay::compare("std::sort", sort, "std::stable_sort", stable_sort);
  // docs: end
}
