"""Tests of the FlashInfer backend, some of them on FlashInfer's own planner without a GPU."""
