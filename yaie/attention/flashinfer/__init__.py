"""The attention backend of NVIDIA GPUs: FlashInfer's paged kernels over the slot pool.

`cascade` turns a step plan into index arrays, without torch. `installed` says whether FlashInfer
can be used. `wrappers` calls it; nothing outside this package imports FlashInfer, and this package
does so when a wrapper is made. `merge` joins partial results. `backend` puts them together;
`static_step` does so at fixed addresses.
"""
