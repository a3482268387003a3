// SPDX-License-Identifier: Apache-2.0
#include "overlap_files.hpp"

#include "outputs.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/report/format.hpp>
#include <assay/report/link_json.hpp>
#include <assay/report/table.hpp>

namespace assay::examples {

void print_ceilings(std::ostream& out, machine::link_ceilings const& of) {
  auto const rate = [](double value) { return report::rate(value, "B"); };
  report::table table{{"Ceilings of this machine", "to device", "to host", "both"}};
  table.add({"pinned, one way", rate(of.to_device), rate(of.to_host), ""});
  table.add({"pinned, both ways at once", rate(of.to_device_duplex), rate(of.to_host_duplex),
             rate(of.duplex())});
  table.add({"pageable, one way", rate(of.pageable_to_device), rate(of.pageable_to_host), ""});
  for (auto const& each : of.host_copies) {
    table.add({"host memcpy, " + std::to_string(each.threads) +
                   (each.threads == 1 ? " thread" : " threads"),
               "", "", rate(each.bytes_per_second)});
  }
  table.print(out);
  out << "  Link: generation " << of.link.generation << " of " << of.link.max_generation << ", x"
      << of.link.width << " of x" << of.link.max_width << "\n  Pinning a GiB: cudaHostRegister "
      << report::duration(of.register_seconds_per_gib) << " (and "
      << report::duration(of.unregister_seconds_per_gib) << " to undo), cudaMallocHost "
      << report::duration(of.allocate_seconds_per_gib) << " (and "
      << report::duration(of.free_seconds_per_gib) << ")\n";
  for (auto const& each : of.problems) { out << "  NVML: " << each << '\n'; }
  out << '\n';
}

std::vector<std::filesystem::path> overlap_outputs(cli::options const& of) {
  std::vector<std::filesystem::path> paths;
  if (!of.csv.empty()) {
    paths.insert(paths.end(), {cli::beside(of.csv, "transfers"), cli::beside(of.csv, "sweep")});
  }
  if (!of.json.empty()) { paths.push_back(cli::beside(of.json, "curves")); }
  return paths;
}

void write_overlap(cli::options const& of, overlap_findings const& found) {
  if (!of.csv.empty()) {
    assay::write_atomically(cli::beside(of.csv, "transfers"), rows_csv(found.rows));
    assay::write_atomically(cli::beside(of.csv, "sweep"), sweep_csv(found.sweep));
  }
  if (!of.json.empty()) {
    auto all = curves_json(found.rows, found.sweep, found.pin);
    all["ceilings"] = report::to_json(found.ceilings);
    assay::write_atomically(cli::beside(of.json, "curves"), all.dump(1) + '\n');
  }
}

}  // namespace assay::examples
