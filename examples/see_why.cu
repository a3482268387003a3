// SPDX-License-Identifier: Apache-2.0
// Which allocator is faster, and why? The verdict, then twelve traced batches of each variant.
// assay-uses: cupti
#include <assay/core/units.hpp>
#include <assay/cupti/explain.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pool/pool.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/text.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

#include <cstdint>
#include <exception>
#include <iostream>

int main() try {
  using namespace assay;
  // docs: explain
  pipeline const pooled{workloads::null_cast<std::int32_t>{.rows = 100'000}, mr::pool{1_GiB},
                        submit::concurrent{.threads = 4, .items = 100}};
  auto const by_driver = pooled.with(mr::async{});
  auto const found = compare(pooled, by_driver);
  std::cout << found << explain(pooled, by_driver, found);
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
