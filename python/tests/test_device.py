# SPDX-License-Identifier: Apache-2.0
"""The package on a GPU, with torch; skipped without either."""
import unittest

import assay

try:
    import torch
    has_gpu = torch.cuda.is_available() and assay.has_cuda()
except ImportError:
    has_gpu = False


def scale(make, n, factor=2.0):
    x, y = make.random(n), make.output(n)
    make.expect(y, lambda: 2 * x.seeded())
    source, to = torch.from_dlpack(x), torch.from_dlpack(y)
    return lambda: torch.mul(source, factor, out=to)


@unittest.skipUnless(has_gpu, "no GPU, or no torch")
class Device(unittest.TestCase):
    def setUp(self):
        torch.cuda.init()

    def test_launches_of_torch_run_on_the_streams_of_the_library(self):
        before = torch.cuda.current_stream()
        x = torch.rand(1 << 20, device="cuda")
        y = torch.empty_like(x)
        seen = set()

        def once():
            seen.add(torch.cuda.current_stream().cuda_stream)
            torch.mul(x, 2, out=y)

        def many():
            for _ in range(10):
                torch.mul(x, 2, out=y)
        found = assay.compare("one", once, "ten", many, same_buffers=True)
        self.assertEqual(found.verdict, "SLOWER", str(found))
        self.assertEqual(found.primary_clock, "gpu")
        self.assertNotIn(before.cuda_stream, seen)
        self.assertEqual(torch.cuda.current_stream(), before)

    def test_results_of_factories_are_checked(self):
        right = lambda make: scale(make, 1 << 16)
        wrong = lambda make: scale(make, 1 << 16, factor=2.001)
        found = assay.compare("a", right, "b", right, max_epochs=8)
        self.assertIn("results: checked", str(found))
        self.assertEqual(assay.compare("a", right, "b", wrong).verdict, "WRONG ANSWER")

    def test_a_handle_serves_as_well(self):
        x = torch.rand(1 << 20, device="cuda")

        def work(stream):
            with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
                x.mul_(1.0)
        self.assertIn("gpu clock", str(assay.compare("a", work, "b", work, max_epochs=8)))

    def test_work_that_enqueues_nothing_proves_nothing(self):
        found = assay.compare("a", lambda: None, "b", lambda: None, on="cuda")
        self.assertEqual(found.verdict, "UNPROVEN", str(found))

    def test_verify_finds_a_tail(self):
        found = assay.verify(scale, on="cuda")
        self.assertTrue(found, str(found))

        def tail(make, n):
            x, y = make.random(n), make.output(n)
            make.expect(y, lambda: 2 * x.seeded())
            source, to = torch.from_dlpack(x), torch.from_dlpack(y)
            whole = n - n % 32
            return lambda: torch.mul(source[:whole], 2, out=to[:whole])
        found = assay.verify(tail, on="cuda")
        self.assertIn("never written", found.failure)

    def test_half_types(self):
        for dtype in (torch.float16, torch.bfloat16):
            def halves(make, n, tail=0):
                x, y = make.random(n, dtype, range=(-1, 1)), make.output(n, dtype)
                make.expect(y, lambda: 3 * x.seeded())
                source, to = torch.from_dlpack(x), torch.from_dlpack(y)
                self.assertEqual((source.dtype, to.dtype), (dtype, dtype))
                return lambda: torch.mul(source[:n - tail], 3, out=to[:n - tail])
            with self.subTest(dtype):
                found = assay.verify(halves, on="cuda")
                self.assertTrue(found, str(found))
                found = assay.verify(lambda make, n: halves(make, n, tail=n % 32), on="cuda")
                self.assertIn("never written", found.failure)

    def test_half_arrays_of_cupy(self):
        try:
            import cupy
        except ImportError:
            self.skipTest("no CuPy")

        def halves(make, n):
            x, y = make.random(n, cupy.float16, range=(-1, 1)), make.output(n, cupy.float16)
            make.expect(y, lambda: 3 * x.seeded())
            source, to = cupy.from_dlpack(x), cupy.from_dlpack(y)
            self.assertEqual(source.dtype, cupy.float16)
            return lambda: cupy.multiply(source, cupy.float16(3), out=to)
        found = assay.verify(halves, on="cuda")
        self.assertTrue(found, str(found))

    def test_triton_kernels_race(self):
        try:
            import triton
            import triton.language as tl
        except ImportError:
            self.skipTest("no triton")
        import scaled
        x = torch.rand(1 << 24, device="cuda")
        y = torch.empty_like(x)
        variants = {str(block): lambda block=block: scaled.scale[(triton.cdiv(x.numel(), block),)](
            x, y, x.numel(), block=block) for block in (64, 1024)}
        found = assay.race(variants, same_buffers=True)
        self.assertEqual(found.winner, "1024", str(found))


if __name__ == "__main__":
    unittest.main()
