"""Readers of files: LETOR worlds and click logs of several formats."""
