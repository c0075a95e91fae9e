"""Tree decode in Triton: one launch over all segments of a step, and one merge.

`work_items` cuts the segments of a plan, `metadata` lays the cuts out in one buffer, `kernels` has
the device code, `launch` its arguments, and `backend` puts them together.
"""
