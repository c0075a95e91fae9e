"""Tree decode in Triton: one launch over all segments in a step, and one merge.

`work_items` cuts a plan's segments, `step_metadata` packs the cuts into one buffer, `kernels` has
the device code, `launch` its arguments, and `backend` combines them.
"""
