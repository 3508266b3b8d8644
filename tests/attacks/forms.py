"""How people and programs write secrets down: each form with what must go and what must stay. Nothing here is a key.

Tokens are put together here, so that no scanner of repositories takes them for real ones.
"""

from __future__ import annotations

import base64
import json
import shlex
from typing import NamedTuple
from urllib.parse import quote

WORD = "swallow-b2c81f"
"""A password of no shape."""
BODY = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3dEf6h"


class Form(NamedTuple):
    text: str
    secrets: tuple[str, ...]
    kept: str
    """What must be there still."""


def _jwt() -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": "42", "name": "nobody"}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, BODY])


def _pem(kind: str, end: str) -> str:
    lines = end.join([BODY, BODY[::-1]])
    return f"-----BEGIN {kind}PRIVATE KEY-----{end}{lines}{end}-----END {kind}PRIVATE KEY-----"


BASIC = base64.b64encode(f"annotator:{WORD}".encode()).decode()
HARD = (
    "p/ss",
    "p@ss",
    "p:ss",
    "p#ss",
    "p?ss",
    "p%ss",
    "p%2Fss",
    "p/s@s:s#s?s%s",
    "12/34",
    "p&ss=x",
    "p;ss,x",
    "p]s[s",
    "p$s!s*",
)
"""Passwords that hold what addresses give a meaning to."""


def _addresses() -> dict[str, Form]:
    forms = {}
    for hard in HARD:
        secret = f"{hard}{WORD}"
        forms[f"PostgreSQL, {hard}"] = Form(
            f"mindgauge annotate new --database 'postgresql://annotator:{secret}@db.example.org/labels' --items r",
            (secret, WORD), "@db.example.org/labels' --items r",
        )  # fmt: skip
        if hard != "12/34":
            forms[f"web, {hard}"] = Form(
                f"cannot reach https://me:{secret}@host.example.org/v1: gone",
                (secret, WORD),
                "host.example.org/v1: gone",
            )
    word = WORD
    return forms | {
        "user alone": Form(f"https://{word}@git.example.org/x", (word,), "@git.example.org/x"),
        "no user": Form(f"redis://:{word}@127.0.0.1:6379/0", (word,), "@127.0.0.1:6379/0"),
        "several hosts": Form(f"postgresql://u:{word}/x@a:5432,b:5433/labels?x=1", (word,), "@a:5432,b:5433/labels?x=1"),
        "several addresses": Form(f"--model http://u:{word}@a/v1,http://u:{word}/x@b/v1#m --limit 2", (word,), "@b/v1#m --limit 2"),
        "IPv6": Form(f"http://u:{word}/x@[::1]:8000/v1#m", (word,), "@[::1]:8000/v1#m"),
        "MongoDB": Form(f"mongodb+srv://u:{word}@c0.example.net/x?retryWrites=true", (word,), "c0.example.net/x?retryWrites=true"),
        "SQLAlchemy": Form(f"postgresql+pg8000://u:{word}@db/labels", (word,), "@db/labels"),
        "fsspec": Form(f"s3://keyname:{BODY[:8]}/{BODY[8:]}@bucket/folder", (BODY[:8], BODY[8:]), "@bucket/folder"),
        "fsspec, chained": Form(f"simplecache::s3://keyname:{word}@bucket/f", (word,), "@bucket/f"),
        "slashes as JSON escapes": Form(f'{{"url": "https:\\/\\/u:{word}@h.example.org\\/v1"}}', (word,), 'h.example.org\\/v1"}'),
        "within JSON": Form(json.dumps({"url": f"postgresql://u:a b{word}@db.example.org/x", "mail": "me@example.org"}), (word,), '"me@example.org"}'),
        "as a value of another": Form(f"https://x.example.org/go?to=https%3A%2F%2Fu%3A{word}%40h", (word,), "%40h"),
        "a proxy without a scheme": Form(f"HTTPS_PROXY=annotator:{word}@proxy.example.org:3128", (word,), "proxy.example.org:3128"),
        "a proxy": Form(f"https_proxy=http://annotator:{word}@proxy:3128", (word,), "@proxy:3128"),
        "api_key": Form(f"https://h.example.org/v1?api_key={word}#m", (word,), "?api_key=[hidden]#m"),
        "sig": Form(f"https://x.blob.example.net/c?sv=2024-01-01&sig={quote(BODY)}%3D&se=2026", (BODY,), "sv=2024-01-01&sig=[hidden]&se=2026"),
        "X-Amz-Signature": Form(f"https://b.example.org/o?X-Amz-Signature={BODY}&X-Amz-Expires=60", (BODY,), "&X-Amz-Expires=60"),
        "X-Amz-Security-Token": Form(f"https://b.example.org/o?X-Amz-Security-Token={BODY}&a=b", (BODY,), "&a=b"),
        "X-Goog-Credential": Form(f"https://b.example.org/o?X-Goog-Credential={word}&a=b", (word,), "&a=b"),
        "key": Form(f"https://h.example.org/v1beta/models?key={word}&page=2", (word,), "&page=2"),
        "access_token": Form(f"/callback?state=1&access_token={word}", (word,), "/callback?state=1"),
        "JDBC": Form(f"jdbc:postgresql://db/labels?user=u&password={word}&ssl=true", (word,), "&ssl=true"),
        "a Slack hook": Form(f"https://hooks.slack.com/services/T0001/B0001/{BODY}", (BODY,), "hooks.slack.com"),
    }  # fmt: skip


