// SPDX-License-Identifier: Apache-2.0
/// @file
/// `save` and `load`: costs in a text file that knows its machine and its checksum.
#pragma once

#include <assay/dispatch/costs.hpp>
#include <assay/machine/environment.hpp>

#include <string>

namespace assay::dispatch {

/// The text of a file.
std::string to_text(costs const& of);

/// Writes the file whole or not at all. Throws `file_error`.
void save(std::string const& path, costs const& of);

/// Reads a file of `save`. Throws `read_error` where it is damaged, or of another CPU or number of
/// cores than `here`. The device counts if the file has paths on one and `here` names one: see
/// `load` of <assay/dispatch/device.hpp>. Another driver or compiler is one of the warnings.
costs load(std::string const& path, machine::environment const& here);
/// The same on this machine.
costs load(std::string const& path);

}  // namespace assay::dispatch

#ifndef ASSAY_DECLARED
#include <assay/dispatch/file_definitions.hpp>
#endif
