"""A call's key is the hash of all that is asked, however it is put together."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from mindgauge.records import Message
from mindgauge.records.records import encode
from mindgauge.records.request import Request

messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(max_size=20))


@given(st.lists(messages, max_size=12), st.integers(0, 30))
def test_a_dialogues_hash_that_goes_on_from_turn_to_turn_is_that_of_the_whole(said: list[Message], run: int) -> None:
    for turn in range(len(said) + 1):
        so_far = tuple(said[:turn])
        whole = hashlib.blake2b(b"[" + encode(so_far) + b",%d]" % run, digest_size=16).digest()
        assert Request(so_far, run).prompt_hash == whole
