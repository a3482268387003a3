// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "dispatch/product_shape.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace assay;
using examples::product_shape;

TEST_CASE("the edge of a square product is its own, and a drawn shape is near the edge",
          "[dispatch]") {
  for (std::size_t n = 1; n <= 2048; ++n) {
    CHECK(product_shape{n, n, n}.edge() == Approx(static_cast<double>(n)).epsilon(1e-9));
  }
  product_shape const thin{2048, 2048, 8};
  CHECK(thin.edge() > 1.2 * std::cbrt(2048.0 * 2048 * 8));  // its bytes cost more than its flops
  CHECK(product_shape{8, 2048, 2048}.edge() == Approx(thin.edge()));
  stats::random_source random{test::fresh_seed()};
  double least = 1, most = 1;
  std::vector<std::size_t> edges{1, 5, 2048};
  edges.insert(edges.end(), 40, 100);
  for (auto const edge : edges) {
    auto const of = product_shape::drawn(edge, random);
    CHECK(of.edge() == Approx(static_cast<double>(edge)).epsilon(edge < 100 ? 1 : 0.03));
    least = std::min(least, static_cast<double>(of.m) / static_cast<double>(edge));
    most = std::max(most, static_cast<double>(of.n) / static_cast<double>(edge));
    CHECK(of.m <= 4 * edge);
    CHECK(of.k >= 1);
  }
  CHECK(most / least > 1.2);
}
