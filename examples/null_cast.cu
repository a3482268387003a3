// SPDX-License-Identifier: Apache-2.0
// Four threads each submit 100 items of CAST(COALESCE(x, 0) AS DOUBLE), with temporaries allocated
// per item. Does the allocator change what a mutex round the submission costs?
// Predicts: yes. The driver's allocator adds calls that take the driver's locks, so the threads
// wait for each other also without the mutex, and the mutex has less left to take away.
// assay-test-args: --quick --rows 20000 --threads 2 --pool 64MiB

#include "support/explaining.hpp"
#include "support/null_cast.hpp"
#include "support/null_cast_answers.hpp"

#include <assay/assay.cuh>

using namespace assay;

int main(int argc, char** argv) {
  cli::explaining explaining;
  auto const compare_on_device = [&](auto const& given, cli::options const& chosen) {
    auto found = given.with_type([&]<class T>(T) {
      mr::pool const pool{.initial_bytes = given.pool_bytes()};
      pipeline const control{given.template work<workloads::null_cast<T>>(),
                             on::device{chosen.device}, pool, given.concurrent()};
      return given.cross(chosen, "Which allocator, submitted how? CAST(COALESCE(x, 0) AS DOUBLE)",
                         control, std::pair{"pool", pool}, std::pair{"async", mr::async{}},
                         explaining);
    });
    if (found) { examples::answer_allocator_questions(*found); }
    return found;
  };
  return examples::run_null_cast(
      argc, argv,
      "Which allocator, submitted how? On a GPU; without one, or with --host, on the CPU.",
      [&](examples::null_cast_parameters const& given, cli::options const& chosen) {
        bool const host = chosen.host || (!chosen.device_named && device_count() == 0);
        if (host && !chosen.host) { std::cerr << "no GPU: the host half is run\n"; }
        if (host) { explaining.check_host(); }
        return host ? examples::null_cast_on_host(given, chosen) : compare_on_device(given, chosen);
      },
      explaining);
}
