// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/trace/glob.hpp>

#include <cstddef>
#include <random>
#include <string>

using namespace assay::trace;

namespace {

bool part(std::string text, std::string_view name) { return glob{text}.matches(name); }
bool whole(std::string text, std::string_view name) {
  return glob{text, glob_scope::whole}.matches(name);
}

/// The plain meaning of a glob that is bound to both ends.
bool plain(std::string_view glob, std::string_view name) {
  if (glob.empty()) { return name.empty(); }
  if (glob[0] == '*') {
    return plain(glob.substr(1), name) || (!name.empty() && plain(glob, name.substr(1)));
  }
  return !name.empty() && (glob[0] == '?' || glob[0] == name[0]) &&
         plain(glob.substr(1), name.substr(1));
}

}  // namespace

TEST_CASE("a glob is a part of the name unless it is bound to its ends") {
  CHECK(part("gemm", "ampere_sgemm_128x64_tn"));
  CHECK(!part("GEMM", "ampere_sgemm_128x64_tn"));
  CHECK(part("^nccl", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"));
  CHECK(!part("^nccl", "my_ncclKernel"));
  CHECK(part("_tn$", "ampere_sgemm_128x64_tn"));
  CHECK(!part("_nn$", "ampere_sgemm_128x64_tn"));
  CHECK(part("^a$", "a"));
  CHECK(!part("^a$", "aa"));
  CHECK(part("sgemm*_tn$", "ampere_sgemm_128x64_tn_tn"));
  CHECK(part("1?8x", "ampere_sgemm_128x64_tn"));
  CHECK(part("float *", "void f(float *)"));  // a star means itself, too
}

TEST_CASE("a whole glob is the name, and stars widen it") {
  CHECK(whole("forward", "forward"));
  CHECK(!whole("forward", "forward_backward"));
  CHECK(whole("forward*", "forward_backward"));
  CHECK(!whole("ward", "forward"));
  CHECK(whole("*ward", "forward"));
  CHECK(whole("step_??", "step_23"));
  CHECK(!whole("step_??", "step_2"));
}

TEST_CASE("alternatives are separate, and an empty glob means every name") {
  CHECK(part("^nccl|sendrecv", "a sendrecv b"));
  CHECK(whole("forward|backward", "backward"));
  CHECK(!whole("forward|backward", "forward|backward"));
  CHECK(part("", "anything"));
  for (auto const* glob : {"zzz|", "|zzz", "|", "q||zzz"}) { CHECK(!part(glob, "anything")); }
  CHECK(whole("", "anything"));
  CHECK(part("", ""));
  CHECK(part("*", ""));
  CHECK(!part("?", ""));
  CHECK(part("^$", ""));
  CHECK(!part("^$", "a"));
}

TEST_CASE("many stars over a long name cost no more than the product of both") {
  std::string text;
  for (int i = 0; i < 50; ++i) { text += "*a"; }
  CHECK(!part(text + "b", std::string(20'000, 'a')));
}

TEST_CASE("random globs mean what their plain definition says") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  auto const text = [&](char const* letters, std::size_t count, std::size_t most) {
    std::string made;
    for (auto length = random() % (most + 1); length > 0; --length) {
      made += letters[random() % count];
    }
    return made;
  };
  int hits = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto const glob = text("ab*?", 4, 6);
    auto const name = text("ab", 2, 8);
    INFO(glob << " against " << name);
    if (glob.empty()) { continue; }
    REQUIRE(whole(glob, name) == plain(glob, name));
    REQUIRE(part(glob, name) == plain("*" + glob + "*", name));
    REQUIRE(part("^" + glob, name) == plain(glob + "*", name));
    REQUIRE(part(glob + "$", name) == plain("*" + glob, name));
    hits += whole(glob, name);
  }
  CHECK(hits > 1000);
}
