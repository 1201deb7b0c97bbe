"""The commands that repeat a paper's experiments; ``clickgym`` runs them as all others."""
