// SPDX-License-Identifier: Apache-2.0
// Does a GPU pay, from which size on, and for data in which memory? Vector addition, reduction and
// matrix products are calibrated on host threads and on a GPU. Prints the crossovers, and what the
// decisions of the model and of its rivals cost on sizes that were held out.
// Predicts for one H200 with 16 cores: over pageable memory the GPU never adds or reduces vectors
// faster, since each byte crosses the link and is used once. Products of matrices on the GPU pay
// from 200 rows on. From 350 rows on they pay in page-locked memory, and from 900 in pageable.
//
// assay-uses: cli
// assay-test-args: --quick --tasks vector_add,reduction --largest 20000 --budget 3 --trace 2

#include "../tracing/tracing.hpp"
#include "experiment.hpp"
#include "tasks.hpp"
#include "traced_calls.hpp"

#include <matmul.hpp>  // of blas/ or of no_blas/

#include <tuple>

using namespace assay;

using all_tasks = decltype(std::tuple_cat(
    std::tuple<examples::vector_add, examples::reduction<examples::reducer::one_pass>,
               examples::reduction<examples::reducer::cub>>{},
    examples::matmul_tasks{}));

int main(int argc, char** argv) {
  return examples::dispatch_experiment<all_tasks>{
      .about = "Does a GPU pay, from which size on, and for data in which memory?",
      .commit = ASSAY_COMMIT,
      .blas = examples::blas_in_words(),
      .trace = examples::traced_calls(examples::tracing())}
      .main(argc, argv);
}
