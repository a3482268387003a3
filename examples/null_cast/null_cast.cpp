// SPDX-License-Identifier: Apache-2.0
// assay-uses: cli
// assay-test-args: --quick --rows 20000 --threads 2 --pool 64MiB
//
// Four threads each submit 100 items of CAST(COALESCE(x, 0) AS DOUBLE). Each item allocates its
// temporaries. Does the allocator change what a mutex round the submission costs?
// Predicts: yes. The driver's allocator adds calls that take the driver's locks. So the threads
// wait for each other also without the mutex, and the mutex adds less.

#include "../tracing/tracing.hpp"
#include "answers.hpp"
#include "options.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pool/pool.hpp>
#include <assay/workload/null_cast.cuh>

using namespace assay;

namespace {

/// The pool and the driver's allocator.
cli::variants variants_of(examples::null_cast_parameters const& given, on::device place) {
  return given.with_type([&]<class T>(T) {
    mr::pool const pool{.initial_bytes = given.pool_bytes};
    pipeline const control{workloads::null_cast<T>{given.rows, given.null_fraction}, place, pool,
                           given.concurrent()};
    return cross(given, control, std::pair{std::string{"pool"}, pool},
                 std::pair{std::string{"async"}, mr::async{}});
  });
}

std::optional<measure::comparison> on_device(examples::null_cast_options const& asked,
                                             cli::options const& chosen,
                                             cli::explaining const& explaining) {
  auto const given = asked.read(false, chosen.quick);
  auto const all = variants_of(given, on::device{chosen.device});
  if (auto const* what = asked.run_alone(all, chosen)) {
    explaining.record(what->open(), what->label, chosen);
    return {};
  }
  auto measuring = chosen.measuring;
  measuring.title = "Which allocator, submitted how? CAST(COALESCE(x, 0) AS DOUBLE)";
  auto found = cli::list_or_compare(chosen, all, measuring);
  if (!found) { return {}; }
  explaining.explain(chosen, *found, all.runs());
  examples::answer_allocator_questions(*found);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  examples::null_cast_options asked;
  cli::explaining explaining{examples::tracing()};
  return cli::run(
      argc, argv,
      {"Which allocator, submitted how? On a GPU; without one, or with --host, on the CPU.",
       ASSAY_COMMIT},
      [&](CLI::App& app) {
        asked.add_to(app);
        explaining.add_to(app);
      },
      [&](cli::options const& chosen) {
        return cli::runs_on_host(chosen, explaining) ? examples::null_cast_on_host(asked, chosen)
                                                     : on_device(asked, chosen, explaining);
      });
}
