"""What samples and aggregates still tell: distributions from noisy reports, distances between them."""
