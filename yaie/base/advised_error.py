"""`AdvisedError`: an error of a command, with its reason and advice."""

from __future__ import annotations

from yaie.base.errors import YaieError


class AdvisedError(YaieError):
    """An error whose reason and advice the command line prints below the fact."""

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        advice: str = "",
        param: str | None = None,
        code: str,
        exit_code: int = 1,
    ) -> None:
        super().__init__(what, param=param, code=code)
        self.why = why
        self.advice = advice
        self.exit_code = exit_code
