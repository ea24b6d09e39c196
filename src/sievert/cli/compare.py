"""`sievert compare A.toml B.toml`: can the second mechanism replace the first?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._outputs import Force, claimed
from sievert.cli._printing import print_json, print_sections

__all__ = ["compare"]


def compare(
    first: Annotated[Path, typer.Argument(help="The mechanism in use: .toml, .csv, .npz or .parquet.")],
    second: Annotated[Path, typer.Argument(help="The mechanism that might replace it.")],
    proof: Annotated[Path | None, typer.Option(help="Save the proof here, for `sievert verify`.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say whether B can replace A against every adversary, and if not, which adversary objects.

    Exit code 0: B can replace A against every adversary; 1: somebody objects, or it cannot be decided.
    """
    from sievert.files import Scenario, digest_of, load
    from sievert.orders import compare as decide
    from sievert.proofs import save_proof
    from sievert.questions.compare import channel_of, matching_note
    from sievert.report.compare import comparison_json, comparison_lines, replacement_sentence

    loaded = load(first), load(second)
    reads = [first, second, *(path for item in loaded if isinstance(item, Scenario) for path in item.reads())]
    outputs = claimed(reads, force, proof=proof, report=report)
    channels = channel_of(loaded[0]), channel_of(loaded[1])
    result = decide(*channels)
    if report is not None:
        from sievert.report.compare import comparison_html

        outputs.write_text(report, comparison_html(*channels, (first.name, second.name), result))
    main = result.forward[0]
    if proof is not None and main.certificate is not None:
        outputs.write_text(proof, save_proof(main.certificate.with_identity(digest_of(first, second))))
    if as_json:
        print_json(comparison_json(result))
    else:
        title = f"A = {first.name}, B = {second.name}"
        print_sections(title, replacement_sentence(result), comparison_lines(result), main.holds is True)
        note = matching_note(*channels)
        if note:
            print(f"\n{note}")
        if report is not None:
            print(f"\nReport written to {report}")
        if proof is not None:
            nothing = main.certificate is None
            print(f"\n{'There is no certificate to save' if nothing else f'Proof written to {proof}'}")
    if main.holds is not True:
        raise typer.Exit(1)
