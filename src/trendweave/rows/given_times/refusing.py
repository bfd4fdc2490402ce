"""Columns that an option does not read, and what helps: the same words in this process and on Spark."""

from __future__ import annotations

from typing import Literal, TypeAlias

from trendweave.planning.checks.times import CAST
from trendweave.rows.given_times.written import Written

#: What a column of times holds.
Family: TypeAlias = Literal["text", "whole numbers", "decimals", "dates", "timestamps", "others"]


def refuse_written(written: Written, family: Family) -> tuple[str, str] | None:
    """Why a column is not read by `time_format`, and the hint; None where it is.

    Args:
        written: How times are written.
        family: What the column holds. Timestamps stay what they are where "iso" is asked for.
    """
    match family:
        case "text":
            return None
        case "decimals":
            return "time_format is for text", f"{CAST}, and give time_unit for numbers since 1970"
        case "dates":
            if written.is_iso:
                return None
            return "this time_format is for text", "give time_format='iso', which takes dates too"
        case "timestamps":
            return "time_format is for text", "leave time_format out"
        case "whole numbers" if written.fits_numbers:
            return None
        case "whole numbers" if not written.is_iso:
            return "numbers lose zeros that a text begins with", "make it text, or begin time_format with %Y"
    hint = "give time_unit for numbers since 1970, or such as time_format='%Y%m%d%H%M%S' for 20240506140000"
    return "time_format is for text", hint


def refuse_unit(family: Family) -> tuple[str, str]:
    """Why a column that holds no numbers is not read by `time_unit`, and the hint.

    Args:
        family: What the column holds.
    """
    if family == "decimals":
        return "time_unit is for whole numbers and floats", CAST
    hints: dict[Family, str] = {
        "text": f"give time_format instead; of numbers that are text, {CAST}",
        "dates": "give time_format='iso' instead",
    }
    return "time_unit is for numbers", hints.get(family, "leave time_unit out")
