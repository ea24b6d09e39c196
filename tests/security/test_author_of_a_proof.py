"""The author of a proof: true proofs of other claims, relabelled, and forged ones."""

# ── proofs about a file ─────────────────────────────────────────────────────────────────────────────

# ── proofs alone ────────────────────────────────────────────────────────────────────────────────────
