"""Client libraries against a real server, one test for each library and feature."""
