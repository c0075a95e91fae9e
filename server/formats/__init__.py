"""How each endpoint writes its answers: whole documents and stream chunks."""
