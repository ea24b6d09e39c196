"""The parts of an answer by name, in the order of their tabs, with what their reader calls them."""

__all__ = ["TITLES"]

TITLES = {
    "headline": "In one sentence",
    "guess": "What can be guessed",
    "noise": "What is published",
    "epsilon": "Against ε",
    "releases": "Over releases",
    "compare": "Compare",
    "design": "Design",
    "secrets": "Secrets",
    "places": "Places",
    "inference": "Inference",
    "release": "What a release would do",
    "budget": "Budget",
    "proofs": "Proofs",
}
