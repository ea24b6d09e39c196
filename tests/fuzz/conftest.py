"""The worker's modules are run by it, not collected here."""

collect_ignore = ["arguments.py", "hostile.py", "worker.py"]
