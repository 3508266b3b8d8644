from __future__ import annotations

import asyncio
import time

import pytest

from mindgauge.models.deadline import Deadline


def test_each_block_has_its_own_time_and_only_the_late_end() -> None:
    async def main() -> list[float]:
        deadline = Deadline(0.2)

        async def one(begins: float, takes: float) -> float:
            await asyncio.sleep(begins)
            began = time.monotonic()
            try:
                with deadline:
                    await asyncio.sleep(takes)
            except TimeoutError:
                return -(time.monotonic() - began)
            await asyncio.sleep(0)  # a block that ended late leaves no cancellation behind
            return time.monotonic() - began

        calls = [(0.0, 5.0), (0.0, 0.01), (0.1, 5.0), (0.1, 0.05), (0.5, 5.0), (0.5, 0.05)]
        return [*await asyncio.gather(*(one(*call) for call in calls))]

    late, soon, later, in_time, last, after = asyncio.run(main())
    assert all(-0.6 < took <= -0.2 for took in (late, later, last)), "each as long after its own beginning"
    assert all(0 < took < 0.2 for took in (soon, in_time, after))


def test_a_task_that_somebody_else_cancels_is_cancelled() -> None:
    async def main() -> None:
        deadline = Deadline(0.05)

        async def call() -> None:
            with deadline:
                await asyncio.sleep(5)

        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        late = asyncio.Event()

        async def held() -> None:
            with deadline:
                try:
                    await asyncio.sleep(5)
                except asyncio.CancelledError:
                    late.set()
                    await asyncio.sleep(5)  # until it is cancelled from without, too

        task = asyncio.create_task(held())
        await late.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            await call()

    asyncio.run(main())
