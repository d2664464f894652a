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
    // malloc is faster; but if large blocks come from it, glibc gives memory back after every call.
    explicit Buffer(Index size) {
        const std::size_t bytes = (sizeof(T) * size + 127) / 64 * 64;
        memory_ = bytes > 4096 ? std::aligned_alloc(64, bytes) : std::malloc(bytes + 64);
        if (!memory_) throw std::bad_alloc();
        data_ = reinterpret_cast<T *>((reinterpret_cast<std::uintptr_t>(memory_) + 63) / 64 * 64);
    }
    ~Buffer() { std::free(memory_); }
    Buffer(Buffer &&other) : memory_(other.memory_), data_(other.data_) { other.memory_ = nullptr; }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    T *get() const { return data_; }
    T &operator[](Index i) const { return data_[i]; }

  private:
    void *memory_;
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
