"""What the commands share: their options, what the options name, and studies as commands."""
