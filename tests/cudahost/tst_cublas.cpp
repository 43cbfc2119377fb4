// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <random>

using namespace cudahost::test;

namespace {

// Small whole numbers and halves: every type holds them and every sum of them exactly.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned int seed)
{
    std::mt19937 random(seed);
    std::vector<T> result;
    for (std::size_t i = 0; i < count; ++i)
        result.push_back(T((static_cast<float>(random() % 17) - 8.0F) / 2.0F));
    return result;
}

struct Shape
{
    int m = 1;
    int n = 1;
    int k = 1;
    bool transposesA = false;
    bool transposesB = false;
    int padding = 0; // between the columns as they lie
    float alpha = 1.0F;
    float beta = 0.0F;
};

constexpr cudaDataType typeOf(float)
{
    return CUDA_R_32F;
}
cudaDataType typeOf(__half)
{
    return CUDA_R_16F;
}
cudaDataType typeOf(__nv_bfloat16)
{
    return CUDA_R_16BF;
}

// Compares with a plain loop.
template <class Factor, class Target>
void check(cublasHandle_t handle, const Shape &shape)
{
    const int strideA = (shape.transposesA ? shape.k : shape.m) + shape.padding;
    const int strideB = (shape.transposesB ? shape.n : shape.k) + shape.padding;
    const int strideC = shape.m + shape.padding;
    const auto at = [](int row, int column, int stride) {
        return static_cast<std::size_t>(column * stride + row);
    };
    const auto a = numbers<Factor>(at(0, shape.transposesA ? shape.m : shape.k, strideA), 1);
    const auto b = numbers<Factor>(at(0, shape.transposesB ? shape.k : shape.n, strideB), 2);
    const auto before = numbers<Target>(at(0, shape.n, strideC), 3);
    const DeviceValues<Factor> deviceA(a);
    const DeviceValues<Factor> deviceB(b);
    const DeviceValues<Target> deviceC(before);
    QCOMPARE(cublasGemmEx(handle, shape.transposesA ? CUBLAS_OP_T : CUBLAS_OP_N,
                          shape.transposesB ? CUBLAS_OP_T : CUBLAS_OP_N, shape.m, shape.n, shape.k,
                          &shape.alpha, deviceA.data(), typeOf(Factor{}), strideA, deviceB.data(),
                          typeOf(Factor{}), strideB, &shape.beta, deviceC.data(), typeOf(Target{}), strideC,
                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
             CUBLAS_STATUS_SUCCESS);
    const std::vector<Target> result = deviceC.read();
    for (int column = 0; column < shape.n; ++column)
        for (int row = 0; row < strideC; ++row) {
            const std::size_t place = at(row, column, strideC);
            if (row >= shape.m) { // what lies between the columns stays
                QCOMPARE(static_cast<float>(result[place]), static_cast<float>(before[place]));
                continue;
            }
            double sum = 0.0;
            for (int i = 0; i < shape.k; ++i)
                sum += static_cast<double>(static_cast<float>(
                           a[shape.transposesA ? at(i, row, strideA) : at(row, i, strideA)])) *
                       static_cast<double>(static_cast<float>(
                           b[shape.transposesB ? at(column, i, strideB) : at(i, column, strideB)]));
            double expected = static_cast<double>(shape.alpha) * sum;
            if (shape.beta != 0.0F)
                expected +=
                    static_cast<double>(shape.beta) * static_cast<double>(static_cast<float>(before[place]));
            QCOMPARE(static_cast<float>(result[place]),
                     static_cast<float>(Target(static_cast<float>(expected))));
        }
}

} // namespace

/// Matrix products of cuBLAS against a plain loop.
class TstCublas : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void multiplies_data();
    void multiplies();
    void doesNotReadWhatBetaForgets();
    void roundsFactors();
    void refuses();
    void staysInMemory();
    void joinsGraphs();
    void losesDevice();

private:
    cublasHandle_t m_handle = nullptr;
};

void TstCublas::init()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    cudahost::reset(settings);
    QCOMPARE(cublasCreate(&m_handle), CUBLAS_STATUS_SUCCESS);
}

