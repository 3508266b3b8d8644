"""Secrets that stand behind a name (`password = "…"`, `--api-key …`, `?sig=…`), and those that can be told by their shape alone.

How sure a name is decides what its value must look like: nobody writes `password=` before a word of prose, but many a
`key:` stands before a word that is no secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

from mindgauge.records.redaction.echoes import HIDDEN
from mindgauge.records.regex import regex

_PEM = regex(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
_ISSUED = regex(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|rk|pk)[-_](?=[A-Za-z0-9_-]{0,500}\d)(?:[A-Za-z0-9_-]{16,}[=+/.]*)+"  # OpenAI, Anthropic, OpenRouter, Stripe, DeepSeek
    r"|gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}"
    r"|hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}"
    r"|(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|AIza[\w-]{35}|ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{20,}"
    r"|xox[abeoprs]-[\w-]{10,}|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}"
    r"|nvapi-[\w-]{30,}|tgp_v1_[\w-]{20,}|fw_[A-Za-z0-9]{20,}|csk-[A-Za-z0-9]{20,}|dapi[0-9a-f]{32}|hvs\.[\w-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[0-9a-f]{40,}|AGE-SECRET-KEY-1[A-Z0-9]{30,}"
    r"|eyJ(?:[A-Za-z0-9]|[_-](?!eyJ)){8,}+\.[\w-]{8,}\.[\w-]*"  # JSON Web Tokens
    r")"
)
"""Tokens whose issuers gave them a beginning of their own."""
_HOOK = regex(r"(hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)[\w/-]+")
_BEARER = regex(r"(?i)\b((?:bearer|api-?key|token)\s+)([\w.~+/=-]{8,})")
_SAID = regex(r"(?i)(\b(?:key|token|secret|password)(?: \w{1,20}){0,2}(?:[:=]| is) ?['\"]?)([\w.~+/=-]{12,})")
"""As servers complain: `Incorrect API key provided: …`."""
_BASIC = regex(r"(?i)\b(basic\s+)([A-Za-z0-9+/_-]{6,}={0,2})")


def hidden_by_shape(text: str) -> str:
    """Return a text without secrets that have a shape of their own."""
    text = _PEM.sub(HIDDEN, text)
    text = _ISSUED.sub(HIDDEN, text)
    text = _HOOK.sub(rf"\1{HIDDEN}", text)
    text = _BASIC.sub(lambda m: m[1] + (HIDDEN if _user_and_password(m[2]) else m[2]), text)
    text = _SAID.sub(lambda m: m[1] + (HIDDEN if random(m[2]) else m[2]), text)
    return _BEARER.sub(lambda m: m[1] + (HIDDEN if plausible(m[2]) else m[2]), text)


def plausible(value: str, shortest: int = 8) -> bool:
    """Say whether a value that stands where a secret would may be one: letters and digits, or capitals within."""
    return len(value) >= shortest and bool(
        (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)) or re.search(r"[a-z][A-Z]", value)
    )


def random(value: str) -> bool:
    """Say whether a value looks drawn by lot: letters and digits without a break, and no hash."""
    if re.fullmatch(r"(?:sha\d+:)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})", value):
        return False
    return any(len(run) >= 12 and plausible(run) for run in re.split(r"[^A-Za-z0-9]", value))


def _user_and_password(coded: str) -> bool:
    """Say whether this is the base64 of `user:password`."""
    try:
        raw = base64.urlsafe_b64decode(coded.replace("+", "-").replace("/", "_") + "=" * (-len(coded) % 4))
        text = raw.decode()
    except (binascii.Error, ValueError):
        return False
    return ":" in text and text.isprintable()


# Secrets that stand behind a name: `password = "…"`, `--api-key …`, `?sig=…`, `Authorization: Bearer …`, and their like.


_ENDS = (
    "apikey", "accesskey", "accesskeyid", "secretkey", "secretkeybase", "privatekey", "privatekeyid", "accountkey", "subscriptionkey",
    "signingkey", "encryptionkey", "sharedkey", "masterkey", "authkey", "storagekey", "licensekey", "sshkey",
    "authtoken", "accesstoken", "refreshtoken", "idtoken", "sessiontoken", "securitytoken", "bearertoken", "apitoken",
    "clientsecret", "apisecret", "appsecret", "keysecret", "password", "passwd", "passphrase", "passcode",
    "sharedaccesssignature", "amzsignature", "googsignature", "amzcredential", "googcredential",
)  # fmt: skip
"""How names end that stand before nothing but a secret, without marks between their words."""
_TOKENS = {"token", "secret", "signature", "jwt", "sig", "pwd"}
_WORDS = {"key", "pass", "pat", "auth", "credential", "credentials", "sas"}
_HEADERS = {"authorization", "cookie"}
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME = regex(
    r"(?<![\w.-])(?P<name>-{0,2}[A-Za-z_][\w.-]{0,100}+)"
    r"(?P<sep>(?:\\*[\"'])?[\])]*[ \t]*(?::=|=>|==?|:(?!//)|>|%3[DdAa])\s*|\\*[\"']\s*,\s*(?=\\*[\"'])|[ \t]+(?=\S))"
)
_QUOTED = regex(
    r"'\"'\"'(?P<shell>(?:\\.|(?!'\"'\"').)*)|\\'(?P<back>(?:(?!\\').)*)|(?P<slashes>\\+)\"(?P<json>(?:(?!(?P=slashes)\").)*)"
    r"|\"(?P<double>(?:\\.|[^\"\\])*)|'(?P<single>(?:\\.|''|[^'\\])*)",
    re.DOTALL,
)
_BRACED = regex(r"\{(?!\{)(?P<value>[^}\n]*)")
_IN_ADDRESS = regex(r"(?P<value>[^\s&#'\"<>]+)")
_BARE = regex(r"(?P<value>(?:\\.|'\"'\"'|(?<=\w)['\"](?=\w)|[^\s'\"<>`])+)")
_WORD_OF_COMMAND = regex(r"(?P<value>(?:\\.|[^\s])+)")
_LINE = regex(r"(?P<value>[^\n\r'\"`]+)")
_SCHEME = regex(r"(?i)((?:bearer|basic|token|api-?key|key|negotiate|digest|aws4-hmac-sha256|hawk)\s+)?")
_NO_SECRET = regex(
    r"(?i)[.…*x•-]*|none|null|nil|true|false|yes|no|undefined|required|missing|optional|unset|\$\{?\w+\}?|\$\(.*|%\w+%|\{+\w*\}+"
    rf"|<[^>]*>?|(?-i:[A-Z]+(?:_[A-Z]+)*)|{re.escape(HIDDEN)}.*",
    re.DOTALL,
)
"""What stands in a secret's place and is none: nothing, a variable, a name in capitals, what is hidden already."""
_USER = regex(r"(?<!\S)((?:-u|--user|--proxy-user|--auth|--login)[ =]['\"]?[^\s:'\"/]+:)(?!//)([^\s'\"]+)")
_NETRC = regex(r"(?i)(\b(?:machine|login)\s+\S{1,200}\s+(?:login\s+\S{1,200}\s+)?password\s+)(\S+)")
_PGPASS = regex(r"(?m)^((?:[\w.*-]{1,200}):(?:\d{1,5}|\*):[^:\s]{1,200}:[^:\s]{1,200}:)(\S+)$")
_LONGEST = 8192
"""Characters of a value that are looked at for its end."""


