"""What fitted tables do not know: exposure, posteriors, and how careful to be with them."""
