"""`/v1/responses`: items, stored responses, translation and stream events."""
