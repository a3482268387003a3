# SPDX-License-Identifier: Apache-2.0
"""The structure check itself: it passes a good tree, and finds each breach in a broken one."""
import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from check_structure import breaches  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
START = SPDX + "/// @file\n/// One sentence.\n#pragma once\n"
FIRST = START + "#include <assay/core/requirements.hpp>\n"
GOOD = {
    "include/assay/core/requirements.hpp": START + "#if __cplusplus < 202002L\n#error \"C++20\"\n#endif\n",
    "include/assay/core/low.hpp": FIRST + "#include <vector>\n/// A thing.\nstruct low : std::vector<int> {};\n",
    "include/assay/core/device.hpp": FIRST + "#include <cuda_runtime_api.h>\n",
    "include/assay/core/platform.hpp": FIRST + "#if __has_include(<nvtx3/nvToolsExt.h>)\n"
                                             "#include <cuda_runtime.h>\n#endif\n",
    "include/assay/memory/concepts.hpp": START + "#include <assay/core/low.hpp>\n",
    "include/assay/memory/async.hpp": START + "#include <assay/core/device.hpp>\n",
    "include/assay/pool/pool.hpp": START + "#include <assay/memory/async.hpp>\n",
    "include/assay/submit/graph.hpp": START + "#include <assay/memory/concepts.hpp>\n",
    "include/assay/workload/cast.cuh": START + "#include <assay/memory/async.hpp>\n"
                                               "template <class T>\n__global__ void cast(T* x) {\n  *x = 0;\n}\n"
        "template <int Size, unsigned Count>\n__device__ int f(float (&x)[Count]) {\n  return Size;\n}\n",
    "include/assay/host/own.hpp": FIRST + "namespace detail {\nstruct one {\n};\nstruct two {};\n"
                                          "}  // namespace detail\n",
    "include/assay/trace/model.hpp": START + "#include <assay/core/low.hpp>\n"
        "#ifndef ASSAY_DECLARED\n#include <assay/trace/model_definitions.hpp>\n#endif\n",
    "include/assay/trace/recorder.hpp": START + "#include <assay/core/device.hpp>\n",
    "include/assay/report/trace_table.hpp": START + "#include <assay/trace/model.hpp>\n",
    "include/assay/report/json.hpp": FIRST + "#include <nlohmann/json.hpp>\n",
    # Functions that two units may define, and declarations.
    "include/assay/core/functions.hpp": FIRST + "#include <string>\n#include <vector>\n"
        "int declared(int x);\n[[nodiscard]] inline int once() { return 1; }\nconstexpr int twice() {\n  return 2;\n}\n"
        "template <class T>\nrequires(sizeof(T) > 1)\nT any(T x) {\n  return x;\n}\nvoid visit(auto& x) {\n  ++x;\n}\n"
        "/// Has one.\nstruct has {\n  std::string text(std::vector<int> of = {}) const { return {}; }\n};\n"
        "inline std::string text() {\n  return R\"(\nint f() { std::nothing }\n)\";  // std::nowhere\n}\n"
        "ASSAY_INLINE has::has() = default;\nhas made(int x) = delete;\ninline has const one = {text()};\n",
    "tests/core/low.cpp": SPDX,
}
CAST = "include/assay/workload/cast.cuh"
LOW = "include/assay/core/low.hpp"
GRAPH = "include/assay/submit/graph.hpp"
# (file, what is added to it or, as a whole new file, its text, what the check has to say)
BROKEN = [
    (LOW, "#include <assay/memory/concepts.hpp>\n", "only point down"),
    (LOW, "#include <assay/core/nowhere.hpp>\n", "there is no assay/core/nowhere.hpp"),
    (LOW, '#include "assay/core/device.hpp"\n', "angle brackets"),
    (LOW, "#include <assay/core/low.hpp>\n", "include cycle"),
    (GRAPH, "#include <assay/memory/async.hpp>\n", "only point down"),
    ("include/assay/copy/bulk.hpp", START + "#include <assay/memory/async.hpp>\n", "knows no policy"),
    ("include/assay/copy/bulk.hpp", START + "#include <assay/pool/pool.hpp>\n", "only point down"),
    ("include/assay/comm/ring.hpp", START + "#include <assay/workload/cast.cuh>\n", "cannot include a .cuh"),
    ("include/assay/stray/thing.hpp", START, "in no layer"),
    ("include/assay/core/detail/thing.hpp", START, "no detail folders"),
    (LOW, "#define LOW 1\n", "no macros"),
    (LOW, "#ifdef LOW\n#endif\n", "no #if"),
    (LOW, "#ifndef ASSAY_COMPILED\n#include <assay/core/device_definitions.hpp>\n#endif\n", "no #if"),
    (LOW, "#ifndef ASSAY_DECLARED\n#include <assay/core/device_definitions.hpp>\n#endif\n", "no #if"),
    ("include/assay/core/device_definitions.hpp", FIRST, "no files of src/ include it"),
    (LOW, "//\n" * 350, "at most 350 lines"),
    (LOW, "// " + "x" * 100 + "\n", "columns"),
    (LOW, "struct bare {};\n", "bare has no `///`"),
    ("include/assay/host/own.hpp", "struct bare {};\n", "bare has no `///`"),
    (LOW, "template <class T>\nconcept bare = true;\n", "bare has no `///`"),
    (CAST, "\n\n\n\n__global__ void plain() {\n}\n", "is a template"),
    (CAST, "template <class T>\n__global__ void long_one() {\n" + "  ;\n" * 40 + "}\n", "at most 40 lines"),
    (LOW, "int f(int x = {}) {\n  return x;\n}\n", "two units do not link"),
    (LOW, "namespace detail {\nstd::vector<int> f(\n    int x) noexcept(false) {\n  return {x};\n}\n}  // namespace detail\n",
     "two units do not link"),
    (LOW, "template <>\nint f<int>() {\n  return 1;\n}\n", "two units do not link"),
    (LOW, "low::low(int x)\n    : x_{x} {}\n", "two units do not link"),
    (LOW, "low::low() = default;\n", "two units do not link"),
    (LOW, "bool operator==(low const& a, low const& b) { return true; }\n", "two units do not link"),
    (LOW, "bool low::operator()(int x) const { return x; }\n", "two units do not link"),
    (LOW, "inline std::string f() { return {}; }\n", "string needs #include <string>"),
    (LOW, "inline auto f(auto& x) { std::ranges::sort(x); }\n", "ranges::sort needs #include <algorithm>"),
    (LOW, "#include <iosfwd>\ninline void f(std::ostream& out) { out << 1; }\n", "needs #include <ostream>"),
    (LOW, "inline uint8_t f() { return {}; }\n", "uint8_t needs #include <cstdint>"),
    (LOW, "inline auto f() { return std::barrier{1}; }\n", "std::barrier is of no header in STANDARD"),
    (LOW, "#include <string>\ninline int f() { return 1; }\n", "no name of <string> is used"),
    (CAST, "template <int Size, int Count>\n__device__ void f(float (&x)[2][Count * 2]) {}\n", "Count is an extent"),
    ("include/assay/core/alone.hpp", START, "includes assay/core/requirements.hpp"),
    ("include/assay/core/empty.hpp", "#pragma once\n", "SPDX"),
    ("include/assay/core/empty.hpp", SPDX + "#pragma once\n", "/// @file"),
    ("include/assay/core/empty.hpp", SPDX + "/// @file\n/// One.\n", "#pragma once"),
    ("tests/core/other.cpp", "int main() {}\n", "SPDX"),
    ("tests/core/low.cpp", "// TO" "DO: later\n", "unfinished"),
    ("tests/core/low.cpp", SPDX + "// It is slow. assay-test-timeout: 9\n", "a marker begins its line"),
    ("notes.md", "see /ho" "me/somebody/x\n", "somebody's machine"),
    ("notes.md", "one\n<<<<<" "<< HEAD\ntwo\n", "merge conflict"),
]


