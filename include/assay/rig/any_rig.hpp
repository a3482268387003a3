// SPDX-License-Identifier: Apache-2.0
/// @file
/// `any_rig`: a rig without its type; pipelines whose workloads have no type, so that rigs of all
/// workloads compile to the same code.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/core/policy.hpp>
#include <assay/memory/watched.hpp>
#include <assay/pipeline.hpp>
#include <assay/rig.hpp>
#include <assay/submit/concepts.hpp>
#include <assay/workload/concepts.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace assay {

/// Watches the batches of a rig of any type; see `submit::no_probe`.
class batch_watch {
 public:
  virtual ~batch_watch() = default;
  /// `stream` is the lane's `cudaStream_t`; null on the host.
  virtual void lane_begin(int /*lane*/, void* /*stream*/) {}
  virtual void lane_end(int /*lane*/, void* /*stream*/) {}
};

/// A `batch_watch` as the probe of a batch.
struct watch_probe : submit::no_probe {
  batch_watch* to;
  explicit watch_probe(batch_watch& watch) : to(&watch) {}
  template <class Lane>
  void lane_begin(Lane& where) const {
    to->lane_begin(where.index, stream_of(where));
  }
  template <class Lane>
  void lane_end(Lane& where) const {
    to->lane_end(where.index, stream_of(where));
  }

 private:
  template <class Lane>
  static void* stream_of(Lane const& where) {
    if constexpr (requires { where.stream.get(); }) { return where.stream.get(); }
    return nullptr;
  }
};

/// The state of a workload without its type.
class any_state {
 public:
  virtual ~any_state() = default;
  virtual void* get() noexcept = 0;
  virtual void poison() = 0;
  virtual mismatch verify() = 0;
  virtual bool has_state() const = 0;
  virtual void restore() = 0;
  virtual bool checks_all() const = 0;
};

/// A state of any type, as a rig holds it.
struct hidden_state {
  std::shared_ptr<any_state> it;
  void poison() { it->poison(); }
  mismatch verify() { return it->verify(); }
  bool has_state() const { return it->has_state(); }
  void restore() { it->restore(); }
  bool checks_all() const { return it->checks_all(); }
};

namespace detail {

template <class Work, class State>
class state_of final : public any_state {
 public:
  state_of(Work work, State state) : work_(std::move(work)), state_(std::move(state)) {}
  void* get() noexcept override { return &state_; }
  void poison() override { workloads::poison(work_, state_); }
  mismatch verify() override { return workloads::verify(work_, state_); }
  bool has_state() const override { return workloads::has_state(state_); }
  void restore() override {
    if constexpr (requires { state_.restore(); }) { state_.restore(); }
  }
  bool checks_all() const override {
    if constexpr (requires { state_.checks_all(); }) { return state_.checks_all(); }
    return true;
  }

 private:
  Work work_;
  State state_;
};

/// What a workload does on lanes of one type.
template <class Lane>
struct calls_on {
  std::shared_ptr<any_state> (*prepare)(void const* work, Lane& where, int lanes);
  void (*enqueue)(void const* work, Lane& where, void* state);

  template <class Work>
  static constexpr calls_on of() {
    using state = prepared_state<Work, Lane>;
    return {[](void const* work, Lane& where, int lanes) -> std::shared_ptr<any_state> {
              auto const& known = *static_cast<Work const*>(work);
              return std::shared_ptr<any_state>{
                  new state_of<Work, state>{known, workloads::prepare(known, where, lanes)}};
            },
            [](void const* work, Lane& where, void* made) {
              workloads::enqueue(*static_cast<Work const*>(work), where,
                                 *static_cast<state*>(made));
            }};
  }
};

}  // namespace detail

/// A workload without its type, on lanes of these types. An item costs one more call through a
/// pointer.
template <class Lane, class... Others>
class any_work {
  using copy_type = typename Lane::copy_type;

 public:
  static constexpr std::string_view name = "any_work";
  static constexpr bool takes_copy = !std::same_as<copy_type, no_copy>;

  template <class Work>
  explicit any_work(Work const& work)
      : work_(std::shared_ptr<Work>{new Work(work)}),
        name_(Work::name),
        moves_(work.item_traffic()),
        calls_(detail::calls_on<Lane>::template of<Work>(),
               detail::calls_on<Others>::template of<Work>()...) {
    require_ = [](void const* it, on::device place, copy_type how) {
      if constexpr (requires(Work const& known) { require_on(place, known, how); }) {
        require_on(place, *static_cast<Work const*>(it), how);
      }
    };
  }

