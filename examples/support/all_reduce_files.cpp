// SPDX-License-Identifier: Apache-2.0
#include "all_reduce_files.hpp"

#include "outputs.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/report/json_values.hpp>

namespace assay::examples {

void require_all_reduce_outputs(cli::options const& of) {
  if (!of.csv.empty()) {
    for (auto const* part : {"table", "strategies", "blocks"}) {
      assay::require_writable(cli::beside(of.csv, part));
    }
  }
  if (!of.json.empty()) { assay::require_writable(cli::beside(of.json, "table")); }
}

void write_all_reduce(cli::options const& of, std::vector<all_reduce_table> const& tables,
                      strategy_findings const& found) {
  if (!of.csv.empty()) {
    assay::write_atomically(cli::beside(of.csv, "table"), tables_csv(tables));
    assay::write_atomically(cli::beside(of.csv, "strategies"), strategies_csv(found));
    assay::write_atomically(cli::beside(of.csv, "blocks"), blocks_csv(found));
  }
  if (!of.json.empty()) {
    auto all = strategies_json(found);
    all["tables"] = tables_json(tables);
    assay::write_atomically(cli::beside(of.json, "table"), all.dump(1) + '\n');
  }
}

}  // namespace assay::examples