class _NamedSecret(NamedTuple):
    begin: int
    end: int
    value: str
    quoted: bool


def hidden(text: str, *, is_word: bool = False) -> str:
    """Return a text with `[hidden]` in place of values whose names say that they are secret.

    Args:
        text: any.
        is_word: whether quotation marks end no value, since the text is one word of a command.
    """
    option, equals, value = text.partition("=") if is_word else ("", "", "")
    if equals and asks_for_secret(option):
        return text if _NO_SECRET.fullmatch(value.rstrip(",;")) else f"{option}={HIDDEN}"
    parts: list[str] = []
    last = place = 0
    while match := _NAME.search(text, place):
        place = match.end("name") if match["sep"].isspace() else match.end("sep")
        kind = _kind(match["name"])
        if kind is None:
            continue
        value_place = _header(text, match) if kind == "header" else _value(text, match, kind, is_word=is_word)
        if value_place is None:
            continue
        parts += [text[last : value_place.begin], HIDDEN]
        last = place = value_place.end
    text = "".join([*parts, text[last:]])
    return _PGPASS.sub(_last_hidden, _NETRC.sub(_last_hidden, _USER.sub(_last_hidden, text)))


def asks_for_secret(word: str) -> bool:
    """Say whether a word of a command is an option whose value, the next word, is a secret."""
    kind = _kind(word) if word.startswith("-") and re.fullmatch(r"--?[\w.-]+", word) else None
    return kind in {"sure", "token"} or (kind == "word" and _single(word))


def _last_hidden(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2] if _NO_SECRET.fullmatch(match[2]) else HIDDEN}"


