"""How fast Sievert is, as ratios against a peer or the naive form; see ``benchmarks.harness``."""
