// Compiled once for each variant: CMakeLists.txt defines DPMIC_VARIANT.
#include "kernels.hpp"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

namespace {

double add(double a, double b) { return a + b; }

const Kernels table{TEXT(DPMIC_VARIANT), add};

}  // namespace

const Kernels& JOIN(kernels_, DPMIC_VARIANT)() { return table; }