def _kind(name: str) -> str | None:
    """Say how sure a name is: `sure`, `token` or `word`; None where it names no secret."""
    bare = name.strip("-_.").rstrip("0123456789").rstrip("-_.")
    if name.startswith("MINDGAUGE_API_KEY_"):
        return "sure"
    words = [word.lower() for word in _WORD.findall(bare)]
    joined = "".join(words)
    if not words:
        return None
    if words[-1] in _HEADERS:
        return "header"
    if joined.endswith(_ENDS):
        return "sure"
    last = words[-1]
    return "token" if last in _TOKENS else "word" if last in _WORDS else None


def _single(name: str) -> bool:
    return len(_WORD.findall(name)) == 1


def _value(text: str, name: re.Match[str], kind: str, *, is_word: bool) -> _NamedSecret | None:
    """Return where the value behind a name is, if it may be a secret."""
    flag, separator = name["name"].startswith("-"), name["sep"]
    if separator.isspace() and not flag:
        return None
    in_address = (name.start() > 0 and text[name.start() - 1] in "?&") or separator.lower() in {"%3d", "%3a"}
    candidate = _quoted(text, name.end("sep")) or _open(text, name, in_address=in_address, is_word=is_word)
    if candidate is None or _NO_SECRET.fullmatch(candidate.value):
        return None
    variable = name["name"].isupper() and "=" in separator
    stated = flag or in_address or variable
    return candidate if _secret(text, name, kind, candidate, stated=stated) else None


def _secret(text: str, name: re.Match[str], kind: str, candidate: _NamedSecret, *, stated: bool) -> bool:
    value = candidate.value
    if kind == "sure":
        prose = name["sep"].strip() == ":" and name["sep"] != ":" and not candidate.quoted and not stated
        return not prose or bool(re.search(r"[\d\W]", value)) or _ends_line(text, candidate.end)
    if re.fullmatch(r"\d{1,7}", value):
        return False
    if kind == "token":
        return (
            stated
            or plausible(value, 6 if candidate.quoted or "=" in name["sep"] else 8)
            or (candidate.quoted and len(value) >= 20 and not re.search(r"\s", value))
        )
    if stated:
        return not name["name"].startswith("-") or _single(name["name"]) or plausible(value)
    return random(value)


def _ends_line(text: str, place: int) -> bool:
    return re.compile(r"[ \t,;)}\]'\"]*(?:[\r\n#]|$)").match(text, place) is not None


def _quoted(text: str, place: int) -> _NamedSecret | None:
    match = _QUOTED.match(text, place, place + _LONGEST)
    if match is None:
        return None
    group = next(name for name in ("shell", "back", "json", "double", "single") if match[name] is not None)
    return _NamedSecret(match.start(group), match.end(group), match[group], quoted=True)


def _open(text: str, name: re.Match[str], *, in_address: bool, is_word: bool) -> _NamedSecret | None:
    place = name.end("sep")
    if text.startswith(HIDDEN, place):
        return None
    line = text.rfind("\n", 0, name.start()) + 1
    alone = "\n" in text and not text[line : name.start()].strip(" \t-") and name["sep"].strip() == ":"
    pattern = _IN_ADDRESS if in_address else _LINE if alone else _WORD_OF_COMMAND if is_word else _BARE
    match = _BRACED.match(text, place, place + _LONGEST) or pattern.match(text, place, place + _LONGEST)
    if match is None:
        return None
    value = match["value"].rstrip() if in_address else match["value"].rstrip().rstrip(",;)]}")
    if "\n" in text[name.start() : match.start("value")] and not value:
        return None
    return _NamedSecret(match.start("value"), match.start("value") + len(value), value, quoted=False) if value else None


def _header(text: str, name: re.Match[str]) -> _NamedSecret | None:
    """Return where the secret of a header is: all but its scheme, to its end."""
    if name["sep"].isspace():
        return None
    place = name.end("sep")
    if quote := re.compile(r"\\*[\"']").match(text, place):
        place = quote.end()
    scheme = _SCHEME.match(text, place)
    scheme_text = scheme[1] if scheme and scheme[1] else ""
    begin = place + len(scheme_text)
    multiple = "cookie" in name["name"].lower() or scheme_text.strip().lower() in {"digest", "aws4-hmac-sha256", "hawk"}
    match = re.compile(r"[^\r\n'\\]+" if multiple else r"[^\s'\"\\<>]+").match(text, begin)
    if match is None or _NO_SECRET.fullmatch(match[0]):
        return None
    value = match[0].rstrip().rstrip(',;)]}"')
    sure = bool(scheme_text) or (multiple and "=" in value) or plausible(value) or len(value) >= 20
    return _NamedSecret(begin, begin + len(value), value, quoted=False) if sure and value else None
