// expect-error: copy::cp_async keeps 1 to 8 stages apart
// SPDX-License-Identifier: Apache-2.0
#include <assay/copy/cp_async.hpp>

int main() { return assay::copy::cp_async<9>::stages; }
