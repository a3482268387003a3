// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::watched_resource`: any resource behind one type, with the time and the number of its calls.
#pragma once

#include <assay/core/place.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/memory/counted.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace assay::mr {

/// Counts of a resource of any type.
class call_counter {
 public:
  virtual ~call_counter() = default;
  /// Counts calls from now on, as `counted` does. No other thread may use the resource meanwhile.
  virtual void start_counting() = 0;
  virtual statistics counts() const = 0;
};

/// Any resource that serves streams of one type.
template <class Stream>
class any_resource : public call_counter {
 public:
  /// The blocks of a captured graph; see `capturable_memory`.
  class hold {
   public:
    virtual ~hold() = default;
    virtual void end() noexcept = 0;
  };

  virtual void* allocate(Stream stream, std::size_t bytes, std::size_t alignment) = 0;
  virtual void deallocate(Stream stream, void* block, std::size_t bytes,
                          std::size_t alignment) noexcept = 0;
  virtual std::unique_ptr<hold> capture(Stream stream) = 0;
  virtual void release(Stream stream) = 0;
};

/// A handle to a resource whose type it hides, so that pipelines with different resources compile
/// to the same code. Adds the host time of each call to a counter of the calling thread, which all
/// resources share.
///
/// A call costs two more reads of the steady clock and a virtual call, about 45 ns. Batches that
/// measure wall time run without this adaptor.
template <class Stream, bool Capturable>
class watched_resource {
 public:
  explicit watched_resource(std::shared_ptr<any_resource<Stream>> upstream)
      : upstream_(std::move(upstream)) {}

  /// Nanoseconds that this thread spent in calls. The caller sets the counter to 0.
  static double& nanoseconds_on_this_thread() noexcept {
    thread_local double nanoseconds = 0;
    return nanoseconds;
  }

  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    stopwatch const running;
    return upstream_->allocate(stream, bytes, alignment);
  }
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    stopwatch const running;
    upstream_->deallocate(stream, block, bytes, alignment);
  }

  class capture_hold {
   public:
    explicit capture_hold(std::unique_ptr<typename any_resource<Stream>::hold> blocks)
        : blocks_(std::move(blocks)) {}
    void end() noexcept { blocks_->end(); }

   private:
    std::unique_ptr<typename any_resource<Stream>::hold> blocks_;
  };
  capture_hold capture(Stream stream)
  requires Capturable
  {
    return capture_hold{upstream_->capture(stream)};
  }
  void release(Stream stream) { upstream_->release(stream); }

  any_resource<Stream>& upstream() const noexcept { return *upstream_; }
  bool operator==(watched_resource const&) const = default;

 private:
  class stopwatch {
   public:
    stopwatch(stopwatch const&) = delete;
    stopwatch& operator=(stopwatch const&) = delete;
    stopwatch() = default;
    ~stopwatch() {
      nanoseconds_on_this_thread() +=
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_)
              .count();
    }

   private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  std::shared_ptr<any_resource<Stream>> upstream_;
};

namespace detail {

template <class Stream, class R>
class hidden_resource final : public any_resource<Stream> {
  using hold = typename any_resource<Stream>::hold;

 public:
  explicit hidden_resource(R upstream) : counted_(std::move(upstream)) {}

  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment) override {
    if (counting_) { return counted_.allocate(stream, bytes, alignment); }
    return counted_.upstream().allocate(stream, bytes, alignment);
  }
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment) noexcept override {
    if (counting_) { return counted_.deallocate(stream, block, bytes, alignment); }
    counted_.upstream().deallocate(stream, block, bytes, alignment);
  }
  std::unique_ptr<hold> capture([[maybe_unused]] Stream stream) override {
    if constexpr (capturable_memory<R, Stream>) {
      return std::unique_ptr<hold>{new hidden_hold{counted_.capture(stream)}};
    } else {
      return nullptr;
    }
  }
  void release([[maybe_unused]] Stream stream) override {
    if constexpr (requires { counted_.release(stream); }) { counted_.release(stream); }
  }
  void start_counting() override {
    counted_.reset();
    counting_ = true;
  }
  statistics counts() const override { return counted_.stats(); }

 private:
  template <class Hold>
  class hidden_hold final : public hold {
   public:
    explicit hidden_hold(Hold blocks) : blocks_(std::move(blocks)) {}
    void end() noexcept override { blocks_.end(); }

   private:
    Hold blocks_;
  };

  counted_resource<R> counted_;
  bool counting_ = false;
};

}  // namespace detail

/// Hides the type of a resource that serves streams of type `Stream`.
template <class Stream, class R>
auto watched(R resource) {
  return watched_resource<Stream, capturable_memory<R, Stream>>{
      std::shared_ptr<any_resource<Stream>>{
          new detail::hidden_resource<Stream, R>(std::move(resource))}};
}

/// A pipeline on its own memory, opened now and watched. Its type does not tell which memory.
template <class Pipeline>
auto with_watched_memory(Pipeline const& what) {
  using place = place_traits<decltype(Pipeline::place)>;
  place::require(what.place);
  return what.with(borrowed{watched<typename place::stream_type>(what.memory.open(what.place))});
}

}  // namespace assay::mr
