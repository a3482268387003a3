// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since a program has one tool of NVTX, from before main on
// With a tool built into the program, the hook leaves everything to it.
#include <assay/core/nvtx_range.hpp>
#include <assay/cupti/nvtx_hook.hpp>
#include <assay/trace/ranges.hpp>

#include "catch.hpp"
#include "record_ranges.hpp"

using namespace assay;

namespace {

int pushes = 0;
int pops = 0;
int domain_of_tool = 0;

nvtxDomainHandle_t create(char const*) {
  return reinterpret_cast<nvtxDomainHandle_t>(&domain_of_tool);
}
int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const*) {
  pushes += domain == reinterpret_cast<nvtxDomainHandle_t>(&domain_of_tool) ? 1 : 0;
  return 0;
}
int pop(nvtxDomainHandle_t) { return ++pops; }

int attach(NvtxGetExportTableFunc_t table_of) {
  auto const* const callbacks =
      static_cast<NvtxExportTableCallbacks const*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) { return 0; }
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}

// Earlier than any object with static storage duration.
[[gnu::constructor(101)]] void build_in() { InitializeInjectionNvtx2_fnptr = &attach; }

}  // namespace

TEST_CASE("A tool that was built in before has all ranges; recordings still have our own") {
  CHECK(trace::nvtx_hook::state() == trace::nvtx_hook_state::waiting);
  { nvtx_range const idle{"idle"}; }
  CHECK(trace::nvtx_hook::settle() == trace::nvtx_hook_state::other_tool);
  CHECK(pushes == 1);
  CHECK(pops == 1);
  auto const made = test::record_ranges([] {
    nvtxRangePushA("theirs");
    { nvtx_range const ours{"ours"}; }
    nvtxRangePop();
  });
  CHECK(pushes == 2);
  CHECK(pops == 2);
  REQUIRE(made.ranges.size() == 1);
  CHECK(made.strings[made.ranges[0].name] == "ours");
}
