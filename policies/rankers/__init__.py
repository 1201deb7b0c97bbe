"""The papers' rankers, and rankers that are learned."""