void TstCublas::cleanup()
{
    QCOMPARE(cublasDestroy(m_handle), CUBLAS_STATUS_SUCCESS);
    QCOMPARE(cublasDestroy(m_handle), CUBLAS_STATUS_NOT_INITIALIZED);
}

void TstCublas::multiplies_data()
{
    QTest::addColumn<QString>("types");
    QTest::addColumn<QList<int>>("shape");
    QTest::addColumn<int>("transposes");
    QTest::addColumn<float>("beta");
    for (const char *types : {"float", "half to float", "half", "bfloat to float", "bfloat"})
        for (const QList<int> &shape :
             {QList<int>{1, 1, 1}, {8, 4, 16}, {17, 1, 5}, {33, 70, 9}, {3, 130, 64}})
            for (int transposes = 0; transposes < 4; ++transposes)
                for (const float beta : {0.0F, 0.5F})
                    QTest::addRow("%s %dx%dx%d op %d beta %g", types, shape[0], shape[1], shape[2],
                                  transposes, static_cast<double>(beta))
                        << QString::fromLatin1(types) << shape << transposes << beta;
}

void TstCublas::multiplies()
{
    QFETCH(const QString, types);
    QFETCH(const QList<int>, shape);
    QFETCH(const int, transposes);
    QFETCH(const float, beta);
    const Shape product{shape[0], shape[1], shape[2], (transposes & 1) != 0, (transposes & 2) != 0,
                        3,        0.5F,     beta};
    if (types == QLatin1String("float"))
        check<float, float>(m_handle, product);
    else if (types == QLatin1String("half to float"))
        check<__half, float>(m_handle, product);
    else if (types == QLatin1String("half"))
        check<__half, __half>(m_handle, product);
    else if (types == QLatin1String("bfloat to float"))
        check<__nv_bfloat16, float>(m_handle, product);
    else
        check<__nv_bfloat16, __nv_bfloat16>(m_handle, product);
}

void TstCublas::doesNotReadWhatBetaForgets()
{
    const DeviceValues<float> factor(std::vector<float>{3.0F});
    const DeviceValues<float> target(1); // a NaN
    const float one = 1.0F;
    const float zero = 0.0F;
    QCOMPARE(cublasSgemm(m_handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, factor.data(), 1, factor.data(),
                         1, &zero, target.data(), 1),
             CUBLAS_STATUS_SUCCESS);
    QCOMPARE(target.read().front(), 9.0F);
    QCOMPARE(cublasSgemm(m_handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 0, &one, factor.data(), 1, factor.data(),
                         1, &zero, target.data(), 1),
             CUBLAS_STATUS_SUCCESS);
    QCOMPARE(target.read().front(), 0.0F);
}

