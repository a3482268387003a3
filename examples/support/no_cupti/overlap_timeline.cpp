// SPDX-License-Identifier: Apache-2.0
#include "../overlap_timeline.hpp"

namespace assay::examples {

overlap_timeline timeline_of(trace::link_stamps&, stream const&, int,
                             std::function<void()> const&) {
  return {{}, {}, false, "this program was built without CUPTI, which records timelines"};
}

}  // namespace assay::examples
