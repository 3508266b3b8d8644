"""`mindgauge.toml`: a model under a short name, and what is set up on the command line, from the file to what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models import config_file
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records.errors import UsageError
from mindgauge.store import Store, manifest
from tests import in_process
from tests.conftest import obliging
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path

CLOSED, OPEN = "help_or_harm/crisis_type", "help_or_harm/response"
SECRET = "sk-careline-0123456789"


@pytest.fixture
def stub() -> Any:
    with Stub(obliging) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("MINDGAUGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(folder: Path, text: str, name: str = "mindgauge.toml") -> None:
    (folder / name).write_text(text)


def set_up(folder: Path, stub: Stub, more: str = "") -> None:
    (folder / "system.md").write_text("You are Careline. Be kind.\n")
    write(
        folder,
        f'[models.careline]\nurl = "{stub.url}"\nmodel = "stub"\nlabel = "b7"\nsystem = "system.md"\n'
        'headers = { "X-Team" = "safety", "api-key" = "${CARELINE_KEY}" }\n'
        'parameters = { reasoning_effort = "low", top_p = 0.9, max_tokens = 77 }\n' + more,
    )


def test_all_that_is_set_up_is_sent_and_stands_in_the_run(
    folder: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(folder, stub)
    monkeypatch.setenv("CARELINE_KEY", SECRET)
    mindgauge.run(OPEN, model="careline", limit=2, out=folder / "run")
    body, headers = stub.bodies[0], stub.headers[0]
    assert body["messages"][0] == {"role": "system", "content": "You are Careline. Be kind."}
    assert body["messages"][1]["role"] == "user"
    assert (body["reasoning_effort"], body["top_p"], body["max_tokens"], body["model"]) == ("low", 0.9, 77, "stub")
    assert (headers["X-Team"], headers["api-key"]) == ("safety", SECRET)
    assert "Authorization" not in headers
    with Store(folder / "run") as store:
        assert {reply.model for reply in store.replies(OPEN)} == {"careline@b7"}
        assert all(reply.provenance["parameters"]["top_p"] == 0.9 for reply in store.replies(OPEN))
    kept = manifest.read(folder / "run")
    assert kept["models"]["careline@b7"]["system"].startswith("You are Careline")
    assert kept["keys"] == {"CARELINE_KEY": "localhost"}
    everything = b"".join(path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file())
    assert SECRET.encode() not in everything


def test_another_system_message_is_another_run(folder: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(folder, stub)
    monkeypatch.setenv("CARELINE_KEY", SECRET)
    first = mindgauge.run(OPEN, model="careline", limit=2).run
    assert mindgauge.run(OPEN, model="careline", limit=2).run == first
    assert stub.calls == 2
    (folder / "system.md").write_text("You are Careline. Be brief.")
    assert mindgauge.run(OPEN, model="careline", limit=2).run != first
    assert stub.calls == 4
    with pytest.raises(
        UsageError,
        match="the system message of careline@b7 is another one than this run's: a new build has a new --out, or another --label",
    ):
        mindgauge.run(OPEN, model="careline", limit=2, out=first)


def test_the_same_on_the_command_line(folder: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "system.md").write_text("Be kind.")
    monkeypatch.setenv("CARELINE_KEY", SECRET)
    command = [
        "run", CLOSED, "--model", stub.model, "--limit", "2", "--system", "system.md", "--label", "b8",
        "--header", "api-key: ${CARELINE_KEY}", "--max-tokens", "99", "--out", "run",
    ]  # fmt: skip
    result = in_process.mindgauge(*command)
    assert result.returncode == 0, result.stderr
    assert stub.bodies[0]["messages"][0] == {"role": "system", "content": "Be kind."}
    assert stub.bodies[0]["max_tokens"] == 99
    assert stub.headers[0]["api-key"] == SECRET
    with Store(folder / "run") as store:
        assert store.select("SELECT DISTINCT model FROM calls").fetchall() == [(f"{stub.model}@b8",)]


def test_judges_have_neither_the_system_message_nor_the_length_of_the_tested(folder: Path, stub: Stub) -> None:
    (folder / "system.md").write_text("Be kind.")
    mindgauge.run(
        OPEN, model=stub.model, judge=stub.judge, limit=1, system="system.md", max_tokens=11, judge_max_tokens=222,
        out=folder / "run",
    )  # fmt: skip
    reply, verdict = stub.bodies[0], stub.bodies[-1]
    assert (reply["max_tokens"], verdict["max_tokens"]) == (11, 222)
    assert verdict["messages"][0]["role"] == "user"
    assert verdict["temperature"] == 0


def test_a_model_that_is_set_up_in_two_ways_needs_two_names(folder: Path, stub: Stub) -> None:
    (folder / "system.md").write_text("Be kind.")
    with pytest.raises(UsageError, match="set up in two ways"):
        mindgauge.run(
            OPEN, model=stub.model, judge=stub.model, limit=1, system="system.md", own_family=True, out=folder / "run"
        )


def test_a_model_behind_a_short_name_does_not_judge_itself(folder: Path, stub: Stub) -> None:
    write(folder, f'[models.a]\nurl = "{stub.url}"\nmodel = "stub"\n[models.b]\nurl = "{stub.url}"\nmodel = "stub"\n')
    with pytest.raises(UsageError, match="the same model at the same server"):
        mindgauge.run(OPEN, model="a", judge="b", limit=1)


def test_a_family_is_told_by_what_stands_behind_a_short_name(folder: Path, stub: Stub) -> None:
    write(folder, f'[models.careline]\nurl = "{stub.url}"\nmodel = "gpt-5-mini"\n')
    mindgauge.run(OPEN, model="careline", limit=1, out=folder / "run")
    with pytest.raises(UsageError, match="replies of its own family, by careline"):
        mindgauge.rate(OPEN, replies=folder / "run", judge=f"{stub.url}#gpt-4o")
    with pytest.raises(UsageError, match="replies of its own family, by careline"):
        mindgauge.run(OPEN, model="careline", judge=f"{stub.url}#gpt-4o", limit=1, out=folder / "other")


def test_a_query_stays_behind_the_path_as_azure_wants_it(folder: Path, stub: Stub) -> None:
    write(folder, f'[models.azure]\nurl = "{stub.url}?api-version=2024-10-21"\nmodel = "gpt"\nkey = ""\n')
    model: Any = open_model("azure", Settings())
    assert model._url == f"{stub.url}/chat/completions?api-version=2024-10-21"
    assert "Authorization" not in model.headers


def test_a_key_that_is_named_goes_to_one_host(folder: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        folder,
        f'[models.a]\nurl = "{stub.url}"\nmodel = "stub"\nkey = "TEAM_KEY"\n'
        '[models.b]\nurl = "https://elsewhere.example.org/v1"\nmodel = "m"\nkey = "TEAM_KEY"\n',
    )
    with pytest.raises(UsageError, match="a needs a key: set the environment variable TEAM_KEY"):
        mindgauge.run(OPEN, model="a", limit=1)
    monkeypatch.setenv("TEAM_KEY", SECRET)
    with pytest.raises(UsageError, match="the key in TEAM_KEY would go to two hosts, localhost and elsewhere"):
        mindgauge.run(OPEN, model=["a", "b"], limit=1)


@pytest.mark.parametrize("header", ["X-Auth: ${TEAM}", "X-Thing: Bearer ${TEAM_TOKEN}", "X-Signature: ${TEAM}"])
def test_a_secret_is_told_by_its_header_or_its_variable(
    folder: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    for name in ("TEAM", "TEAM_TOKEN"):
        monkeypatch.setenv(name, SECRET)
    with pytest.raises(UsageError, match="would go to two hosts, localhost and elsewhere"):
        mindgauge.run(CLOSED, model=[stub.model, "https://elsewhere.example.org/v1#m"], header=[header], limit=1)
    assert stub.calls == 0


FAULTS = {
    '[models.a]\nurl = "http://h/v1"\nmodle = "m"\n': [
        "has an unknown key `modle`; did you mean `model`?",
        "lacks `model`",
    ],
    '[models.a]\nmodel = "m"\n': ["give either provider or url"],
    '[models.a]\nprovider = "opnai"\nmodel = "m"\n': ["provider 'opnai' is unknown; did you mean `openai`?"],
    '[models.a]\nurl = "ftp://h"\nmodel = "m"\n': ["url: "],
    '[models.a]\nurl = "http://h/v1?api_key=x"\nmodel = "m"\n': ["its parameter api_key holds a secret"],
    '[models.a]\nurl = "http://u:pw@h/v1"\nmodel = "m"\n': ["holds a password"],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nsystem = "gone.md"\n': ["there is no file", "gone.md"],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nheaders = { authorization = "Bearer x" }\n': [
        "holds a secret",
        "${VARIABLE}",
    ],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nheaders = { Content-Length = "3" }\n': [
        "header Content-Length is not for a set-up"
    ],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nparameters = { seed = 3 }\n': ["parameters.seed", "--runs|repeat"],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nparameters = { top_p = nan }\n': [
        "parameters.top_p is no value of JSON"
    ],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nparameters = { extra = { days = [2026-11-23] } }\n': [
        "parameters.extra is no value of JSON"
    ],
    '[models.a]\nurl = "http://h/v1"\nmodel = 3\n': ["model: expected `str`"],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nprice = "dear"\n': ["price 'dear': write IN:OUT"],
    '[models.a]\nurl = "http://h/v1"\nmodel = "m"\nconcurrency = 0\n': ["concurrency is at least 1"],
    '[models."a b"]\nurl = "http://h/v1"\nmodel = "m"\n': ["is no short name"],
    '[models.a]\nkind = "htpp"\n': ["kind is chat"],
    '[model.a]\nurl = "http://h/v1"\n': ["unknown table [model]; did you mean `models`?"],
    "models = 3\n": ["models are tables"],
    "[models.a\n": ["cannot read the configuration"],
}


@pytest.mark.parametrize("text", FAULTS, ids=[words[0][:40] for words in FAULTS.values()])
def test_what_cannot_be_so_is_named(folder: Path, text: str) -> None:
    write(folder, text)
    result = in_process.mindgauge("run", CLOSED, "--model", "a", "--limit", "1")
    assert result.returncode == 2
    message = " ".join(result.stderr.split())
    assert "mindgauge.toml" in message
    assert "Traceback" not in message
    with pytest.raises(UsageError) as error:
        config_file.find("a")
    for words in FAULTS[text]:
        assert any(word in str(error.value) for word in words.split("|")), error.value


def test_all_faults_of_a_file_are_named_at_once(folder: Path) -> None:
    write(folder, '[models.a]\nmodel = "m"\n[models.b]\nurl = "http://h/v1"\nmodell = "m"\n[thing]\n')
    with pytest.raises(
        UsageError, match=r"4 faults: .*\[thing\].*\[models\.a\] give.*\[models\.b\].*`modell`.*lacks `model`"
    ):
        config_file.find("a")


def test_an_empty_label_is_refused_lest_a_build_gets_the_answers_of_another(folder: Path, stub: Stub) -> None:
    mindgauge.run(CLOSED, model=stub.model, limit=1, out="run")
    result = in_process.mindgauge("run", CLOSED, "--model", stub.model, "--limit", "1", "--label", "", "--out", "run")
    assert result.returncode == 2
    assert "--label is empty" in result.stderr
    assert stub.calls == 1


def test_a_header_whose_variable_is_not_set_is_named_before_anything_is_sent(folder: Path, stub: Stub) -> None:
    set_up(folder, stub)
    with pytest.raises(UsageError, match="careline@b7: its header api-key needs the environment variable CARELINE_KEY"):
        mindgauge.run(OPEN, model="careline", limit=1)
    assert mindgauge.run(OPEN, model="careline", limit=1, dry_run=True).calls == 1
    assert stub.calls == 0


def test_a_name_that_is_not_set_up_says_what_is(folder: Path, stub: Stub) -> None:
    with pytest.raises(UsageError, match=r"unknown model 'careline'.*\[models\.careline\] in mindgauge\.toml"):
        open_model("careline", Settings())
    set_up(folder, stub)
    with pytest.raises(UsageError, match=r"did you mean careline\?"):
        open_model("carline", Settings())


def test_another_file_is_named_with_config_and_its_paths_start_there(folder: Path, stub: Stub) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "system.md").write_text("Be kind.")
    write(
        folder / "elsewhere", f'[models.a]\nurl = "{stub.url}"\nmodel = "stub"\nsystem = "system.md"\n', "models.toml"
    )
    result = in_process.mindgauge("run", CLOSED, "--model", "a", "--limit", "1", "--config", "elsewhere/models.toml")
    assert result.returncode == 0, result.stderr
    assert stub.bodies[0]["messages"][0]["content"] == "Be kind."


def test_a_file_with_a_byte_order_mark_is_read_as_an_editor_of_windows_writes_it(folder: Path) -> None:
    text = '\N{ZERO WIDTH NO-BREAK SPACE}[models.a]\r\nurl = "http://h/v1"\r\nmodel = "m"\r\n'
    write(folder, text)
    assert config_file.names() == ["a"]


def test_its_own_concurrency_is_kept(folder: Path) -> None:
    def slow(body: dict[str, Any], count: int) -> Any:
        import asyncio

        async def answer() -> Any:
            await asyncio.sleep(0.05)
            return obliging(body, count)

        return answer()

    with Stub(slow) as server:
        write(folder, f'[models.a]\nurl = "{server.url}"\nmodel = "stub"\nconcurrency = 2\n')
        mindgauge.run(CLOSED, model="a", limit=8)
        assert server.most_at_once == 2
