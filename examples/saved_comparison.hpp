// SPDX-License-Identifier: Apache-2.0
/// @file
/// `saved_comparison`: the comparison in a file that --json wrote.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/json.hpp>

#include <nlohmann/json.hpp>

#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

namespace assay::examples {

/// The document in a JSON file. Throws `std::invalid_argument` with its path where there is none.
inline report::document saved_document(std::string const& path) {
  try {
    require_readable(path);
    std::ifstream file{path, std::ios::binary};
    return report::document::parse(file);
  } catch (read_error const& error) {
    throw std::invalid_argument(
        concat({error.what(), ": name a JSON file that a comparison wrote with --json"}));
  } catch (report::document::parse_error const& error) {
    throw std::invalid_argument(
        concat({path, " is not JSON: name a file that --json wrote (", error.what(), ")"}));
  }
}

/// Calls `parse` for a document of this file; a refusal names the path and the remedy.
template <class Parse>
auto parsed(std::string const& path, Parse const& parse) {
  try {
    return parse();
  } catch (std::exception const& error) {  // a page of other results asks for what it draws
    throw std::invalid_argument(concat(
        {path, ": ", error.what(), "; write it anew with --json of the program that measured"}));
  }
}

/// The comparison in a document of this file.
inline measure::comparison saved_comparison(std::string const& path, report::document const& from) {
  auto const found = from.is_object() ? from.find("schema") : from.end();
  auto const schema =
      found != from.end() && found->is_string() ? found->get<std::string>() : "none";
  if (schema != "assay.comparison") {
    throw std::invalid_argument(concat({path, ": its schema is ", schema,
                                        ": name a file of assay.comparison, which --json writes"}));
  }
  return parsed(path, [&] { return report::from_json(from); });
}

}  // namespace assay::examples
