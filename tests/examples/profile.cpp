// SPDX-License-Identifier: Apache-2.0
// profile.sh, with a stand-in for nsys that writes down how it was called.
#include "catch.hpp"
#include "folder.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using assay::test::contains;
namespace fs = std::filesystem;

namespace {

auto const script =
    fs::absolute(__FILE__).parent_path().parent_path().parent_path() / "examples" / "profile.sh";

/// A folder with an example that has two variants and a stand-in for nsys; gone with the test.
class stage {
 public:
  stage() {
    program("example",
            "case \"$*\" in *--list) printf 'pool{10 GiB}/a\\npool{10 GiB} a\\n' ;; esac\n");
    program("nsys",
            "{ for word; do printf '<%s>' \"$word\"; done; echo; } >> \"$(dirname \"$0\")/calls\"\n"
            "cat > /dev/null\n"  // reads what it is given, as the real one's child may
            "exit ${NSYS_RESULT:-0}\n");
  }

  struct outcome {
    int code;
    std::string out;
  };

  /// Runs the script here with these arguments and variables; stderr joins stdout.
  outcome run(std::string const& arguments, std::string const& variables = "NSYS=./nsys") const {
    auto const command = "cd '" + path_.string() + "' && " + variables + " sh '" + script.string() +
                         "' " + arguments + " 2>&1 < /dev/null";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int each = 0; (each = std::fgetc(pipe)) != EOF;) { text += static_cast<char>(each); }
    return {WEXITSTATUS(::pclose(pipe)), text};
  }

  std::string calls() const {
    std::ifstream in{path_ / "calls"};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  fs::path const& path() const { return path_; }

 private:
  void program(char const* name, std::string const& body) const {
    std::ofstream{path_ / name} << "#!/bin/sh\n" << body;
    fs::permissions(path_ / name, fs::perms::owner_all);
  }

  assay::test::folder const own_{"assay profile"};  // with a space, which a shell splits
  fs::path const path_ = own_.path();
};

}  // namespace

TEST_CASE("without nsys it says what to install, exit code 3, and makes nothing") {
  stage const here;
  auto const what = here.run("./example", "NSYS=no-such-nsys");
  CHECK(what.code == 3);
  CHECK_THAT(what.out,
             contains("error: no-such-nsys is not installed") && contains("Nsight Systems"));
  CHECK(!fs::exists(here.path() / "profiles"));
}

TEST_CASE("help is help") {
  stage const here;
  auto const what = here.run("--help", "NSYS=no-such-nsys");
  CHECK(what.code == 0);
  CHECK_THAT(what.out, contains("usage: profile.sh") && contains("Exit codes"));
}

TEST_CASE("bad usage names what is wrong, exit code 2") {
  stage const here;
  for (auto const& [arguments, says] :
       {std::pair{"", "no program given"}, std::pair{"--frob ./example", "--frob"},
        std::pair{"--batches 0 ./example", "'0'"}, std::pair{"--batches 1x ./example", "'1x'"},
        std::pair{"--out", "--out needs a value"}, std::pair{"./missing", "./missing"},
        std::pair{"--out example/x ./example", "example/x"}}) {
    INFO(arguments);
    auto const what = here.run(arguments);
    CHECK(what.code == 2);
    CHECK_THAT(what.out, contains("error: ") && contains(says));
  }
  CHECK(here.calls().empty());
}

TEST_CASE("each variant is profiled and exported under a name of its own") {
  stage const here;
  auto const what = here.run("--out 'my out' --batches 3 ./example --rows=7");
  INFO(what.out);
  CHECK(what.code == 0);
  CHECK(here.calls() ==
        "<profile><--trace=cuda,nvtx,osrt><--force-overwrite=true>"
        "<--output=my out/1-pool_10_GiB__a><./example><--rows=7>"
        "<--variant><pool{10 GiB}/a><--batches><3>\n"
        "<stats><--report><cuda_api_sum><--format><csv><--force-export=true>"
        "<--force-overwrite=true><--output><my out/1-pool_10_GiB__a>"
        "<my out/1-pool_10_GiB__a.nsys-rep>\n"
        "<profile><--trace=cuda,nvtx,osrt><--force-overwrite=true>"
        "<--output=my out/2-pool_10_GiB__a><./example><--rows=7>"
        "<--variant><pool{10 GiB} a><--batches><3>\n"
        "<stats><--report><cuda_api_sum><--format><csv><--force-export=true>"
        "<--force-overwrite=true><--output><my out/2-pool_10_GiB__a>"
        "<my out/2-pool_10_GiB__a.nsys-rep>\n");
  CHECK_THAT(what.out, contains("my out/2-pool_10_GiB__a_cuda_api_sum.csv"));
}

TEST_CASE("--only chooses variants without asking for the list") {
  stage const here;
  CHECK(here.run("--only x --only 'y z' ./example").code == 0);
  CHECK_THAT(here.calls(), contains("<--variant><x>") && contains("<--variant><y z>"));
  CHECK(here.calls().find("GiB") == std::string::npos);
}

TEST_CASE("a run that fails ends it with exit code 4") {
  stage const here;
  auto const what = here.run("./example --rows=7", "NSYS=./nsys NSYS_RESULT=1");
  CHECK(what.code == 4);
  CHECK_THAT(what.out, contains("error: variant 'pool{10 GiB}/a' failed under ./nsys"));
}
