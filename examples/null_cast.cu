// SPDX-License-Identifier: Apache-2.0
// Four threads each submit 100 items of CAST(COALESCE(x, 0) AS DOUBLE), with temporaries allocated
// per item. Does the allocator change what a mutex round the submission costs?
// Predicts: yes. The driver's allocator adds calls that take the driver's locks, so the threads
// wait for each other also without the mutex, and the mutex has less left to take away.
// assay-test-args: --quick --rows 20000 --threads 2 --pool 64MiB

#include "support/null_cast.hpp"
#include "support/null_cast_answers.hpp"

#include <assay/assay.cuh>

using namespace assay;

int main(int argc, char** argv) {
  examples::null_cast_parameters given;
  CLI::App const* app = nullptr;
  auto const compare_on_device = [&](cli::options const& chosen) {
    return given.with_type([&]<class T>(T) {
      mr::pool const pool{.initial_bytes = given.pool_bytes()};
      pipeline const control{given.work<workloads::null_cast<T>>(), on::device{chosen.device}, pool,
                             given.concurrent()};
      auto options = chosen.measuring();
      options.title = "Which allocator, submitted how? CAST(COALESCE(x, 0) AS DOUBLE)";
      return given.run(
          chosen,
          [&] {
            auto found = factorial(control, levels{pool, mr::async{}},
                                   levels{given.concurrent(), given.serialized()}, options);
            examples::answer_allocator_questions(found);
            return found;
          },
          std::pair{"pool/concurrent", control},
          std::pair{"pool/serialized", control.with(given.serialized())},
          std::pair{"async/concurrent", control.with(mr::async{})},
          std::pair{"async/serialized", control.with(mr::async{}).with(given.serialized())});
    });
  };
  return cli::run(
      argc, argv,
      "Which allocator, submitted how? On a GPU; without one, or with --host, on the CPU.",
      [&](CLI::App& parser) {
        given.add_to(parser);
        app = &parser;
      },
      [&](cli::options const& chosen) {
        given.check(chosen, *app);
        bool const host = chosen.host || (device_count() == 0 && app->count("--device") == 0);
        return host ? examples::null_cast_on_host(given, chosen) : compare_on_device(chosen);
      });
}
