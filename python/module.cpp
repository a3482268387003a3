// SPDX-License-Identifier: Apache-2.0
// The Python module `assay._assay`: callables of Python as those that the library compares, races
// and verifies. The GIL is free while the library runs, and each call of Python takes it.
#include "arrays.hpp"
#include "places.hpp"

#include <assay/compare.hpp>
#include <assay/race.hpp>
#include <assay/race/json.hpp>
#include <assay/report/json_definitions.hpp>
#include <assay/report/progress.hpp>
#include <assay/report/text.hpp>
#include <assay/verify.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::python {
namespace {

using namespace nb::literals;

/// The text of an exception. Characters that UTF-8 lacks are escaped.
std::string text_of(nb::handle exception) {
  try {
    auto const bytes = nb::str(exception).attr("encode")("utf-8", "backslashreplace");
    return nb::cast<std::string>(bytes.attr("decode")());
  } catch (nb::python_error const&) { return "its text is an exception itself"; }
}

/// Refuses what a call returns where it computes only when somebody uses it up.
void require_ran(nb::object const& returned) {
  auto const* const type = Py_TYPE(returned.ptr());
  for (auto const* each :
       {&PyCoro_Type, &PyGen_Type, &PyAsyncGen_Type, &PyMap_Type, &PyFilter_Type, &PyZip_Type}) {
    if (type == each) {
      throw std::runtime_error("a call returned a " + std::string{type->tp_name} +
                               ", whose work nobody runs: use it up in the callable, as by "
                               "list(...) or asyncio.run(...)");
    }
  }
}

/// What all calls of one comparison share.
struct session {
  nb::object enter;  ///< makes a stream the current one of the frameworks
  std::uintptr_t current = 0;
  int device = -1;
  std::atomic<bool> interrupted = false;

  /// Calls Python, and turns an exception into one line.
  template <class F>
  auto guarded(F const& body) -> decltype(body()) {
    nb::gil_scoped_acquire const gil;
    try {
      return body();
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) { interrupted = true; }
      auto const type = nb::cast<std::string>(error.type().attr("__name__"));
      throw std::runtime_error(type + ": " + text_of(error.value()));
    }
  }
};

/// An object of Python that copies without the GIL.
using shared_object = std::shared_ptr<nb::object>;

shared_object shared(nb::object of) {
  return {new nb::object{std::move(of)}, [](nb::object* old) {
            nb::gil_scoped_acquire const gil;
            delete old;
          }};
}

/// Work on the host.
struct host_work {
  shared_object call;
  std::shared_ptr<session> in;

  void operator()() const {
    in->guarded([&] { require_ran((*call)()); });
  }
};

/// Work on a stream: the callable takes its handle, or works on the current stream.
struct stream_work {
  shared_object call;
  bool takes_stream = false;
  std::shared_ptr<session> in;

  void operator()(CUstream_st* on) const {
    auto const handle = reinterpret_cast<std::uintptr_t>(on);
    in->guarded([&] {
      if (std::exchange(in->current, handle) != handle) { in->enter(handle); }
      require_ran(takes_stream ? (*call)(handle) : (*call)());
    });
  }
};

/// What Python says of a callable: its name, the object, and whether it is a factory or takes the
/// handle of a stream.
using described = std::tuple<std::string, nb::object, bool, bool>;

/// The setup of Python, valid while its factory runs.
struct python_setup {
  setup* with;
  int device;

  setup& now() const {
    if (with == nullptr) { throw std::logic_error("setup: its factory has returned"); }
    return *with;
  }
};

std::size_t size_of(shape_of const& shape) {
  std::size_t all = 1;
  for (auto const each : shape) {
    if (each != 0 && all > std::numeric_limits<std::size_t>::max() / each) {
      throw std::invalid_argument("shape: it has more elements than 64 bits count");
    }
    all *= each;
  }
  return all;
}

/// Right values are computed in float64, which has every whole number up to this one.
constexpr std::int64_t most_exact = std::int64_t{1} << 53;

