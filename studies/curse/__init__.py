"""The curse: policies optimised inside click models, deployed on users."""
