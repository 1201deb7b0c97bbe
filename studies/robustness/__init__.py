"""The robustness paper: click models under every user, logging policy and seed."""
