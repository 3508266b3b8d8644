"""A way to a server that can be cut, closed and opened again, also in the middle of a word."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Proxy:
    """Passes on what comes to its port, as long as it is up."""

    def __init__(self, port: int) -> None:
        """Lead to a port of this machine."""
        self._target = ("127.0.0.1", port)
        self._up = True
        self._at = b""
        self._swallow = False
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        self.down()

    def cut(self) -> None:
        """End what is connected."""
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def down(self) -> None:
        """End what is connected, and let nobody in."""
        self._up = False
        self.cut()

    def up(self) -> None:
        self._up = True

    def cut_at(self, words: bytes, *, after: bool) -> None:
        """End the next connection that says this: before the server hears it, or before its answer comes back."""
        self._at, self._swallow = words, after

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if not self._up:
                    client.close()
                    continue
                server = socket.create_connection(self._target)
                self._open += [client, server]
                answered = threading.Event()
                for ends in ((client, server, answered), (server, client, answered)):
                    threading.Thread(target=self._pass_on, args=(*ends, ends[0] is client), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, heard: threading.Event, asks: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if asks and self._at and self._at in data:
                    self._at = b""
                    if not self._swallow:
                        break
                    heard.set()
                elif not asks and heard.is_set():
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
