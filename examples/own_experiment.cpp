// SPDX-License-Identifier: Apache-2.0
// An experiment of one's own: a sweep over sizes and types, with assay's command line.
// assay-uses: cli
// assay-test-args: --quick --n 100,200 --type int32,float

// docs: experiment
#include <assay/cli/experiment.hpp>
#include <assay/cli/parse.hpp>

#include <algorithm>
#include <cstddef>

/// Makes a factory. Its work copies n random values and sorts the copy.
template <class T, class Sort>
auto sorting(assay::point const& at, Sort sort) {
  assay::cli::require_between("--n", at["n"], 1LL, 1LL << 30);
  return [n = static_cast<std::size_t>(at["n"]), sort](assay::setup& make) {
    auto const from = make.random<T>(n);
    auto const to = make.scratch<T>(n);
    return [=] {
      std::copy_n(from.data(), n, to.data());
      sort(to.data(), to.data() + n);
    };
  };
}

int main(int argc, char** argv) {
  using namespace assay;
  return experiment(
      argc, argv, "What does it cost to keep the order of equal values?",
      parameter{"n", {1 << 10, 1 << 13, 1 << 16}}, parameter{"type", types<int, float, double>},
      "sort",
      []<class T>(point const& at, std::type_identity<T>) {
        return sorting<T>(at, [](T* begin, T* end) { std::sort(begin, end); });
      },
      "stable_sort",
      []<class T>(point const& at, std::type_identity<T>) {
        return sorting<T>(at, [](T* begin, T* end) { std::stable_sort(begin, end); });
      });
}
// docs: end
