"""Values on the lowest floor: types, errors, settings, statistics and queries. Without torch."""
