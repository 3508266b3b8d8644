"""Addresses that cannot be reached as they were meant."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.configured import configured
from tests.faults.campaign import Work, account, command, finish, one_line, record
from tests.faults.server import Server

if TYPE_CHECKING:
    from pathlib import Path

WORK = Work(4)


@pytest.fixture
def signed_by_itself(tmp_path: Path) -> ssl.SSLContext:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    making = ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(making, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.long
def test_a_certificate_that_nobody_vouches_for(tmp_path: Path, signed_by_itself: ssl.SSLContext) -> None:
    run = tmp_path / "run"
    with Server(tls=signed_by_itself) as server:
        arguments = command(server, run, WORK, *configured(tmp_path, tries=2))
        said = one_line(finish(arguments, code=1))
        assert "certificate" in said.lower()
        assert str(server.port) in said
        assert not server.calls
        finish(arguments, SSL_CERT_FILE=str(tmp_path / "certificate.pem"))
        found = account(server, run, WORK)
    assert found.sound and not found.repeated, found
    record("TLS", "a certificate signed by itself, then trusted", found, "one line, exit 1; then finished")


def test_tls_with_a_server_that_speaks_none(tmp_path: Path) -> None:
    with Server() as server:
        arguments = command(server, tmp_path, WORK, *configured(tmp_path, tries=2))
        secure = [word.replace("http://", "https://") for word in arguments]
        said = one_line(finish(secure, code=1))
        assert str(server.port) in said
        assert not server.paid


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    run, nowhere = tmp_path / "run", "http://nowhere.invalid/v1"
    with Server() as server:
        known = server.model().partition("#")[0]
        words = command(server, run, WORK, *configured(tmp_path, tries=2))
        lost = [word.replace(known, nowhere).replace(str(run), str(tmp_path / "lost")) for word in words]
        assert "nowhere.invalid" in one_line(finish(lost, code=1))
        assert not server.paid
        finish([word.replace(known, f"{nowhere},{known}") for word in words])
        found = account(server, run, WORK)
    assert found.sound and not found.repeated, found
    record("DNS", "a name that nobody knows; the same as one of two servers", found, "one line, exit 1; finished by the other server")  # fmt: skip
