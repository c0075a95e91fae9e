// A libcudart.so.13 for machines without a GPU: device memory is host memory, a copy is memcpy.
//
// It has the symbols that FlashInfer's attention modules and tvm-ffi use. A kernel of the device
// does not run: the host kernels (host_*.cu) compute in its place and note their launches here.
// For whole modules (test_whole_modules.py) launches of device kernels are checked and recorded.
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_SMS = 132, SHARED_OPTIN = 232448, SHARED_PER_SM = 233472, MAX_LAUNCHES = 1 << 16 };

typedef struct {
  const char *name;
  unsigned grid[3], block[3], shared;
} Launch;
static Launch launches[MAX_LAUNCHES];
static int num_launches = 0;

static void note(Launch launch) {
  if (num_launches < MAX_LAUNCHES) launches[num_launches++] = launch;
}
void yaie_note_launch(const char *name) { note((Launch){name}); }  // of a host kernel
int yaie_num_launches(void) { return num_launches; }
Launch yaie_launch(int i) { return launches[i]; }
void yaie_forget_launches(void) { num_launches = 0; }

enum { MAX_KERNELS = 1 << 14, SHARED_WITHOUT_ASKING = 49152, MAX_THREADS = 1024 };

typedef struct {
  const void *host;
  const char *name;
  int shared_limit;
} Kernel;
static Kernel kernels[MAX_KERNELS];
static int num_kernels = 0;

static Kernel *find_kernel(const void *host) {
  for (int i = 0; i < num_kernels; ++i)
    if (kernels[i].host == host) return kernels + i;
  return NULL;
}

static int records = 0;
void yaie_record_kernels(int on) { records = on; }

// Without recording, a launch of a device kernel is a bug of the tests: nothing would be computed.
static cudaError_t launch(const void *host, dim3 grid, dim3 block, size_t shared) {
  Kernel *kernel = find_kernel(host);
  if (!records || kernel == NULL) {
    fprintf(stderr, "fake CUDA runtime: launch of a kernel without a host twin\n");
    return cudaErrorLaunchFailure;
  }
  size_t threads = (size_t)block.x * block.y * block.z;
  if (threads == 0 || threads > MAX_THREADS || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > 65535 || grid.z > 65535 || shared > (size_t)kernel->shared_limit)
    return cudaErrorInvalidConfiguration;
  note((Launch){kernel->name,
                {grid.x, grid.y, grid.z},
                {block.x, block.y, block.z},
                (unsigned)shared});
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t m, cudaStream_t s) {
  return launch(f, g, b, m);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 g, dim3 b, void **a, size_t m,
                               cudaStream_t s) {
  return launch((const void *)f, g, b, m);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **a) {
  return launch(f, c->gridDim, c->blockDim, c->dynamicSmemBytes);
}

void **__cudaRegisterFatBinary(void *binary) { return (void **)malloc(8); }
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) { free(handle); }
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *a, void *b, void *c, void *d, int *e) {
  if (num_kernels < MAX_KERNELS)
    kernels[num_kernels++] = (Kernel){host, name, SHARED_WITHOUT_ASKING};
}
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global) {}
char __cudaInitModule(void **handle) { return 1; }
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *f) {
  *kernel = (cudaKernel_t)f;
  return cudaSuccess;
}
static struct {
  dim3 grid, block;
  size_t shared;
  void *stream;
} pushed;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  pushed.grid = grid, pushed.block = block, pushed.shared = shared, pushed.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = pushed.grid, *block = pushed.block, *shared = pushed.shared;
  *(void **)stream = pushed.stream;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  switch ((int)attribute) {
    case cudaDevAttrMultiProcessorCount: *value = NUM_SMS; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = SHARED_OPTIN; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = SHARED_PER_SM; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *f, enum cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value > SHARED_OPTIN) return cudaErrorInvalidValue;
  Kernel *kernel = find_kernel(f);
  if (kernel != NULL) kernel->shared_limit = value;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f, int threads,
                                                          size_t shared) {
  return *blocks = 2, cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *f,
                                                                   int threads, size_t shared,
                                                                   unsigned flags) {
  return *blocks = 2, cudaSuccess;
}

// Host and device pointers look alike here, so the direction is all that a copy can be held to:
// a plan writes to the device and reads nothing back.
static int num_reads = 0;
int yaie_num_reads(void) { return num_reads; }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  num_reads += kind == cudaMemcpyDeviceToHost;
  return memcpy(to, from, size), cudaSuccess;
}
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) { return "error of the fake CUDA runtime"; }
const char *cudaGetErrorName(cudaError_t error) { return "fake"; }
