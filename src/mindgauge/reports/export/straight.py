"""S3 without redirects: what is sent, with which session token, goes to the server that was named and to no other."""

from __future__ import annotations

from typing import Any

from aiobotocore.httpsession import AIOHTTPSession


class _Straight:
    """An HTTP session that hands a redirect back; botocore asks again itself, and signs anew, where it trusts one."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def request(self, *place: Any, **options: Any) -> Any:
        return self._session.request(*place, **options, allow_redirects=False)


class StraightSession(AIOHTTPSession):  # type: ignore[misc]  # the package has no types
    """What botocore sends through."""

    async def _get_session(self, *place: Any) -> Any:
        return _Straight(await super()._get_session(*place))
