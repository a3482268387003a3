// SPDX-License-Identifier: Apache-2.0
#include <assay/trace/labels.hpp>

#include "catch.hpp"

#include <string>

using namespace assay::trace;

TEST_CASE("Mangled names are told apart from plain ones") {
  CHECK(demangled("_ZN3app5scaleIfEEvPT_i") == "void app::scale<float>(float*, int)");
  CHECK(demangled("plain_c") == "plain_c");
  CHECK(demangled("") == "");
}

TEST_CASE("A short name has no namespaces, template arguments, return type and parameters") {
  CHECK(short_kernel_name("void app::scale<float>(float*, int)") == "scale");
  CHECK(short_kernel_name("plain_c") == "plain_c");
  CHECK(short_kernel_name("app::plain(int)") == "plain");
  CHECK(short_kernel_name("void (anonymous namespace)::hidden<int>(int)") == "hidden");
  CHECK(short_kernel_name("void app::(anonymous namespace)::hidden(int)") == "hidden");
  CHECK(short_kernel_name("std::enable_if<((4)>(2)), void>::type app::sum<8, (app::kind)1>(int)") ==
        "sum");
  CHECK(short_kernel_name("void cub::detail::run<app::policy<int>::inner, "
                          "app::call(int)::{lambda(int)#1}>(int, cub::x<(bool)1>)") == "run");
  CHECK(short_kernel_name("void app::arrow<decltype (a->b), int>(int)") == "arrow");
  CHECK(short_kernel_name("void app::outer<int>::member<float>(float)") == "member");
  CHECK(short_kernel_name("unsigned int app::two_words(int)") == "two_words");
  CHECK(short_kernel_name("") == "");
  CHECK(short_kernel_name("(") == "(");
  auto const longest = "void app::" + std::string("k<") + std::string(100'000, 'x') + ">(int)";
  CHECK(short_kernel_name(longest) == "k");
}
