"""The page `/ui` in Chromium, on real servers."""