  /// The name of the workload, which has static storage.
  friend std::string_view name_of_work(any_work const& work) noexcept { return work.name_; }
  traffic item_traffic() const noexcept { return moves_; }

  template <class On>
  hidden_state prepare(On& where, int lanes) const {
    return {std::get<detail::calls_on<On>>(calls_).prepare(work_.get(), where, lanes)};
  }
  template <class On>
  void enqueue(On& where, hidden_state& made) const {
    std::get<detail::calls_on<On>>(calls_).enqueue(work_.get(), where, made.it->get());
  }
  void poison(hidden_state& made) const { made.poison(); }
  mismatch verify(hidden_state& made) const { return made.verify(); }

  friend void require_on(on::device place, any_work const& work, copy_type how) {
    work.require_(work.work_.get(), place, how);
  }
  /// True for copies of one object.
  bool operator==(any_work const& other) const noexcept { return work_ == other.work_; }

 private:
  std::shared_ptr<void const> work_;
  std::string_view name_;
  traffic moves_;
  std::tuple<detail::calls_on<Lane>, detail::calls_on<Others>...> calls_;
  void (*require_)(void const* work, on::device place, copy_type how);
};

namespace detail {

template <class Work>
inline constexpr bool is_any_work = false;
template <class... Lanes>
inline constexpr bool is_any_work<any_work<Lanes...>> = true;

/// The workload of a pipeline without its type, on its lanes and on those of watched memory.
template <class Pipeline>
auto any_work_of(Pipeline const& what) {
  using stream = typename place_traits<decltype(Pipeline::place)>::stream_type;
  using resource = resource_of<decltype(Pipeline::memory), decltype(Pipeline::place)>;
  using lane = lane_of<Pipeline, resource>;
  using watched =
      lane_of<Pipeline, mr::watched_resource<stream, capturable_memory<resource, stream>>>;
  if constexpr (std::same_as<lane, watched>) {
    return any_work<lane>{what.work};
  } else {
    return any_work<lane, watched>{what.work};
  }
}

}  // namespace detail

/// A pipeline that does the same, whose type does not tell the workload.
template <class Pipeline>
auto with_any_work(Pipeline const& what) {
  if constexpr (detail::is_any_work<decltype(Pipeline::work)>) {
    return what;
  } else {
    return what.with(detail::any_work_of(what));
  }
}

/// The name of a workload with a type.
template <named Work>
std::string_view name_of_work(Work const&) noexcept {
  return Work::name;
}

/// A rig without its type, so that what measures and traces rigs is compiled once. A batch costs a
/// virtual call, and two for each lane.
class any_rig {
 public:
  /// Buffer sets of any type: those that a function makes, or equal ones that are there already.
  using sets = std::shared_ptr<void>;
  using sets_from = std::function<sets(std::function<sets()> const& make)>;

  virtual ~any_rig() = default;
  virtual submit::batch_times run(int buffer_set, batch_watch& watch) = 0;
  virtual mismatch verify(int buffer_set) = 0;
  virtual bool changes_inputs() const = 0;
  virtual bool checks_all() const = 0;
};

namespace detail {

template <class Pipeline>
class hidden_rig final : public any_rig {
 public:
  hidden_rig(Pipeline const& what, sets_from const& from)
      : real_(what, rig<Pipeline>::open(what), [&](auto const& make) {
          using held = buffer_sets<hidden_state>;
          return from ? std::static_pointer_cast<held>(from(make)) : make();
        }) {}

  submit::batch_times run(int buffer_set, batch_watch& watch) override {
    return real_.run(buffer_set, watch_probe{watch});
  }
  mismatch verify(int buffer_set) override { return real_.verify(buffer_set); }
  bool changes_inputs() const override { return real_.changes_inputs(); }
  bool checks_all() const override { return real_.checks_all(); }

 private:
  rig<Pipeline> real_;
};

}  // namespace detail

/// Makes a rig and hides its type.
template <class Pipeline>
std::unique_ptr<any_rig> open_rig(Pipeline const& what, any_rig::sets_from const& from = {}) {
  auto const hidden = with_any_work(what);
  return std::unique_ptr<any_rig>{
      new detail::hidden_rig<std::remove_const_t<decltype(hidden)>>{hidden, from}};
}

}  // namespace assay
