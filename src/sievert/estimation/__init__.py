"""What samples and aggregates tell: distributions from noisy reports, audits of black boxes, intervals."""
