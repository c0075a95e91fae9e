"""One bounded run of everything that only a CUDA device can show (`make gpu`)."""
