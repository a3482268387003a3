// SPDX-License-Identifier: Apache-2.0
// An experiment of one's own with assay's options, files and exit codes.
// assay-uses: cli
// assay-test-args: --quick --rows 20000 --epochs 8
#include <assay/cli/run.hpp>
#include <assay/cli/variants.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.hpp>

#include <cstdint>

// docs: experiment
int main(int argc, char** argv) {
  using namespace assay;
  std::int64_t rows = 1'000'000;
  auto const options = [&](CLI::App& app) {
    app.add_option("--rows", rows, "rows of the column")->capture_default_str();
  };
  auto const experiment = [&](cli::options const& chosen) {
    cli::require_between("--rows", rows, std::int64_t{1}, std::int64_t{1} << 40);
    pipeline const control{workloads::null_cast<int>{.rows = rows}, on::host{1},
                           submit::sequential{.items = 4}};
    auto const fused = control.with(workloads::null_cast_fused<int>{.rows = rows});
    return cli::list_or_compare(chosen, cli::variants_of(control, fused),
                                chosen.measuring(control.place));
  };
  return cli::run(argc, argv, {"Does it pay to fuse three passes into one?"}, options, experiment);
}
// docs: end