/// Makes the work that a factory returns: `[callable, takes_stream]` comes from `describe_work`.
callables::work made_work(nb::object const& returned, nb::object const& describe, bool on_device,
                          setup& with, std::shared_ptr<session> const& in) {
  auto const [call, takes_stream] =
      nb::cast<std::pair<nb::object, bool>>(describe(returned, on_device));
  if (on_device) {
    return callables::detail::made_work(launch(stream_work{shared(call), takes_stream, in}), with);
  }
  return callables::detail::made_work(host_call(host_work{shared(call), in}), with);
}

/// A factory of Python, with so many extents.
struct python_factory {
  shared_object make, describe;
  bool on_device = false;
  std::shared_ptr<session> in;

  callables::work operator()(setup& with, std::span<std::size_t const> extents) const {
    return in->guarded([&] {
      nb::object wrapped = nb::cast(python_setup{&with, in->device});
      nb::list arguments;
      arguments.append(wrapped);
      for (auto const each : extents) { arguments.append(each); }
      auto const end = [&] { nb::cast<python_setup*>(wrapped)->with = nullptr; };
      try {
        auto made = made_work((*make)(*nb::tuple(arguments)), *describe, on_device, with, in);
        end();
        return made;
      } catch (...) {
        end();
        throw;
      }
    });
  }
};

callables::erased_callable erased(described const& of, nb::object const& describe, bool on_device,
                                  std::shared_ptr<session> const& in) {
  auto const& [name, call, is_factory, takes_stream] = of;
  if (is_factory) {
    callables::callable_type type = callables::detail::type_of<python_factory>();
    type.make = [](void* factory, setup& with) {
      return (*static_cast<python_factory*>(factory))(with, {});
    };
    python_factory made{shared(call), shared(describe), on_device, in};
    return {name, type, callables::detail::placed(type, &made, 0)};
  }
  if (on_device) {
    return callables::erase(name, launch(stream_work{shared(call), takes_stream, in}));
  }
  return callables::erase(name, host_call(host_work{shared(call), in}));
}

/// Reads the options that Python passes by name.
void set(options& of, nb::dict const& from) {
  for (auto const& [key, value] : from) {
    auto const name = nb::cast<std::string>(key);
    auto const into = [&](auto& member) {
      using wanted = std::remove_reference_t<decltype(member)>;
      if (nb::try_cast<wanted>(value, member)) { return; }
      auto const* const allowed = std::is_same_v<wanted, std::string> ? "text"
                                  : std::is_same_v<wanted, bool>      ? "True or False"
                                  : std::is_floating_point_v<wanted>  ? "a number"
                                  : std::is_unsigned_v<wanted>        ? "a whole number of 64 bits"
                                                                      : "a whole number";
      throw nb::type_error(
          (name + "=" + nb::cast<std::string>(nb::repr(value)) + ": " + allowed + " is needed")
              .c_str());
    };
    if (name == "margin") {
      into(of.margin);
    } else if (name == "alpha") {
      into(of.alpha);
    } else if (name == "seed") {
      into(of.seed);
    } else if (name == "max_epochs") {
      into(of.max_epochs);
    } else if (name == "max_seconds") {
      into(of.max_seconds);
    } else if (name == "cold_cache") {
      into(of.cold_cache);
    } else if (name == "same_buffers") {
      into(of.same_buffers);
    } else if (name == "require_checks") {
      into(of.require_checks);
    } else if (name == "title") {
      into(of.title);
    } else if (name == "run_until_margin") {
      into(of.run_until_margin);
    } else if (name == "clock") {
      std::string asked;
      into(asked);
      auto const found = std::ranges::find(measure::all_clocks, asked,
                                           [](auto each) { return std::string{to_string(each)}; });
      if (found == std::end(measure::all_clocks)) {
        throw std::invalid_argument("clock '" + asked + "': choose one of wall, gpu and submit");
      }
      of.clock = *found;
    } else {
      throw nb::type_error(("unexpected option '" + name + "'").c_str());
    }
  }
}

