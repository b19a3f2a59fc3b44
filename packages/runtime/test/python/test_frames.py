"""Frames: cutting, reading and writing them."""

from __future__ import annotations

import random
import time
import typing
import unittest
from typing import Any

from host import TIMEOUT_SECONDS
from toolwright_provider import ToolError
from toolwright_provider.frames import FrameReader, OversizedFrame, encode_frame, is_deeper, parse_frame


class FramesTest(unittest.TestCase):
    def test_feed_returns_the_same_frames_however_the_bytes_are_split(self) -> None:
        data = '{"a":"é👩‍💻"}\r\n\n  \n[]\n{"b":"\\u2028"}\nrest'.encode()
        expected = list(FrameReader().feed(data))
        self.assertEqual(len(expected), 3)
        seed = random.randrange(2**32)
        rng = random.Random(seed)
        for size in [1, 2, 3] + [rng.randint(4, 40) for _ in range(20)]:
            frames, got = FrameReader(), []
            for at in range(0, len(data), size):
                got += frames.feed(data[at : at + size])
            self.assertEqual(got, expected, f"chunks of {size}, seed {seed}")
        self.assertEqual(parse_frame(typing.cast(bytes, expected[0])), {"a": "é👩‍💻"})

    def test_feed_takes_linear_time_for_single_bytes(self) -> None:
        frames = FrameReader()
        started = time.monotonic()
        for _ in range(300_000):
            list(frames.feed(b"x"))
        self.assertLess(time.monotonic() - started, TIMEOUT_SECONDS)
        self.assertEqual(len(typing.cast(bytes, list(frames.feed(b"\n"))[0])), 300_000)

    def test_feed_skips_a_large_frame_and_raises_for_a_huge_one(self) -> None:
        frames = FrameReader()
        chunk = b"x" * 1_000_000
        list(frames.feed(b'{"jsonrpc":"2.0","id":7,"method":"tools/call",'))
        for _ in range(17):
            list(frames.feed(chunk))
        large, after = list(frames.feed(b'\n{"a":1}\n'))
        self.assertIsInstance(large, OversizedFrame)
        self.assertEqual(typing.cast(OversizedFrame, large).request_id(), 7)
        self.assertEqual(after, b'{"a":1}')
        with self.assertRaises(ToolError):
            for _ in range(70):
                list(frames.feed(chunk))
        self.assertLess(len(frames._buffer), 2_000)

    def test_parse_frame_raises_for_anything_but_json(self) -> None:
        for frame in (b"\xff", b"{", b"NaN", b"1" * 5_000, b"[" * 200_000, b'\xef\xbb\xbf{}', '{"a":1}'.encode("utf-16")):
            with self.assertRaises((ValueError, RecursionError)):
                parse_frame(frame)

    def test_encode_frame_escapes_half_a_surrogate_pair(self) -> None:
        self.assertEqual(encode_frame({"a": "\ud800é"}), b'{"a":"\\ud800\\u00e9"}\n')

    def test_is_deeper_counts_the_levels(self) -> None:
        value: Any = 1
        for _ in range(64):
            value = [value]
        self.assertFalse(is_deeper(value, 64))
        self.assertTrue(is_deeper([value], 64))
        with self.assertRaises(ToolError):
            encode_frame({"a": value})
