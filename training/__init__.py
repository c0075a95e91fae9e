"""Training of the models that YAIE ships; left out of the packages."""