/// Progress on standard error, and Ctrl-C between cells.
class watch {
 public:
  watch(options& of, bool shows, std::shared_ptr<session> const& in)
      : line_(std::cerr, shows ? report::stderr_form() : report::progress_form::none,
              of.max_seconds) {
    of.progress = std::ref(line_);
    of.cancelled = [in] {
      nb::gil_scoped_acquire const gil;
      if (PyErr_CheckSignals() == 0) { return false; }
      PyErr_Clear();
      return in->interrupted = true;
    };
  }

 private:
  report::progress_line line_;
};

/// Throws KeyboardInterrupt where a callable or the watch met it. Needs the GIL.
void rethrow(session const& in) {
  if (!in.interrupted) { return; }
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw nb::python_error();
}

template <class T>
std::string printed(T const& of) {
  std::ostringstream out;
  out << of;
  return std::move(out).str();
}

/// The places of work on the host.
places host_places() { return {measure::host_calls(), verify_detail::host_calls()}; }

/// JSON, the short report and the whole one.
std::tuple<std::string, std::string, std::string> compare_list(std::vector<described> const& all,
                                                               nb::object const& describe,
                                                               bool on_device, int device,
                                                               nb::object enter,
                                                               nb::dict const& chosen, bool shows) {
  auto const in = std::make_shared<session>();
  in->enter = std::move(enter);
  in->device = on_device ? device : -1;
  measure::callable_list list{(on_device ? device_places() : host_places()).compared, {}, {}};
  set(list.chosen, chosen);
  if (on_device) { list.chosen.place = on::device{device}; }
  for (auto const& each : all) { list.entries.push_back(erased(each, describe, on_device, in)); }
  measure::comparison found;
  {
    nb::gil_scoped_release const free;
    watch const shown{list.chosen, shows, in};
    found = measure::compare_callables(list);
  }
  rethrow(*in);
  return {report::json(found), printed(found), printed(full(found))};
}

/// JSON and the report.
std::pair<std::string, std::string> race_list(std::vector<described> const& all,
                                              nb::object const& describe, bool on_device,
                                              int device, nb::object enter, nb::dict const& chosen,
                                              bool shows) {
  auto const in = std::make_shared<session>();
  in->enter = std::move(enter);
  in->device = on_device ? device : -1;
  auto const place = (on_device ? device_places() : host_places()).compared;
  options options;
  set(options, chosen);
  if (on_device) { options.place = on::device{device}; }
  std::vector<candidate> candidates;
  for (auto const& each : all) {
    candidates.emplace_back(erased(each, describe, on_device, in), place);
  }
  measure::race_result found;
  {
    nb::gil_scoped_release const free;
    watch const shown{options, shows, in};
    found = assay::race(candidates, options);
  }
  rethrow(*in);
  return {report::json(found), printed(found)};
}

verification verify_factory(nb::object make, nb::object describe, std::size_t extents,
                            bool on_device, int device, nb::object enter, verify_options chosen) {
  auto const in = std::make_shared<session>();
  in->enter = std::move(enter);
  in->device = on_device ? device : -1;
  if (on_device) { chosen.place = on::device{device}; }
  python_factory const factory{shared(std::move(make)), shared(std::move(describe)), on_device, in};
  verification found;
  {
    nb::gil_scoped_release const free;
    found = verify_detail::verify_factory({extents,
                                           [&](setup& with, shape const& of) {
                                             std::vector<std::size_t> numbers;
                                             for (std::size_t i = 0; i < extents; ++i) {
                                               numbers.push_back(of[i]);
                                             }
                                             return factory(with, numbers);
                                           }},
                                          (on_device ? device_places() : host_places()).verified,
                                          chosen);
  }
  rethrow(*in);
  return found;
}

shape shape_from(std::vector<std::size_t> const& extents) {
  if (extents.size() > shape::most) { throw std::invalid_argument("a size has at most 4 extents"); }
  shape made;
  made.rank = extents.size();
  std::ranges::copy(extents, made.extents.begin());
  return made;
}

