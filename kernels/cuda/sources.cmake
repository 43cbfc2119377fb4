# The files of the CUDA engine's kernels, one a line. All are compiled twice: for the program (.cu by nvcc), and for
# tests by the C++ compiler alone, where tests/cudahost plays the device.
set(tokenloupe_cuda_sources
    activate.cu
    attentioncheck.cpp
    attentiondecode.cu
    attentionmerge.cu
    attentionplan.cpp
    attentionprefill.cu
    attentionprefilltensor.cu
    attentionweights.cu
    combineexperts.cu
    earlylaunch.cpp
    elementwise.cu
    matrixproduct.cpp
    norm.cu
    packcodebooks.cpp
    packsmallblocks.cpp
    packsuperblocks.cpp
    productrows.cu
    products.cu
    productsblocks.cu
    productsiq1.cu
    productsiq2.cu
    productsiq3.cu
    productslargesuper.cu
    productslevels.cu
    productsplain.cu
    productssuper.cu
    quantizerows.cu
    rotatestore.cu
    routetokens.cu
    rowgeometry.cpp
    statistics.cu
    statisticsgeometry.cpp
    weightlayout.cpp
)
list(TRANSFORM tokenloupe_cuda_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
