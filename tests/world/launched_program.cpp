// SPDX-License-Identifier: Apache-2.0
// One rank of a job that a launcher started. With an argument rank 1 kills itself in the
// comparison.
#include <assay/compare/ranks.hpp>
#include <assay/world/world.hpp>

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>

int main(int argc, char**) try {
  auto const ranks = assay::world::from_environment(std::chrono::seconds{60});
  // Cells of a busy machine have few calls: ten come in each comparison.
  int calls = 0;
  auto const work = [&] {
    if (argc > 1 && ranks.rank() == 1 && ++calls == 10) { ::raise(SIGKILL); }
  };
  auto const found =
      assay::compare(ranks, "old", work, "new", work, {.max_epochs = 8, .warm_up_seconds = 0.01});
  auto const& one = found.findings.at(0);
  auto const verdict = std::string{to_string(one.outcome)} + ' ' + std::to_string(one.effect.ratio);
  auto const verdicts = ranks.gather(verdict);
  auto const places = ranks.gather(std::to_string(ranks.local_rank()));
  if (ranks.rank() != 0) { return 0; }
  std::cout << places.size() << " ranks, local";
  bool equal = true;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    std::cout << ' ' << places[rank];
    equal = equal && verdicts[rank] == verdict;
  }
  std::cout << (equal ? ", one verdict\n" : ", different verdicts\n");
  return 0;
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