/// The rules for sizes that Python passes by name.
sizes sizes_from(nb::dict const& rules) {
  sizes made;
  for (auto const& [key, value] : rules) {
    auto const name = nb::cast<std::string>(key);
    if (name == "only") {
      std::vector<shape> all;
      for (auto const& each : nb::cast<std::vector<std::vector<std::size_t>>>(value)) {
        all.push_back(shape_from(each));
      }
      made = sizes{all};
    }
  }
  for (auto const& [key, value] : rules) {
    auto const name = nb::cast<std::string>(key);
    if (name == "only") { continue; }
    auto const of = shape_from(nb::cast<std::vector<std::size_t>>(value));
    if (name == "multiple_of") { made.multiple_of(of); }
    if (name == "at_least") { made.at_least(of); }
    if (name == "at_most") { made.at_most(of); }
  }
  return made;
}

/// A view of the values of a Python object as float64, which `numpy.asarray` made.
using values_view = nb::ndarray<double const, nb::c_contig, nb::device::cpu>;

void bind_setup(nb::module_& m) {
  nb::class_<rounding_rule>(m, "RoundingRule");
  m.def(
      "sum_of", [](double terms, double largest) { return sum_of(terms, largest); }, "terms"_a,
      "largest"_a = 1.0, "The errors of sums of so many terms of a magnitude up to `largest`.");
  m.def(
      "dot_of", [](double terms, double largest) { return dot_of(terms, largest); }, "terms"_a,
      "largest"_a = 1.0, "The errors of sums of so many products.");
  m.def("exp_of", &exp_of, "largest"_a = 1.0, "The errors of exponentials.");
  m.def(
      "softmax_of", [](double terms, double largest) { return softmax_of(terms, largest); },
      "terms"_a, "largest"_a = 1.0, "The errors of softmax over so many numbers.");
  m.def(
      "normalised_of", [](double terms, double largest) { return normalised_of(terms, largest); },
      "terms"_a, "largest"_a = 1.0, "The errors of normalisations over so many numbers.");

  nb::class_<array>(m, "Array", "An array of a setup: torch, CuPy and NumPy take it by DLPack.")
      .def_prop_ro("data", [](array const& a) { return reinterpret_cast<std::uintptr_t>(a.data); })
      .def_prop_ro("size", &array::size)
      .def_prop_ro("shape", [](array const& a) { return nb::tuple(nb::cast(a.shape)); })
      .def(
          "seeded",
          [](array const& a) {
            auto* const values = new std::vector<double>(a.seeded());
            nb::capsule const owner{
                values, [](void* old) noexcept { delete static_cast<std::vector<double>*>(old); }};
            return nb::ndarray<nb::numpy, double>(values->data(), a.shape.size(), a.shape.data(),
                                                  owner);
          },
          "The values with which the elements start, as a float64 array of NumPy.")
      .def("__dlpack__", [](array const& a, nb::kwargs const&) { return nb::cast(a.view()); })
      .def("_numpy",
           [](array const& a) {
             if (a.device >= 0) {
               throw std::invalid_argument(
                   "Array.numpy: the array lies on a device; torch.from_dlpack or cupy.from_dlpack "
                   "takes it");
             }
             auto bits = a;  // NumPy has no bfloat16, but integers of as many bits
             bool const is_bfloat16 = a.type == dtype_of<brain_float>();
             if (is_bfloat16) { bits.type = nb::dtype<std::uint16_t>(); }
             return std::pair{nb::ndarray<nb::numpy>{bits.view()}, is_bfloat16};
           })
      .def("__dlpack_device__", [](array const& a) {
        return std::pair<int, int>{a.device < 0 ? nb::device::cpu::value : nb::device::cuda::value,
                                   std::max(a.device, 0)};
      });

  auto const declare = [](auto const& call) {
    return [call](python_setup const& self, shape_of const& shape, std::string const& dtype) {
      auto& with = self.now();
      return with_type(dtype, [&](auto zero) {
        return made(call(with, size_of(shape), zero), shape, self.device);
      });
    };
  };
  nb::class_<python_setup>(m, "Setup", "Declares the arrays of a workload and what is right.")
      .def("_random",
           [](python_setup const& self, shape_of const& shape, std::string const& dtype,
              std::optional<std::pair<double, double>> range, bool written) {
             auto& with = self.now();
             return with_type(dtype, [&](auto zero) {
               using T = decltype(zero);
               using drawn = arrays::host_value<T>;
               uniform<drawn> between{};
               if (range) {
                 between = {number_as<drawn>(range->first, "range"),
                            number_as<drawn>(range->second, "range")};
               } else if constexpr (std::is_same_v<T, std::int64_t>) {
                 between = {-most_exact, most_exact};
               }
               auto const n = size_of(shape);
               return made(written ? with.inout<T>(n, between) : with.random<T>(n, between), shape,
                           self.device);
             });
           })
      .def("_output", declare([](setup& with, std::size_t n, auto zero) {
             return with.output<decltype(zero)>(n);
           }))
      .def("_zeros", declare([](setup& with, std::size_t n, auto zero) {
             return with.zeros<decltype(zero)>(n);
           }))
      .def("_scratch", declare([](setup& with, std::size_t n, auto zero) {
             return with.scratch<decltype(zero)>(n);
           }))
      .def(
          "scalar",
          [](python_setup const& self, std::string name, std::vector<double> const& values) {
            return self.now().scalar(std::move(name), std::span<double const>{values});
          },
          "name"_a, "values"_a, "A number that calls take: `verify` tries all.")
      .def(
          "moves", [](python_setup const& self, double bytes) { self.now().moves(bytes); },
          "bytes"_a, "The bytes that one call must move.")
      .def(
          "does", [](python_setup const& self, double flops) { self.now().does(flops); }, "flops"_a,
          "The floating-point operations of one call.")
      .def(
          "unordered", [](python_setup const& self) { self.now().unordered(); },
          "The bits of results may differ from call to call.")
      .def(
          "finite", [](python_setup const& self) { self.now().finite(); },
          "The workload computes with finite numbers alone.")
      .def("_expect",
           [](python_setup const& self, array const& of, nb::object right,
              std::optional<std::pair<double, double>> allowed, std::optional<rounding_rule> rule) {
             auto const call = shared(std::move(right));
             auto const write = [call, n = of.size()](std::span<double> to) {
               nb::gil_scoped_acquire const gil;
               auto const values = nb::cast<values_view>((*call)());
               if (values.size() != n) {
                 throw std::invalid_argument("setup.expect: " + std::to_string(values.size()) +
                                             " right values for an array of " + std::to_string(n));
               }
               std::copy_n(values.data(), n, to.begin());
             };
             std::optional<tolerance> within;
             if (allowed) { within = tolerance{allowed->first, allowed->second}; }
             of.expect(self.now(), write, within, rule);
           });
}

}  // namespace
}  // namespace assay::python

