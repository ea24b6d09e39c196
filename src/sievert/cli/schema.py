"""`sievert schema`: the JSON schema of the file, for editors."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sievert.cli._present import print_json

__all__ = ["schema"]


def schema(
    table: Annotated[
        Literal["policy", "documents", "vectors"],
        typer.Argument(help="The table that the file is about."),
    ] = "policy",
) -> None:
    """Print the JSON schema of the file: every key with what it means, its unit and its default.

    Editors complete and check a file by it: save it, and begin the file with `#:schema PATH`. Exit code 0.
    """
    from sievert.files import document_schema, documents_schema, vectors_schema

    schemas = {"policy": document_schema, "documents": documents_schema, "vectors": vectors_schema}
    print_json(schemas[table]())
