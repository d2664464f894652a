// The Python module, and which variant of the kernels it uses.
#include <nanobind/nanobind.h>

#include "kernels.hpp"

namespace {

const Kernels& select() {
#if defined(DPMIC_HAVE_v3) || defined(DPMIC_HAVE_v4)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#endif
#ifdef DPMIC_HAVE_v4
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return kernels_v4();
#endif
#ifdef DPMIC_HAVE_v3
    if (v3) return kernels_v3();
#endif
    return kernels_baseline();
}

}  // namespace

NB_MODULE(_native, m) {
    const Kernels& kernels = select();
    m.attr("variant") = kernels.variant;
    m.def("add", kernels.add);
}
