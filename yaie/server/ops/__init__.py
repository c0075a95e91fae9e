"""Operations: drain, tracing, rate limits, workload traces and operator tools."""
