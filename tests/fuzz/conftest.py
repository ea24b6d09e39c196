"""The worker's modules are run by it, not collected here."""

collect_ignore = ["arguments.py", "file_worker.py", "hostile.py", "worker.py"]
