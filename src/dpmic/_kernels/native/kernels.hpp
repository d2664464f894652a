// What each variant of the kernels offers.
#pragma once

struct Kernels {
    const char* variant;
    double (*add)(double, double);
};

const Kernels& kernels_baseline();
const Kernels& kernels_v3();
const Kernels& kernels_v4();
