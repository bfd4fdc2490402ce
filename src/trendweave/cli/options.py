"""What commands share: options that mean the same in each of them, and how they are read."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trendweave import Query, query


class NumberFormat(StrEnum):
    decimal = "decimal"
    int64 = "int64"
    text = "text"
    float64 = "float64"
    log2 = "log2"


QueryFile = Annotated[str, typer.Argument(metavar="QUERY", help="A file with one query, or - for standard input.")]
TimeColumn = Annotated[str, typer.Option(help="The column that holds the time.")]
TypeColumn = Annotated[str, typer.Option(help="The column that holds the type; an empty string for none.")]
Master = Annotated[str | None, typer.Option(help="Spark's master; all cores of this machine (local[*]) without it.")]
Settings = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be repeated.")]


def load(file: str) -> Query:
    if file == "-":
        return query(sys.stdin.read())
    try:
        return query(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error


def pairs(given: list[str], option: str) -> dict[str, str]:
    found = [setting.partition("=") for setting in given]
    for name, sign, _ in found:
        if not (name and sign):
            raise typer.BadParameter(f"{name!r} is not of the form KEY=VALUE", param_hint=option)
    return {name.strip(): value for name, _, value in found}


def check_master(master: str | None) -> None:
    if master and not (master == "yarn" or master.startswith(("local", "spark://", "k8s://"))):
        raise typer.BadParameter("a master is local, local[4], spark://..., k8s://... or yarn", param_hint="--master")
