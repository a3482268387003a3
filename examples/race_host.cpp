// SPDX-License-Identifier: Apache-2.0
// Which tile? A blocked transposition on the host has two sizes to choose; a race finds them.
// assay-test-args: --quick
#include <assay/race.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string_view>

constexpr std::size_t n = 256;

auto transpose(std::size_t rows, std::size_t columns) {
  return [=](assay::setup& make) {
    auto const x = make.random<float>(n * n);
    auto const y = make.output<float>(n * n);
    make.expect(y, [x](std::size_t i) { return x.seeded(i % n * n + i / n); });
    return [=] {
      for (std::size_t r = 0; r < n; r += rows) {
        for (std::size_t c = 0; c < n; c += columns) {
          for (std::size_t i = r; i < r + rows; ++i) {
            for (std::size_t k = c; k < c + columns; ++k) {
              y.data()[k * n + i] = x.data()[i * n + k];
            }
          }
        }
      }
    };
  };
}

int main(int count, char** words) try {
  assay::options chosen;
  if (count > 1 && std::string_view{words[1]} == "--quick") { chosen.max_seconds = 1; }
  // docs: race
  auto tiles = assay::space{{"rows", {1, 2, 4, 8, 16, 32}}, {"columns", {4, 8, 16, 32, 64}}};
  tiles.where([](assay::point const& at) { return at["rows"] * at["columns"] <= 1024; });
  auto const found = assay::race(
      tiles,
      [](assay::point const& at) {
        return transpose(static_cast<std::size_t>(at["rows"]),
                         static_cast<std::size_t>(at["columns"]));
      },
      chosen);
  std::cout << found;
  assay::write_header(found, "tuning.hpp");
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
