"""What a log itself says: its size, its tail, how random it was, which ranks it ties."""
