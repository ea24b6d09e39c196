"""What samples and aggregates tell: estimates with intervals, and audits of black boxes."""
