"""Secrets that can be told by their shape alone, whatever stands before them."""

from __future__ import annotations

import base64
import binascii
import re

from mindgauge.records.redaction.echoes import HIDDEN

_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|rk|pk)[-_](?=[A-Za-z0-9_-]*\d)(?:[A-Za-z0-9_-]{16,}[=+/.]*)+"  # OpenAI, Anthropic, OpenRouter, Stripe, DeepSeek
    r"|gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}"
    r"|hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}"
    r"|(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|AIza[\w-]{35}|ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{20,}"
    r"|xox[abeoprs]-[\w-]{10,}|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}"
    r"|nvapi-[\w-]{30,}|tgp_v1_[\w-]{20,}|fw_[A-Za-z0-9]{20,}|csk-[A-Za-z0-9]{20,}|dapi[0-9a-f]{32}|hvs\.[\w-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[0-9a-f]{40,}|AGE-SECRET-KEY-1[A-Z0-9]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # JSON Web Tokens
    r")"
)
"""Tokens whose issuers gave them a beginning of their own."""
_HOOK = re.compile(r"(hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)[\w/-]+")
_BEARER = re.compile(r"(?i)\b((?:bearer|api-?key|token)\s+)([\w.~+/=-]{8,})")
_SAID = re.compile(r"(?i)(\b(?:key|token|secret|password)(?: \w{1,20}){0,2}(?:[:=]| is) ?['\"]?)([\w.~+/=-]{12,})")
"""As servers complain: `Incorrect API key provided: …`."""
_BASIC = re.compile(r"(?i)\b(basic\s+)([A-Za-z0-9+/_-]{6,}={0,2})")


def hidden(text: str) -> str:
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
