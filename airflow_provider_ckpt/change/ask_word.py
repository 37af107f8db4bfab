"""Asking whether the query is stopped: a word that somebody gives, or a probe of their own.

All but True and False is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.errors import CheckpointError, PlanError, located
from airflow_provider_ckpt.untrusted.fields import require_flag

#: True or False, or what is called to find out.
Word = bool | Callable[[], bool]


def ask_word(word: Word, location: str) -> bool:
    """The answer to ``query_is_stopped``.

    Args:
        word: As it was given.
        location: The checkpoint.

    Raises:
        PlanError: The word is neither True nor False, nor a function that returns one of them; or the function fails.
            What a failing probe raised is its cause.
    """
    answer = word
    if callable(word):
        try:
            answer = word()
        except CheckpointError:
            raise
        except Exception as error:  # the user's own function: what it raises is no answer
            raise PlanError(
                "the callable query_is_stopped failed, so it is not known whether the query is stopped: "
                f"{type(error).__name__}: {error}",
                location=location,
                hint="Nothing was done.",
            ) from error
    with located(location):
        return require_flag("query_is_stopped", answer, ", or a callable that returns one of them")
