# SPDX-License-Identifier: Apache-2.0
"""The generator of the documents' parts."""
import json
import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from generate_docs import NOTHING_YET, filled  # noqa: E402

REPORT = "title\n=====\nmargin 1 %\n\nVerdicts\n  FASTER: yes\n\nFindings (all)\n  a  b\n"


class GenerateDocs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.results = pathlib.Path(scratch.name)

    def part(self, name, before="old\n"):
        kind = name.split()[0]
        return f"before\n<!-- generated: {name} -->\n{before}<!-- end of {kind} -->\nafter\n"

    def test_sections_of_a_report_replace_what_was_there(self):
        (self.results / "x.txt").write_text(REPORT)
        wanted = "```\ntitle\n=====\nmargin 1 %\n\nFindings (all)\n  a  b\n```\n"
        name = "report x head Findings"
        self.assertEqual(filled(self.part(name), self.results), self.part(name, wanted))

    def test_filling_twice_changes_nothing(self):
        (self.results / "x.txt").write_text(REPORT)
        once = filled(self.part("report x Verdicts"), self.results)
        self.assertEqual(filled(once, self.results), once)

    def test_a_section_that_is_not_there_is_an_error(self):
        (self.results / "x.txt").write_text(REPORT)
        with self.assertRaises(SystemExit):
            filled(self.part("report x Nowhere"), self.results)

    def test_an_unknown_generator_is_an_error(self):
        with self.assertRaises(SystemExit):
            filled(self.part("poem"), self.results)

    def test_without_a_result_it_says_so(self):
        self.assertIn(NOTHING_YET, filled(self.part("report x head"), self.results))
        self.assertIn(NOTHING_YET, filled(self.part("figures"), self.results))

    def test_figures_are_taken_from_the_results_that_there_are(self):
        rows = [{"kernel": kernel, "type": kind, "rows": 2**28, "share_of_memcpy": share}
                for kind, bias in (("float", 0.3), ("int32", 0.0))
                for kernel, share in (("null_cast_fused", 0.951 - bias), ("is_valid", 0.9 - bias),
                                      ("copy_if_else", 0.92 - bias), ("cast", 0.94 - bias))]
        (self.results / "null_cast.json").write_text(json.dumps({"figures": {"kernels": rows}}))
        text = filled(self.part("figures"), self.results)
        self.assertIn("| `null_cast_fused`, 2^28 rows | >= 93 % of `cudaMemcpy` | 95.1% | "
                      "[null_cast](benchmarks/results/null_cast.json) |", text)
        self.assertNotIn("compile", text)


if __name__ == "__main__":
    unittest.main()
