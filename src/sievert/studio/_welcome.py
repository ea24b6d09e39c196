"""The file that the page opens with where none is named."""

__all__ = ["FIRST"]

FIRST = """\
# A first file: change it on the left, and see on the right what it gives away.
title = "A sensitive question"
version = 1

[policy]                                # what must stay hidden: one answer a person
values = ["never", "once", "sometimes", "often"]
secrets = "complete"                    # no two answers may be told apart

[query]
kind = "record"                         # each answer is perturbed by itself

[mechanism]
kind = "randomised-response"
eps = 1.0                               # nats: smaller is more private

[adversary]
observations = 1                        # how often the same person is asked

[accept]
guess = 0.5                             # best guess about one person at most
"""
