# SPDX-License-Identifier: Apache-2.0
"""The generator of the documents' parts."""
import json
import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from generate_docs import NOTHING_YET, filled, missed  # noqa: E402

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

    def test_a_missed_target_is_seen(self):
        for target, measured, wanted in (
                ("<= 9 us, >= 1.35x", "9.71 us, 162 GB/s; NCCL 16.74 us: 1.724x", True),
                ("<= 9 us, >= 1.35x", "8.99 us, 162 GB/s; NCCL 16.74 us: 1.350x", False),
                ("<= 9 us, >= 1.35x", "8.99 us, 162 GB/s; NCCL 9.74 us: 1.083x", True),
                ("360 GB/s, >= 1x", "4,575.25 us, 352 GB/s: 0.996x", True),
                (">= 352 GB/s", "186.08 us, 361 GB/s; NCCL 248.20 us", False),
                ("p50 <= 30 ns, p99 <= 150 ns", "12 ns, 151 ns", True),
                ("p50 <= 30 ns, p99 <= 150 ns", "12 ns, 150 ns", False),
                ("<= 2 us", "1,157 ns", False), ("<= 2 us", "2,157 ns", True),
                (">= 95 % of the bound", "94.4%; T(N) allows 95.9%", True),
                (">= 90 % of min(pinned link, host memcpy), >= 2.5x pageable", "116.4%, 2.49x", True),
                ("<= 38", "39", True), ("<= 38", "2", False),
                ("<= 15, as 5 % give in 95 of 100 runs", "16 of 200; kept 12 of 50", True),
                ("<= 15, as 5 % give in 95 of 100 runs", "6 of 200; kept 34 of 50", False),
                ("<= 1.25x `<cub/cub.cuh>`", "1.19x (14.5 s)", False),
                ("<= 3 s, <= 1 GiB", "1.91 s, 290,754,560 bytes", False),
                ("as before", "1.0004x [0.9975, 1.0035], EQUIVALENT", False), ("", "1.00x", False)):
            self.assertEqual(missed(target, measured), wanted, f"{target} | {measured}")

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
