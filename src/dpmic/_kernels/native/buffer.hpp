// The memory that a kernel works in.
//
// Everything in kernels.cpp has internal linkage: it is compiled for several instruction sets, and
// a linker that merged two copies of a function could keep the wrong one.
#pragma once

#include <cstdlib>
#include <new>

#include "kernels.hpp"

namespace dpmic {
namespace {

template <class T> class Buffer {
  public:
    explicit Buffer(Index size) : data_(static_cast<T *>(std::aligned_alloc(64, (sizeof(T) * size + 127) / 64 * 64))) {
        if (!data_) throw std::bad_alloc();
    }
    ~Buffer() { std::free(data_); }
    Buffer(Buffer &&other) : data_(other.data_) { other.data_ = nullptr; }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    T *get() const { return data_; }
    T &operator[](Index i) const { return data_[i]; }

  private:
    T *data_;
};

template <class T> T larger(T a, T b) { return a > b ? a : b; }
template <class T> T smaller(T a, T b) { return a < b ? a : b; }

template <class T> T largest_of(Row<const T> values) {
    T most = values[0];
    for (Index i = 1; i < values.size; ++i) most = larger(most, values[i]);
    return most;
}

} // namespace
} // namespace dpmic
