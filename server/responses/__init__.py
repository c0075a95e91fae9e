"""Response bodies of the completion endpoints: whole documents and stream events."""
