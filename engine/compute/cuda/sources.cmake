# The backend for CUDA, compiled twice: for the program with CUDA's own headers, and for tests with those of
# tests/cudahost. The management library of the driver is not among them: the host's device has none.
set(tokenloupe_cudabackend_sources
    cublashandle.cpp
    cublaslibrary.cpp
    cudaattention.cpp
    cudabackend.cpp
    cudadevice.cpp
    cudaexperts.cpp
    cudakv.cpp
    cudamemory.cpp
    cudamultiply.cpp
    cudapass.cpp
    cudaqueue.cpp
    cudarows.cpp
    deferredrows.cpp
    devicefloats.cpp
    devicememory.cpp
    devicestaging.cpp
    deviceweights.cpp
    makecuda.cpp
    operationclock.cpp
    passgraphs.cpp
    stepinputs.cpp
    weightimage.cpp
)
list(TRANSFORM tokenloupe_cudabackend_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