NB_MODULE(_assay, m) {
  using namespace assay;
  using namespace assay::python;
  bind_setup(m);
  m.def("has_cuda", &has_cuda);
  m.def("compare_all", &compare_list);
  m.def("race", &race_list);
  nb::class_<verification>(m, "Verification")
      .def_ro("failure", &verification::failure)
      .def_ro("cases", &verification::cases)
      .def_ro("left_out", &verification::left_out)
      .def_ro("notes", &verification::notes)
      .def_ro("seconds", &verification::seconds)
      .def("__bool__", [](verification const& v) { return static_cast<bool>(v); })
      .def("__str__", [](verification const& v) { return printed(v); })
      .def("__repr__", [](verification const& v) { return printed(v); });
  m.def("verify", [](nb::object make, nb::object describe, std::size_t extents, bool on_device,
                     int device, nb::object enter, std::uint64_t seed, nb::dict const& rules,
                     bool concurrent, double max_seconds, double max_call_seconds) {
    verify_options chosen;
    chosen.seed = seed;
    chosen.concurrent = concurrent;
    chosen.max_seconds = max_seconds;
    chosen.max_call_seconds = max_call_seconds;
    chosen.only = sizes_from(rules);
    return verify_factory(std::move(make), std::move(describe), extents, on_device, device,
                          std::move(enter), chosen);
  });
}
