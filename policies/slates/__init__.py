"""What a policy shows in each slot and pair of slots: moments, marginals, pseudoinverses."""
