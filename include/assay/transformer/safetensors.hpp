// SPDX-License-Identifier: Apache-2.0
/// @file
/// Weights of a decoder as a safetensors file; needs nlohmann_json.
///
/// The format, of Hugging Face: the length of a header in 8 bytes, the header as JSON with type,
/// shape and bytes of each tensor, then the tensors without gaps.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/transformer/weights.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay::nn {
namespace detail {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

inline constexpr std::uint64_t most_header_bytes = 100'000'000;  // as their own reader allows

template <class Real>
inline constexpr char const* safetensors_type = std::is_same_v<Real, double> ? "F64" : "F32";

inline nlohmann::json shape_of(weight_tensor const& tensor) {
  return tensor.rows == 0 ? nlohmann::json{tensor.columns}
                          : nlohmann::json{tensor.rows, tensor.columns};
}

/// The header of an open file, which then stands at the first tensor.
inline nlohmann::json read_header(std::string const& path, std::ifstream& file,
                                  std::uint64_t file_bytes, std::uint64_t& header_bytes) {
  if (file_bytes < 8) {
    throw read_error(
        path, "it has " + std::to_string(file_bytes) + " bytes, a safetensors file has 8 or more");
  }
  std::array<char, 8> length{};
  file.read(length.data(), 8);
  std::memcpy(&header_bytes, length.data(), 8);
  if (header_bytes > std::min(file_bytes - 8, most_header_bytes)) {
    throw read_error(path, "its header would have " + std::to_string(header_bytes) +
                               " bytes: it is truncated, or no safetensors file");
  }
  std::string text(static_cast<std::size_t>(header_bytes), ' ');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  auto header = nlohmann::json::parse(text, nullptr, false);
  if (!file || !header.is_object()) {
    throw read_error(path, "its header is no object of JSON: it is no safetensors file");
  }
  return header;
}

/// Throws unless the header has the tensor in this type and shape; returns where it begins.
inline std::uint64_t find_tensor(std::string const& path, nlohmann::json const& header,
                                 weight_tensor const& tensor, char const* type,
                                 std::size_t element_bytes, std::uint64_t data_bytes) {
  auto const refuse = [&](std::string const& why) {
    throw read_error(path, "tensor " + tensor.name + ' ' + why);
  };
  auto const found = header.find(tensor.name);
  if (found == header.end()) { refuse("is missing"); }
  auto const member = [&](char const* name) {
    return found->is_object() && found->contains(name) ? (*found)[name] : nlohmann::json{};
  };
  if (member("dtype") != type) {
    refuse("has type " + member("dtype").dump() + ", wanted is " + type);
  }
  if (member("shape") != shape_of(tensor)) {
    refuse("has shape " + member("shape").dump() + ", wanted is " + shape_of(tensor).dump());
  }
  auto const offsets = member("data_offsets");
  auto const bytes = tensor.size() * element_bytes;
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    refuse("has no two offsets");
  }
  auto const begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (end < begin || end - begin != bytes || end > data_bytes) {
    refuse("is at bytes " + offsets.dump() + ", its shape has " + std::to_string(bytes) +
           " bytes and the file has " + std::to_string(data_bytes) + " of data");
  }
  return begin;
}

/// Throws for tensors that the model does not have.
inline void refuse_others(std::string const& path, nlohmann::json const& header,
                          std::vector<weight_tensor> const& wanted) {
  std::set<std::string_view> names{"__metadata__"};
  for (auto const& each : wanted) { names.insert(each.name); }
  for (auto const& [name, value] : header.items()) {
    if (!names.contains(name)) {
      throw read_error(path, "tensor " + name + " is not one of the model");
    }
  }
}

}  // namespace detail

/// Writes weights in the order of `weight_tensors`. Readers see the old file or the whole new one.
/// Throws `file_error`, and `std::invalid_argument` for a wrong number of weights.
template <class Real>
requires std::is_same_v<Real, float> || std::is_same_v<Real, double>
void save_weights(std::string const& path, decoder const& model, std::span<Real const> all) {
  auto const count = static_cast<std::size_t>(model.parameters());
  if (all.size() != count) {
    throw std::invalid_argument("save_weights: there are " + std::to_string(all.size()) +
                                " weights, the model has " + std::to_string(count));
  }
  nlohmann::ordered_json header;
  for (auto const& each : weight_tensors(model)) {
    auto const begin = each.offset * sizeof(Real);
    header[each.name] = {{"dtype", detail::safetensors_type<Real>},
                         {"shape", detail::shape_of(each)},
                         {"data_offsets", {begin, begin + each.size() * sizeof(Real)}}};
  }
  auto text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  auto const length = static_cast<std::uint64_t>(text.size());
  std::array<char, 8> prefix{};
  std::memcpy(prefix.data(), &length, 8);
  atomic_file file{path};
  file.write({prefix.data(), prefix.size()});
  file.write(text);
  file.write({reinterpret_cast<char const*>(all.data()), all.size_bytes()});
  file.commit();
}

/// The weights of a file, in the order of `weight_tensors`. Throws `read_error` for a file that is
/// truncated or of another kind, and for tensors that are missing, unknown, or of another type
/// or shape.
template <class Real>
requires std::is_same_v<Real, float> || std::is_same_v<Real, double>
std::vector<Real> load_weights(std::string const& path, decoder const& model) {
  model.validate();
  auto const file_bytes = static_cast<std::uint64_t>(require_readable(path));
  std::ifstream file{path, std::ios::binary};
  std::uint64_t header_bytes = 0;
  auto const header = detail::read_header(path, file, file_bytes, header_bytes);
  auto const data_bytes = file_bytes - 8 - header_bytes;
  auto const wanted = weight_tensors(model);
  auto const all_bytes = static_cast<std::uint64_t>(model.parameters()) * sizeof(Real);
  detail::refuse_others(path, header, wanted);
  std::vector<std::uint64_t> begins;
  for (auto const& each : wanted) {
    begins.push_back(detail::find_tensor(path, header, each, detail::safetensors_type<Real>,
                                         sizeof(Real), data_bytes));
  }
  if (data_bytes != all_bytes) {
    throw read_error(path, "it has " + std::to_string(data_bytes) +
                               " bytes of data, its tensors have " + std::to_string(all_bytes));
  }
  std::vector<Real> all(static_cast<std::size_t>(model.parameters()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const part = std::span{all}.subspan(wanted[i].offset, wanted[i].size());
    file.seekg(static_cast<std::streamoff>(8 + header_bytes + begins[i]));
    file.read(reinterpret_cast<char*>(part.data()),
              static_cast<std::streamsize>(part.size_bytes()));
  }
  if (!file) { throw read_error(path, "it ended while it was read"); }
  return all;
}

}  // namespace assay::nn