def write(tree, files):
    for name, text in files.items():
        path = pathlib.Path(tree, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class CheckStructure(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        write(self.tree, GOOD)

    def found(self):
        return [f"{path}:{line}: {what}" for path, line, what in breaches(self.tree)]

    def test_a_good_tree_has_no_breach(self):
        self.assertEqual(self.found(), [])

    def test_a_header_is_internal_to_its_room(self):
        inner = FIRST.replace("One sentence.", "Internal to core. One sentence.")
        write(self.tree, {"include/assay/core/inner.hpp": inner})
        use = "#include <assay/core/inner.hpp>\n"
        pathlib.Path(self.tree, LOW).write_text(GOOD[LOW] + use)
        self.assertEqual(self.found(), [])
        pathlib.Path(self.tree, GRAPH).write_text(GOOD[GRAPH] + use)
        self.assertIn("internal to its room", self.found()[0])
        self.assertEqual(len(self.found()), 1)

    def test_a_template_has_more_than_one_instantiation(self):
        low = GOOD[LOW] + "/// A thing.\ntemplate <class T>\nclass basic_thing {};\nusing thing = basic_thing<int>;\n"
        pathlib.Path(self.tree, LOW).write_text(low)
        self.assertIn("thing is the only basic_thing", self.found()[0])
        self.assertEqual(len(self.found()), 1)
        pathlib.Path(self.tree, "tests/core/low.cpp").write_text(SPDX + "basic_thing<fake> other;\n")
        self.assertEqual(self.found(), [])

    def test_each_breach_is_found(self):
        for name, added, expected in BROKEN:
            with self.subTest(file=name, expected=expected):
                before = GOOD.get(name, "")
                write(self.tree, {name: before + added})
                found = self.found()
                self.assertTrue(any(line.startswith(name) and expected in line for line in found), found)
                if before:
                    write(self.tree, {name: before})
                else:
                    (self.tree / name).unlink()

    def test_a_cycle_through_two_headers_is_found(self):
        write(self.tree, {LOW: GOOD[LOW] + "#include <assay/core/high.hpp>\n",
                          "include/assay/core/high.hpp": START + "#include <assay/core/low.hpp>\n"})
        self.assertTrue(any("include cycle: core/high.hpp -> core/low.hpp -> core/high.hpp" in line
                            for line in self.found()))

    def test_definitions_find_what_includes_their_door_complete(self):
        door = START + "#include <assay/core/low.hpp>\n#ifndef ASSAY_COMPILED\n" \
                       "#include <assay/trace/model_definitions.hpp>\n#endif\n"
        definitions = START + "#include <assay/trace/model.hpp>\n#include <assay/trace/view.hpp>\n"
        write(self.tree, {"include/assay/trace/model.hpp": door,
                          "include/assay/trace/model_definitions.hpp": definitions,
                          "include/assay/trace/view.hpp": START + "#include <assay/trace/model.hpp>\n",
                          "src/assay.cpp": START + "#include <assay/trace/model_definitions.hpp>\n"})
        self.assertEqual(self.found(), ["include/assay/trace/model_definitions.hpp:1: sees trace/view.hpp before that is "
                                        "complete, where a program includes trace/view.hpp first"])

    def test_a_room_with_more_than_30_files_is_found(self):
        more = {f"include/assay/host/loop_{i}.hpp": GOOD["include/assay/host/own.hpp"] for i in range(29)}
        write(self.tree, more)  # with own.hpp 30 files
        self.assertEqual(list(self.found()), [])
        write(self.tree, {"include/assay/host/loop_29.hpp": GOOD["include/assay/host/own.hpp"]})
        self.assertTrue(any("a room has at most 30 files, this has 31" in line for line in self.found()))


if __name__ == "__main__":
    unittest.main()
