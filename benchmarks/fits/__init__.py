"""What fitting a click model costs, and what it finds of the user."""
