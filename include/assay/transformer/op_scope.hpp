// SPDX-License-Identifier: Apache-2.0
/// @file
/// `op_scope`: the range of an operation, which also owns the nodes that a capture gets meanwhile.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/error.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/transformer/ledger.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::nn {

/// The owners of the nodes of the graph that a stream captures. Libraries such as cuBLAS may
/// capture several nodes for one call.
class capture_log {
 public:
  /// Looks whether the stream captures. A new capture begins a new log; without a capture, the last
  /// log stays, and `active()` is false.
  void look(::cuda::stream_ref stream) {
    auto status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    check(cudaStreamGetCaptureInfo(stream.get(), &status, &id, &graph_));
    if (status != cudaStreamCaptureStatusActive) {
      graph_ = nullptr;
    } else if (id != capture_) {
      capture_ = id;
      owned_.clear();
      nodes_.clear();
    }
  }
  bool active() const { return graph_ != nullptr; }

  /// Lists the nodes that the graph has by now. Call it before the capture ends.
  void list() {
    std::vector<cudaGraphNode_t> all(count());
    auto size = all.size();
    check(cudaGraphGetNodes(graph_, all.data(), &size));
    nodes_.clear();
    auto owner = owned_.begin();
    for (std::size_t i = 0; i < size; ++i) {
      while (owner != owned_.end() && owner->end <= i) { ++owner; }
      auto const is_owned = owner != owned_.end() && owner->begin <= i;
      add(all[i], is_owned ? owner->operation : captured_node::no_operation);
    }
  }
  /// In the order of their creation.
  std::vector<captured_node> const& nodes() const { return nodes_; }

 private:
  friend class op_scope;
  struct nodes_of {
    std::uint64_t operation = 0;
    std::size_t begin = 0, end = 0;
  };

  std::size_t count() const noexcept {
    std::size_t all = 0;
    check_noexcept(cudaGraphGetNodes(graph_, nullptr, &all));
    return all;
  }
  void add(cudaGraphNode_t node, std::uint64_t operation) {
    auto type = cudaGraphNodeTypeEmpty;
    check(cudaGraphNodeGetType(node, &type));
    using enum captured_node::kind;
    if (type == cudaGraphNodeTypeKernel) { nodes_.push_back({kernel, operation}); }
    if (type == cudaGraphNodeTypeMemcpy) { nodes_.push_back({copy, operation}); }
    if (type == cudaGraphNodeTypeMemset) { nodes_.push_back({set, operation}); }
  }

  cudaGraph_t graph_ = nullptr;
  unsigned long long capture_ = 0;
  std::vector<nodes_of> owned_;  // scopes follow each other, so these rise
  std::vector<captured_node> nodes_;
};

/// The range of an operation, with its number in the ledger as payload. While a stream captures,
/// the nodes that the graph gets between construction and destruction are the operation's.
class op_scope {
 public:
  op_scope(char const* name, std::uint64_t number, capture_log& log)
      : range_{name, category::gpu, number}, log_(log) {
    if (!log_.active()) { return; }
    auto const begin = log_.count();
    log_.owned_.push_back({number, begin, begin});
  }
  op_scope(op_scope const&) = delete;
  op_scope& operator=(op_scope const&) = delete;
  ~op_scope() {
    if (log_.active()) { log_.owned_.back().end = log_.count(); }
  }

 private:
  nvtx_range range_;
  capture_log& log_;
};

}  // namespace assay::nn
