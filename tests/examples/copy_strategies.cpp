// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "copy_strategies/options.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace assay;
using namespace assay::examples;
using assay::test::contains;

TEST_CASE("options have defaults by the machine, and are refused by name", "[examples]") {
  auto const parsed = [](std::vector<std::string> words, bool quick = false, int sms = 132) {
    copy_options options;
    CLI::App app;
    options.add_to(app);
    std::ranges::reverse(words);
    app.parse(words);
    return options.read(quick, sms);
  };
  CHECK(parsed({}).sms == std::vector<int>{4, 16, 64, 132, 0});
  CHECK(parsed({}, false, 40).sms == std::vector<int>{4, 16, 40, 0});
  CHECK(parsed({}).bytes == 256 << 20);
  CHECK(parsed({}).workloads == copy_workloads());
  CHECK(parsed({"--sms", "8,0"}).sms == std::vector<int>{8, 0});
  CHECK(parsed({"--workload", "transpose"}).workloads == std::vector<std::string>{"transpose"});
  CHECK(parsed({}, true).sms == std::vector<int>{4, 0});
  CHECK(parsed({}, true).bytes == 32 << 20);
  CHECK(parsed({}, true).workloads.size() == 4);
  CHECK(parsed({"--bytes", "1MiB"}, true).bytes == 1 << 20);
  CHECK_THAT(test::message_of([&] { parsed({"--sms", "133"}); }), contains("--sms 133"));
  CHECK_THAT(test::message_of([&] { parsed({"--bytes", "1B"}); }), contains("--bytes 1"));
  CHECK_THAT(test::message_of([&] { parsed({"--workload", "sum"}); }), contains("'sum'"));
}

TEST_CASE("there is a point for each workload on each number of SMs", "[examples]") {
  std::vector<std::string> labels;
  for (auto const& each : copy_points({1 << 20, {4, 132, 0}, {"scale_add", "transpose"}}, 132)) {
    labels.push_back(each.label());
  }
  CHECK(labels ==
        std::vector<std::string>{
            "sms=4 work=scale_add blocks=one each", "sms=132 work=scale_add blocks=one each",
            "sms=132 work=scale_add blocks=full", "sms=4 work=transpose blocks=one each",
            "sms=132 work=transpose blocks=one each", "sms=132 work=transpose blocks=full"});
}
