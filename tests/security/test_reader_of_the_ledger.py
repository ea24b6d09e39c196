"""A reader of ledger, logs or backups: what they hold, and what copying or rolling them back achieves."""

# ── what the ledger says ────────────────────────────────────────────────────────────────────────────

# ── copies, deletions and rollbacks ─────────────────────────────────────────────────────────────────

# ── people in the ledger ────────────────────────────────────────────────────────────────────────────

# ── logs and reports ────────────────────────────────────────────────────────────────────────────────
