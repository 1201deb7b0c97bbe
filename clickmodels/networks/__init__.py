"""Click models as networks: embeddings of queries and documents, trained by mini-batches."""
