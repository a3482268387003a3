// SPDX-License-Identifier: Apache-2.0
#include <assay/nsys/sqlite.hpp>

int main() {
  assay::trace::write_nsys({}, "consumer.sqlite");
  return assay::trace::read_nsys("consumer.sqlite") == assay::trace::model{} ? 0 : 1;
}
