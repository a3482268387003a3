// assay-uses: cupti

// SPDX-License-Identifier: Apache-2.0
// Whether a transfer's overlap is the same by events as by the trace of the same run.
#include "catch.hpp"

#include "support/link_stamps.hpp"
#include "support/traced_stages.hpp"
#include <assay/cupti/recorder.hpp>
#include <assay/machine/transfer_trial.hpp>
#include <assay/memory/async.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/workload/iterated_map.cuh>

#include <string>

using namespace assay;

namespace {

constexpr on::device place{0};

struct both {
  trace::stage_overlap by_events, by_trace;
};

/// One run, seen by both.
template <class Policy>
both run(Policy const& how, std::int64_t elements) {
  workloads::host_array<float> const in{static_cast<std::size_t>(elements),
                                        transfer::host_memory::page_locked};
  workloads::host_array<float> const out{static_cast<std::size_t>(elements),
                                         transfer::host_memory::page_locked};
  workloads::iterated_map<float> work{.elements = elements, .flops_per_element = 512};
  workloads::fill_input(work, 0, in.get());
  work.data = workloads::arrays_view<float, 1>{{in.get()}, elements, out.get()};
  trace::link_stamps stamps{place};
  auto engine = trace::open_stamped(how, place, mr::async{}.open(place), stamps);
  auto const job =
      trace::stamped(workloads::job_of(work, place, work.data->inputs, out.get()), stamps);
  stream const where{place};
  auto const once = [&] {
    stamps.restart(where);
    engine.run(where, job);
    where.synchronize();
  };
  for (int i = 0; i < 3; ++i) { once(); }
  auto const seen = trace::trace_stages(stamps, where, place.id, once);
  return {trace::overlap_of(seen.by_events), trace::overlap_of(seen.by_trace)};
}

/// Of each stage, and from the first beginning to the last end.
std::string in_words(trace::stage_overlap const& of) {
  std::string text;
  for (auto const each : of.busy_ns) { text += std::to_string(each / 1000) + ' '; }
  return text + "of " + std::to_string(of.extent_ns / 1000);
}

bool can_record() {
  trace::recorder tracer;
  tracer.start();
  auto const status = tracer.status();
  (void)tracer.stop();
  if (status.what == trace::recorder_status::kind::recording) { return true; }
  WARN("not recorded: " << status.text);
  return false;
}

}  // namespace

TEST_CASE("the overlap fraction by events is that of the timeline within 2 %", "[trace]") {
  if (!can_record()) { return; }
  std::int64_t const elements = test::small() ? 1 << 20 : 1 << 26;
  // 32 MiB take 0.6 ms, beside which what is left of the stamps' bias does not count.
  auto const overlapped = run(transfer::overlapped{.chunks = 8, .streams = 4}, elements);
  auto const pinned = run(transfer::pinned{}, elements);
  INFO("by events " << overlapped.by_events.fraction() << ", by the timeline "
                    << overlapped.by_trace.fraction() << "; us busy by events "
                    << in_words(overlapped.by_events) << ", by the timeline "
                    << in_words(overlapped.by_trace));
  CHECK(overlapped.by_trace.busy_ns[0] > 0);
  CHECK(overlapped.by_trace.busy_ns[1] > 0);
  CHECK(overlapped.by_trace.busy_ns[2] > 0);
  if (test::small()) { return; }
  CHECK(overlapped.by_events.fraction() == Approx(overlapped.by_trace.fraction()).margin(0.02));
  CHECK(overlapped.by_trace.fraction() > 0.5);
  CHECK(overlapped.by_events.duplex_share() ==
        Approx(overlapped.by_trace.duplex_share()).margin(0.02));
  CHECK(pinned.by_events.fraction() < 0.02);
  CHECK(pinned.by_trace.fraction() < 0.02);
}
