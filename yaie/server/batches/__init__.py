"""Batches inside the server: requests without a socket, stored files and running batches."""
