"""FlashInfer backend: FlashInfer's paged kernels over the slot pool, for NVIDIA GPUs.

`cascade` turns a step plan into index arrays, without torch. `wrappers` calls FlashInfer; no other
package imports it, and this package does so when a wrapper is made. `merge` joins partial results.
`backend` combines them; `graph_buffers` does so at fixed addresses.
"""
