"""What users did on the pages of a log, and which metrics of judged pages predict it."""
