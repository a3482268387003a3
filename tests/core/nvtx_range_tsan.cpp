// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread -g
// assay-grouped: no, since it includes another test
// The tests of ranges once more, watched for races.
#include "core/nvtx_range.cpp"