def _named() -> dict[str, Form]:
    word = WORD
    return {
        "--key=": Form(f"mindgauge run x --key={word} --limit 2", (word,), "--limit 2"),
        "--api-key": Form(f"mindgauge run x --api-key {word} --limit 2", (word,), "--limit 2"),
        "--api_key=''": Form(f"mindgauge run x '--api_key={word} and more' --limit 2", (word,), "--limit 2"),
        "--token": Form(f"mindgauge run x --token {word} --limit 2", (word,), "--limit 2"),
        "--password, quoted": Form(f"mindgauge run x --password 'a {word}' --limit 2", (word,), "--limit 2"),
        "-u": Form(f"curl -u annotator:{word} https://h.example.org", (word,), "https://h.example.org"),
        "--header": Form(f'curl --header "Authorization: Bearer {word}" https://h.example.org', (word,), '" https://h.example.org'),
        "-H, x-api-key": Form(f"curl -H 'x-api-key: {word}' https://h.example.org", (word,), "' https://h.example.org"),
        "basic": Form(f"Authorization: Basic {BASIC}", (BASIC,), "Authorization: Basic"),
        "basic, alone": Form(f"sent Basic {BASIC} to it", (BASIC,), "to it"),
        "bearer, alone": Form(f"sent Bearer {BODY} to it", (BODY,), "to it"),
        "proxy authorization": Form(f"Proxy-Authorization: Basic {BASIC}\r\nHost: h", (BASIC,), "Host: h"),
        "digest": Form(f"Authorization: Digest response={word}, nonce={word}\nHost: h", (word,), "Host: h"),
        "AWS4": Form(f"Authorization: AWS4-HMAC-SHA256 Credential={word}/x, Signature={BODY}\nHost: h", (word, BODY), "Host: h"),
        "cookie": Form(f"Cookie: session={word}; theme=dark\nHost: h", (word,), "Host: h"),
        "Azure's header": Form(f"api-key: {word}\nHost: h", (word,), "Host: h"),
        "a Python dict": Form(repr({"Authorization": f"Bearer {word}", "Host": "h"}), (word,), "'Host': 'h'"),
        "pairs": Form(repr([("x-api-key", word), ("Host", "h")]), (word,), "('Host', 'h')"),
        "arguments": Form(repr(["--api-key", word, "--limit", "2"]), (word,), "'--limit', '2'"),
        "export": Form(f'export OPENAI_API_KEY="{word}" && run', (word,), "&& run"),
        "a variable": Form(f"OPENAI_API_KEY={word} mindgauge list", (word,), "mindgauge list"),
        "a variable, numbered": Form(f"HF_TOKEN_2={word} mindgauge list", (word,), "mindgauge list"),
        "PGPASSWORD": Form("PGPASSWORD=hunter psql", ("hunter",), "psql"),
        "os.environ": Form(f'os.environ["ANTHROPIC_API_KEY"] = "{word}"; go()', (word,), "; go()"),
        "PowerShell": Form(f'$env:OPENAI_API_KEY = "{word}"', (word,), "OPENAI_API_KEY"),
        "JSON": Form(json.dumps({"api_key": f'{word} " x', "model": "m"}), (word,), '"model": "m"}'),
        "JSON, camels": Form(f'{{"clientSecret":"{word}","model":"m"}}', (word,), '"model":"m"}'),
        "JSON in JSON": Form(json.dumps({"body": json.dumps({"password": word, "model": "m"})}), (word,), "model"),
        "YAML": Form(f"model: m\npassword: correct {word} battery\nlimit: 2", (word,), "\nlimit: 2"),
        "YAML, nested": Form(f"server:\n  - api_key: {word}\n    model: m", (word,), "model: m"),
        "TOML": Form(f'secret_key = "{word}"\nmodel = "m"', (word,), 'model = "m"'),
        "INI": Form(f"aws_secret_access_key = {BODY[:20]}/{BODY[20:]}\nregion = x", (BODY[:20], BODY[20:]), "region = x"),
        "XML": Form(f"<password>{word}</password><model>m</model>", (word,), "<model>m</model>"),
        "DSN": Form(f"host=db dbname=labels password={word} port=5432", (word,), "port=5432"),
        "DSN, quoted": Form(f"host=db password='a\\'b {word}' port=5432", (word,), "port=5432"),
        "DSN in a command": Form(shlex.join(["x", f"host=db password='a {word}' port=1"]), (word,), "port=1"),
        "ODBC": Form(f"Driver=x;Server=db;Pwd={{a;b {word}}};", (word,), "Server=db"),
        "Azure, account": Form(f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={BODY}==", (BODY,), "AccountName=x"),
        "Azure, bus": Form(f"Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey={BODY}=", (BODY,), "SharedAccessKeyName=n"),
        ".netrc": Form(f"machine h.example.org login me password {word}", (word,), "h.example.org"),
        ".pgpass": Form(f"db.example.org:5432:labels:me:{word}", (word,), "db.example.org"),
        ".npmrc": Form(f"//registry.example.org/:_authToken={word}", (word,), "registry.example.org"),
        "docker": Form(f'{{"auths": {{"h": {{"auth": "{BASIC}"}}}}}}', (BASIC,), '"auths"'),
        "GCP": Form(json.dumps({"type": "service_account", "private_key": _pem("", "\n")}), (BODY,), "service_account"),
        "what a server says": Form(f"Incorrect API key provided: {BODY}. See the page", (BODY,), "See the page"),
        "a short secret": Form("secret=hunter2 port=1", ("hunter2",), "port=1"),
        "a short token": Form('{"token": "hunter2", "model": "m"}', ("hunter2",), '"model": "m"}'),
        "in words": Form(f"your key is {BODY} here", (BODY,), " here"),
        "URL-coded": Form(f"body=api_key%3D{word}&x=1", (word,), "x=1"),
    }  # fmt: skip


def _shaped() -> dict[str, Form]:
    tokens = {
        "OpenAI": f"sk-{BODY}", "OpenAI, project": f"sk-proj-{BODY}_{BODY}-x", "Anthropic": f"sk-ant-api03-{BODY}-{BODY}AA",
        "OpenRouter": f"sk-or-v1-{BODY.lower()}", "GitHub": f"ghp_{BODY}", "GitHub, server": f"ghs_{BODY}",
        "GitHub, fine": f"github_pat_11{BODY}_{BODY}", "GitLab": f"glpat-{BODY[:20]}", "Hugging Face": f"hf_{BODY}",
        "AWS": f"AKIA{BODY[:16].upper()}", "AWS, session": f"ASIA{BODY[:16].upper()}", "Google": f"AIza{BODY[:35]}",
        "Google, access": f"ya29.{BODY}", "Slack": f"xoxb-{BODY[:12]}-{BODY}", "Groq": f"gsk_{BODY}", "Replicate": f"r8_{BODY}",
        "NVIDIA": f"nvapi-{BODY}", "xAI": f"xai-{BODY}", "Perplexity": f"pplx-{BODY}", "Stripe": f"sk_live_{BODY}",
        "npm": f"npm_{BODY}", "Databricks": "dapi" + "0123456789abcdef" * 2, "JWT": _jwt(),
    }  # fmt: skip
    forms = {
        f"{name}, bare": Form(f"it said «{token}» is wrong", (token, token[8:]), "» is wrong")
        for name, token in tokens.items()
    }
    return forms | {
        "PEM": Form(f"{_pem('RSA ', chr(10))} end", (BODY,), " end"),
        "PEM, escaped": Form(f"{_pem('EC ', chr(92) + 'n')} end", (BODY,), " end"),
        "PEM, one line": Form(f"{_pem('OPENSSH ', ' ')} end", (BODY,), " end"),
        "PEM, cut": Form(_pem("", "\n")[:120], (BODY[:40],), ""),
    }


FORMS = {**_addresses(), **_named(), **_shaped()}

INNOCENT = (
    "mindgauge run help_or_harm/response --model http://127.0.0.1:8000/v1#org/model@main --limit 3",
    "mindgauge run x --model http://gpu1:8000/v1#org/model@rev,http://gpu2:8000/v1#org/model@rev",
    "mindgauge rate --replies a.csv --map key=subject --where key=crisis,token=none --max-tokens 512",
    "mindgauge annotate new --database postgresql://db.example.org:5432/labels?application_name=a@b",
    "write to me@example.org or mailto:me@example.org, see http://example.org/a@b?page=2#top",
    "gpt-4o-mini-2024-07-18, claude-3-5-sonnet-20241022, meta-llama/Llama-3.1-8B-Instruct, Qwen/Qwen2.5-7B-Instruct-GGUF",
    "sk-learn and sklearn, task-based dialogue, hf_transfer, risk-assessment-of-2024",
    "samples = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "key: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, commit e1c6d9e0123456789abcdef0123456789abcdef0",
    "id 123e4567-e89b-12d3-a456-426614174000 at 2026-11-23T07:36:11+00:00",
    "prompt_tokens=12, completion_tokens: 300, token: 5, tokens per second: 31.5, max_token=2048",
    "a key and a token; the secret of listening: time. The password: ask whoever runs the server",
    "openai needs a key: set the environment variable OPENAI_API_KEY",
    "no API key: set MINDGAUGE_API_KEY, or --key=VALUE, OPENAI_API_KEY=$KEY, password=<password>, api_key=None",
    "basic emotional support, bearer of bad news, token frequency, cookie: a biscuit",
    "/home/me/keys/token.txt: no such file; sort key: model, primary key: id",
    '{"model": "m", "key": "reply", "tokens": 12, "criterion": "empathy", "value": 4}',
    "C:\\Users\\me\\runs\\r: cannot write here; see docs/reference/servers.md and https://docs.example.org/keys?page=api#token",
    "I keep thinking: nobody would miss me. Why: I am tired. She said “call me at 10:30”, so I did.",
    "postgresql://localhost/labels, s3://bucket/folder/part=1@2, git@github.com:org/repo.git, ray://head:10001",
    "authorization failed (401): see the key; signature=none; 12:30:45 info: ok",
    "",
)  # fmt: skip
"""What holds no secret."""
