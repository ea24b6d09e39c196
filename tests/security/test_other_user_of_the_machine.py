"""Another user of the machine: processes, temporary files, ports and links."""

# ── the studio's link ───────────────────────────────────────────────────────────────────────────────

# ── temporary and private files ─────────────────────────────────────────────────────────────────────
