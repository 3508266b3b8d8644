"""What is rated and who rated it: messages, samples, replies, ratings; and what every room needs to read and write them."""

from mindgauge.records.records import (
    BASE,
    CUT_OFF,
    HELD,
    Evidence,
    Exchange,
    Message,
    RaterKind,
    Rating,
    Reply,
    Role,
    Sample,
    Status,
    Usage,
    Value,
    digest,
    encode,
)

__all__ = [
    "BASE",
    "CUT_OFF",
    "HELD",
    "Evidence",
    "Exchange",
    "Message",
    "RaterKind",
    "Rating",
    "Reply",
    "Role",
    "Sample",
    "Status",
    "Usage",
    "Value",
    "digest",
    "encode",
]
