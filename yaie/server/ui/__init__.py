"""The page `/ui`: who may see what, the feed of the tree, and the series of five minutes."""
