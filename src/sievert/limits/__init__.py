"""What any mechanism that obeys a policy could leak: published bounds, better ones, the exact maximum."""
