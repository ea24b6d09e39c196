"""Long work is heard of by whoever listens, and by nobody else."""

import pytest

import sievert as sv
from sievert.numerics import progress_listener


def constrained() -> sv.Policy:
    kept = [(a, b, c) for a in range(5) for b in range(5) for c in range(5) if (a + b * c) % 7]
    return sv.Policy.blowfish(sv.secrets.line(5), 3, permitted=kept)


@pytest.mark.parametrize(
    "make", [constrained, lambda: sv.Policy.differential(4, 5, permitted=sv.constraints.total(7))]
)
def test_the_adjacency_says_how_far_it_has_come(make) -> None:
    heard: list[tuple[str, int, int]] = []
    with progress_listener(lambda *news: heard.append(news)):
        policy = make()
        policy.adjacency()
    assert heard and heard[-1][1:] == (policy.size, policy.size)
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    count = len(heard)
    make().adjacency()
    assert len(heard) == count