void TstCublas::roundsFactors()
{
    const float factor = 1.0F + 0x1p-11F + 0x1p-16F; // more than 10 bits of fraction
    const DeviceValues<float> a(std::vector<float>{factor});
    const DeviceValues<float> b(std::vector<float>{1.0F});
    const DeviceValues<float> target(1);
    const float one = 1.0F;
    const float zero = 0.0F;
    const auto multiply = [&](cublasComputeType_t compute) {
        cublasGemmEx(m_handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a.data(), CUDA_R_32F, 1, b.data(),
                     CUDA_R_32F, 1, &zero, target.data(), CUDA_R_32F, 1, compute, CUBLAS_GEMM_DEFAULT);
        return target.read().front();
    };
    QCOMPARE(multiply(CUBLAS_COMPUTE_32F), factor);
    QCOMPARE(multiply(CUBLAS_COMPUTE_32F_PEDANTIC), factor);
    QCOMPARE(multiply(CUBLAS_COMPUTE_32F_FAST_TF32), 1.0F + 0x1p-10F);
    QCOMPARE(multiply(CUBLAS_COMPUTE_32F_FAST_16F), 1.0F + 0x1p-10F);
    QCOMPARE(multiply(CUBLAS_COMPUTE_32F_FAST_16BF), 1.0F);
    QCOMPARE(cublasSetMathMode(m_handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
    QCOMPARE(multiply(CUBLAS_COMPUTE_32F), 1.0F + 0x1p-10F);
}

void TstCublas::refuses()
{
    const DeviceValues<float> values(64);
    const float one = 1.0F;
    const auto multiply = [&](int m, int n, int k, int strideA, int strideB, int strideC, cudaDataType typeA,
                              cudaDataType typeC, cublasComputeType_t compute) {
        return cublasGemmEx(m_handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &one, values.data(), typeA, strideA,
                            values.data(), CUDA_R_32F, strideB, &one, values.data(), typeC, strideC, compute,
                            CUBLAS_GEMM_DEFAULT);
    };
    QCOMPARE(multiply(2, 2, 3, 3, 3, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS);
    QCOMPARE(multiply(0, 2, 3, 3, 3, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS);
    QCOMPARE(multiply(-1, 2, 3, 3, 3, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
             CUBLAS_STATUS_INVALID_VALUE);
    QCOMPARE(multiply(2, 2, 3, 2, 3, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
             CUBLAS_STATUS_INVALID_VALUE);
    QCOMPARE(multiply(2, 2, 3, 3, 2, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
             CUBLAS_STATUS_INVALID_VALUE);
    QCOMPARE(multiply(2, 2, 3, 3, 3, 1, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
             CUBLAS_STATUS_INVALID_VALUE);
    QCOMPARE(multiply(2, 2, 3, 3, 3, 2, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
             CUBLAS_STATUS_NOT_SUPPORTED);
    QCOMPARE(multiply(2, 2, 3, 3, 3, 2, CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F),
             CUBLAS_STATUS_NOT_SUPPORTED);
    QCOMPARE(multiply(2, 2, 3, 3, 3, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32I),
             CUBLAS_STATUS_NOT_SUPPORTED);
    QCOMPARE(cublasSetWorkspace(m_handle, values.data() + 1, 4), CUBLAS_STATUS_INVALID_VALUE);
    QCOMPARE(cublasSetWorkspace(m_handle, values.data(), 257), CUBLAS_STATUS_INVALID_VALUE);
    QCOMPARE(cublasSetWorkspace(m_handle, values.data(), 256), CUBLAS_STATUS_SUCCESS);
    QCOMPARE(QString::fromLatin1(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)),
             QStringLiteral("CUBLAS_STATUS_NOT_SUPPORTED"));
}

void TstCublas::staysInMemory()
{
    const DeviceValues<float> values(std::vector<float>(6, 1.0F));
    const DeviceValues<float> target(5);
    const float one = 1.0F;
    const float zero = 0.0F;
    QCOMPARE(cublasSgemm(m_handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 3, &one, values.data(), 2, values.data(),
                         3, &zero, target.data(), 2),
             CUBLAS_STATUS_EXECUTION_FAILED);
    const std::vector<std::string> faults = cudahost::takeFaults();
    QCOMPARE(faults.size(), std::size_t{1});
    QVERIFY(faults.front().find("2 x 3 over 3 reaches past device memory") != std::string::npos);
}

void TstCublas::joinsGraphs()
{
    const DeviceValues<float> factor(std::vector<float>{3.0F});
    const DeviceValues<float> target(std::vector<float>{1.0F});
    cudaStream_t stream = nullptr;
    QCOMPARE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    QCOMPARE(cublasSetStream(m_handle, stream), CUBLAS_STATUS_SUCCESS);
    QCOMPARE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    float one = 1.0F;
    QCOMPARE(cublasSgemm(m_handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, factor.data(), 1, factor.data(),
                         1, &one, target.data(), 1),
             CUBLAS_STATUS_SUCCESS);
    one = 5.0F; // taken when the call was made
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    QCOMPARE(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, stream), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, stream), cudaSuccess);
    QCOMPARE(target.read().front(), 19.0F);
}

void TstCublas::losesDevice()
{
    cudahost::Settings settings = cudahost::settings();
    settings.loseAtLaunch = 1;
    cudahost::configure(settings);
    const DeviceValues<float> values(std::vector<float>{3.0F});
    const float one = 1.0F;
    QCOMPARE(cublasSgemm(m_handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, values.data(), 1, values.data(),
                         1, &one, values.data(), 1),
             CUBLAS_STATUS_EXECUTION_FAILED);
    QCOMPARE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    QVERIFY(cudahost::takeFaults().empty());
}

TOKENLOUPE_TEST_MAIN(TstCublas)
#include "tst_cublas.moc"
