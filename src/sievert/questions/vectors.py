"""Every question about a file with [vectors]: what two users can be told apart by, in users' units."""

from __future__ import annotations

from sievert.questions._vector_answers import about_vectors, compare_vectors
from sievert.questions._vector_audit import VectorsAudit, audit_vectors
from sievert.questions._vector_promise import VectorsAnswer, promise_of_vectors

__all__ = [
    "VectorsAnswer",
    "VectorsAudit",
    "about_vectors",
    "audit_vectors",
    "compare_vectors",
    "promise_of_vectors",
]
