// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/report/json.hpp>
#include <assay/report/json_values.hpp>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace assay;

namespace {

// `same` compares every member, and treats NaN as equal to itself. Each function takes a struct
// apart by a structured binding. So a new member that is missing here, and perhaps in the reports,
// does not compile.
bool same(double a, double b) { return a == b || (a != a && b != b); }
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>)
bool same(T const& a, T const& b) {
  return a == b;
}
template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b);
template <class T>
bool same(std::optional<T> const& a, std::optional<T> const& b);
template <class T, std::size_t N>
bool same(std::array<T, N> const& a, std::array<T, N> const& b);

bool same(std::pair<std::string, std::string> const& a,
          std::pair<std::string, std::string> const& b) {
  return a == b;
}

bool same(measure::estimate const& a, measure::estimate const& b) {
  auto const& [r1, l1, h1, c1] = a;
  auto const& [r2, l2, h2, c2] = b;
  return same(r1, r2) && same(l1, l2) && same(h1, h2) && same(c1, c2);
}

bool same(measure::finding const& a, measure::finding const& b) {
  auto const& [n1, k1, o1, p1, v1, m1, b1, r1, e1, f1, t1, d1, x1, w1] = a;
  auto const& [n2, k2, o2, p2, v2, m2, b2, r2, e2, f2, t2, d2, x2, w2] = b;
  return same(n1, n2) && same(k1, k2) && same(o1, o2) && same(p1, p2) && same(v1, v2) &&
         same(m1, m2) && same(b1, b2) && same(r1, r2) && same(e1, e2) && same(f1, f2) &&
         same(t1, t2) && same(d1, d2) && same(x1, x2) && same(w1, w2);
}

bool same(stats::summary const& a, stats::summary const& b) {
  auto const& [m1, p1, q1, i1, x1, c1] = a;
  auto const& [m2, p2, q2, i2, x2, c2] = b;
  return same(m1, m2) && same(p1, p2) && same(q1, q2) && same(i1, i2) && same(x1, x2) && c1 == c2;
}

bool same(measure::latency const& a, measure::latency const& b) {
  auto const& [p1, q1, x1, m1] = a;
  auto const& [p2, q2, x2, m2] = b;
  return same(p1, p2) && same(q1, q2) && same(x1, x2) && same(m1, m2);
}

bool same(measure::submission_profile const& a, measure::submission_profile const& b) {
  auto const& [t1, a1, l1, u1, i1] = a;
  auto const& [t2, a2, l2, u2, i2] = b;
  return same(t1, t2) && same(a1, a2) && same(l1, l2) && same(u1, u2) && i1 == i2;
}

bool same(measure::memory_profile const& a, measure::memory_profile const& b) {
  auto const& [a1, d1, b1, p1, r1, u1, c1] = a;
  auto const& [a2, d2, b2, p2, r2, u2, c2] = b;
  return a1 == a2 && d1 == d2 && b1 == b2 && p1 == p2 && r1 == r2 && u1 == u2 && c1 == c2;
}

bool same(measure::interval const& a, measure::interval const& b) {
  auto const& [l1, e1, h1] = a;
  auto const& [l2, e2, h2] = b;
  return same(l1, l2) && same(e1, e2) && same(h1, h2);
}

bool same(measure::short_cell const& a, measure::short_cell const& b) {
  auto const& [e1, l1, s1, f1] = a;
  auto const& [e2, l2, s2, f2] = b;
  return same(e1, e2) && same(l1, l2) && same(s1, s2) && same(f1, f2);
}

bool same(measure::launch_costs const& a, measure::launch_costs const& b) {
  auto const& [l1, p1, f1, c1] = a;
  auto const& [l2, p2, f2, c2] = b;
  return same(l1, l2) && same(p1, p2) && same(f1, f2) && same(c1, c2);
}

bool same(measure::variant_result const& a, measure::variant_result const& b) {
  auto const& [l1, x1, s1, h1, b1, f1, p1, q1, r1, u1, m1, o1, c1] = a;
  auto const& [l2, x2, s2, h2, b2, f2, p2, q2, r2, u2, m2, o2, c2] = b;
  return same(l1, l2) && same(x1, x2) && same(s1, s2) && same(h1, h2) && same(b1, b2) &&
         same(f1, f2) && same(p1, p2) && same(q1, q2) && same(r1, r2) && same(u1, u2) &&
         same(m1, m2) && same(o1, o2) && same(c1, c2);
}

bool same(machine::environment const& a, machine::environment const& b) {
  auto const& [d1, v1, t1, h1, g1, c1, l1, s1, n1, k1, m1, p1, e1, r1] = a;
  auto const& [d2, v2, t2, h2, g2, c2, l2, s2, n2, k2, m2, p2, e2, r2] = b;
  return same(d1, d2) && same(v1, v2) && same(t1, t2) && same(h1, h2) && same(g1, g2) &&
         same(c1, c2) && same(l1, l2) && same(s1, s2) && n1 == n2 && same(k1, k2) && same(m1, m2) &&
         same(p1, p2) && same(e1, e2) && same(r1, r2);
}

bool same(machine::ceiling const& a, machine::ceiling const& b) {
  auto const& [n1, p1, u1] = a;
  auto const& [n2, p2, u2] = b;
  return same(n1, n2) && same(p1, p2) && same(u1, u2);
}

bool same(measure::answer const& a, measure::answer const& b) {
  auto const& [q1, l1] = a;
  auto const& [q2, l2] = b;
  return same(q1, q2) && same(l1, l2);
}

bool same(measure::cell_record const& a, measure::cell_record const& b) {
  auto const& [e1, p1, v1, u1, t1, s1, h1] = a;
  auto const& [e2, p2, v2, u2, t2, s2, h2] = b;
  return e1 == e2 && p1 == p2 && v1 == v2 && u1 == u2 && same(t1, t2) && same(s1, s2) &&
         same(h1, h2);
}

bool same(measure::epoch_record const& a, measure::epoch_record const& b) {
  auto const& [n1, k1, b1, s1, t1, d1] = a;
  auto const& [n2, k2, b2, s2, t2, d2] = b;
  return n1 == n2 && k1 == k2 && same(b1, b2) && same(s1, s2) && t1 == t2 && same(d1, d2);
}

bool same(measure::analysis_record const& a, measure::analysis_record const& b) {
  auto const& [e1, a1, c1, o1] = a;
  auto const& [e2, a2, c2, o2] = b;
  return e1 == e2 && same(a1, a2) && c1 == c2 && same(o1, o2);
}

bool same(measure::traced_time const& a, measure::traced_time const& b) {
  auto const& [n1, l1, h1] = a;
  auto const& [n2, l2, h2] = b;
  return same(n1, n2) && same(l1, l2) && same(h1, h2);
}

bool same(measure::traced_part const& a, measure::traced_part const& b) {
  auto const& [k1, n1, d1, c1, v1, p1, q1, b1, w1] = a;
  auto const& [k2, n2, d2, c2, v2, p2, q2, b2, w2] = b;
  return same(k1, k2) && same(n1, n2) && same(d1, d2) && same(c1, c2) && same(v1, v2) &&
         same(p1, p2) && same(q1, q2) && same(b1, b2) && same(w1, w2);
}

bool same(measure::traced_idle const& a, measure::traced_idle const& b) {
  auto const& [c1, t1] = a;
  auto const& [c2, t2] = b;
  return same(c1, c2) && same(t1, t2);
}

bool same(measure::timeline_span const& a, measure::timeline_span const& b) {
  auto const& [l1, n1, b1, e1] = a;
  auto const& [l2, n2, b2, e2] = b;
  return l1 == l2 && n1 == n2 && b1 == b2 && e1 == e2;
}

bool same(measure::timeline const& a, measure::timeline const& b) {
  auto const& [l1, k1, n1, s1, t1, o1, p1] = a;
  auto const& [l2, k2, n2, s2, t2, o2, p2] = b;
  return same(l1, l2) && same(k1, k2) && same(n1, n2) && same(s1, s2) && t1 == t2 && o1 == o2 &&
         p1 == p2;
}

bool same(measure::traced_variant const& a, measure::traced_variant const& b) {
  auto const& [v1, t1, i1, l1, f1, d1, b1, r1] = a;
  auto const& [v2, t2, i2, l2, f2, d2, b2, r2] = b;
  return v1 == v2 && same(t1, t2) && same(i1, i2) && same(l1, l2) && same(f1, f2) && same(d1, d2) &&
         same(b1, b2) && same(r1, r2);
}

bool same(measure::traced_difference const& a, measure::traced_difference const& b) {
  auto const& [c1, v1, n1, k1, s1, u1, t1, a1, l1, p1] = a;
  auto const& [c2, v2, n2, k2, s2, u2, t2, a2, l2, p2] = b;
  return same(c1, c2) && same(v1, v2) && n1 == n2 && same(k1, k2) && same(s1, s2) && same(u1, u2) &&
         same(t1, t2) && same(a1, a2) && l1 == l2 && same(p1, p2);
}

bool same(measure::comparison const& a, measure::comparison const& b) {
  auto const& [t1, c1, a1, f1, q1, y1, n1, v1, x1, l1, o1, w1, p1, m1, h1, j1, s1, e1, b1, d1, k1,
               r1, z1, u1, i1, g1] = a;
  auto const& [t2, c2, a2, f2, q2, y2, n2, v2, x2, l2, o2, w2, p2, m2, h2, j2, s2, e2, b2, d2, k2,
               r2, z2, u2, i2, g2] = b;
  // Not in the record: o, the variant that failed.
  (void)o1;
  (void)o2;
  return same(t1, t2) && same(c1, c2) && same(a1, a2) && same(f1, f2) && same(q1, q2) &&
         same(y1, y2) && same(n1, n2) && same(v1, v2) && same(x1, x2) && same(l1, l2) &&
         same(w1, w2) && same(p1, p2) && same(m1, m2) && same(h1, h2) && same(s1, s2) &&
         same(j1, j2) && same(e1, e2) && same(b1, b2) && same(d1, d2) && same(k1, k2) &&
         same(r1, r2) && same(z1, z2) && same(u1, u2) && same(i1, i2) && same(g1, g2);
}

template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T const& x, T const& y) { return same(x, y); });
}
template <class T>
bool same(std::optional<T> const& a, std::optional<T> const& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <class T, std::size_t N>
bool same(std::array<T, N> const& a, std::array<T, N> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](T const& x, T const& y) { return same(x, y); });
}

/// Values that are hard on a text format, among random ones.
class source {
 public:
  explicit source(std::uint64_t seed) : random_(seed) {}

  std::uint64_t whole() { return random_(); }
  int small() { return static_cast<int>(random_() % 100); }
  bool coin() { return random_() % 2 == 0; }

  /// Any finite double, or NaN, which stands for "unknown" wherever it may stand.
  double number() {
    if (random_() % 8 == 0) { return std::numeric_limits<double>::quiet_NaN(); }
    double const value = std::bit_cast<double>(random_());
    return std::isfinite(value) ? value : std::numeric_limits<double>::denorm_min();
  }

  std::string text() {
    static std::array<std::string, 6> const texts{"",           "plain",    "a \"quoted\", text\n",
                                                  "\\ \t \x01", "\xc3\xa9", "{brace: [1]}"};
    return texts[random_() % texts.size()] + std::to_string(random_() % 1000);
  }

  std::vector<double> numbers() {
    std::vector<double> result(random_() % 5);
    for (auto& value : result) { value = number(); }
    return result;
  }

 private:
  std::mt19937_64 random_;
};

measure::variant_result random_variant(source& from) {
  measure::variant_result result;
  result.label = from.text();
  result.axes = {{from.text(), from.text()}, {from.text(), from.text()}};
  for (auto& each : result.seconds) {
    each = {from.number(), from.number(), from.number(),
            from.number(), from.number(), from.whole()};
  }
  result.sm_hertz = from.number();
  result.bytes = from.number();
  result.flops = from.number();
  result.slow_share = from.number();
  result.slow_seconds = from.number();
  if (from.coin()) { result.results = static_cast<measure::checks>(from.whole() % 3); }
  auto const times = [&] {
    return measure::latency{from.number(), from.number(), from.number(), from.number()};
  };
  if (from.coin()) {
    result.submission =
        measure::submission_profile{times(), times(), times(), times(), from.whole()};
  }
  if (from.coin()) {
    auto const told = [&] { return from.coin() ? std::optional{from.whole()} : std::nullopt; };
    result.memory = measure::memory_profile{from.whole(), from.whole(), from.whole(), from.whole(),
                                            told(),       told(),       told()};
  }
  if (from.coin()) {
    result.costs =
        measure::launch_costs{{from.number(), from.number(), from.number()},
                              {from.number(), from.number(), from.number()},
                              from.number(),
                              {{from.small(), from.small(), from.number(), from.number()}, {}}};
  }
  return result;
}

measure::traced_difference random_traced(source& from) {
  auto const time = [&] {
    return measure::traced_time{from.number(), from.number(), from.number()};
  };
  auto const side = [&] {
    measure::traced_variant made;
    made.variant = from.small();
    made.batch = time();
    made.idle = {{from.text(), time()}, {from.text(), time()}};
    made.timeline.lanes = {from.text()};
    made.timeline.kinds = {from.text(), from.text()};
    made.timeline.names = {from.text(), from.text()};
    made.timeline.spans = {{0, 1, from.small(), from.small()}, {0, 0, from.small(), 0}};
    made.timeline.length_ns = from.small();
    made.timeline.left_out = from.whole();
    made.timeline.left_out_ns = from.small();
    made.file = from.text();
    made.dram_bytes = from.number();
    made.bound = from.text();
    made.bound_reason = from.text();
    return made;
  };
  return {side(),
          side(),
          from.whole(),
          from.number(),
          from.number(),
          time(),
          time(),
          time(),
          from.coin(),
          {{from.text(), from.text(), time(), from.number(), from.number(), from.number(),
            from.number(), from.number(), from.number()}}};
}

measure::comparison random_comparison(source& from) {
  measure::comparison all;
  all.title = from.text();
  all.changed = from.text();
  for (int i = 0; i < 3; ++i) { all.variants.push_back(random_variant(from)); }
  for (int i = 0; i < 12; ++i) {
    measure::finding each;
    each.contrast_name = from.text();
    each.what = static_cast<measure::contrast::kind>(i % 3);
    each.on = measure::all_clocks[static_cast<std::size_t>(i % 3)];
    each.primary = from.coin();
    each.outcome = static_cast<measure::verdict>(i % 6);
    each.exceeds_margin = from.coin();
    each.is_bound = from.coin();
    each.reason = from.text();
    each.effect = {from.number(), from.number(),
                   from.coin() ? std::numeric_limits<double>::infinity() : 1.5, from.number()};
    each.noise = from.number();
    each.typical_ratio = from.number();
    each.epochs_needed = from.small();
    each.epoch_effects = from.numbers();
    each.weights = from.numbers();
    all.findings.push_back(each);
  }
  all.answers = {{from.text(), {from.text(), from.text()}}, {from.text(), {}}};
  if (from.coin()) { all.reasons = {{from.text(), {from.text()}}}; }
  if (from.coin()) { all.traced = {random_traced(from), random_traced(from)}; }
  all.notes = {from.text(), from.text()};
  all.caveats = {from.text()};
  all.failure = from.text();
  all.launches = from.small();
  all.ceilings = {{from.text(), from.number(), machine::ceiling::unit::bytes},
                  {from.text(), from.number(), machine::ceiling::unit::flops}};
  all.where = {from.text(),   from.text(),   from.text(),   from.text(),  from.text(),
               from.text(),   from.text(),   from.text(),   from.small(), from.number(),
               from.number(), from.number(), from.number(), {from.text()}};
  all.primary = measure::all_clocks[static_cast<std::size_t>(from.small() % 3)];
  all.margin = from.number();
  all.alpha = from.number();
  all.checks_required = from.coin();
  all.seed = from.whole();
  all.epochs = from.small();
  all.seconds = from.number();
  if (from.coin()) {
    all.hidden_control = {from.number(), from.number(), from.number(), from.number()};
  }
  all.autocorrelation = from.number();
  for (int i = 0; i < 20; ++i) {  // variant 3 is the control's second instance
    all.cells.push_back({i % 5,
                         i,
                         i % 4,
                         i % 2,
                         from.number(),
                         {from.number(), from.number(), from.number()},
                         from.number()});
  }
  for (int i = 0; i < 5; ++i) {
    all.epoch_records.push_back(
        {i, i + 1, from.number(), from.number(), from.whole(), i == 2 ? "throttled" : ""});
  }
  all.analyses = {{8, 0.01, 0, {measure::verdict::slower, measure::verdict::inconclusive}}};
  for (auto const& each : all.cells) {
    if (each.variant == 3 || each.epoch == 2) { continue; }
    for (std::size_t k = 0; k < 3; ++k) {
      all.variants[static_cast<std::size_t>(each.variant)].cells[k].push_back(each.seconds[k]);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a comparison survives JSON bit for bit") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  source from{seed};
  for (int run = 0; run < 100; ++run) {
    auto const all = random_comparison(from);
    auto const text = report::json(all);
    auto const back = report::parse_json(text);
    REQUIRE(same(all, back));
    REQUIRE(report::json(back) == text);
  }
}

TEST_CASE("an empty comparison survives JSON") {
  CHECK(same(report::parse_json(report::json(measure::comparison{})), {}));
}

TEST_CASE("numbers that are not finite become null, the seed a string") {
  measure::comparison all;
  all.findings.emplace_back();
  all.seed = std::numeric_limits<std::uint64_t>::max();
  auto const written = report::to_json(all);
  CHECK(written["findings"][0]["high"].is_null());
  CHECK(written["environment"]["power_watts"].is_null());
  CHECK(written["seed"] == "18446744073709551615");
  CHECK(written["schema_version"] == 2);
  CHECK(std::isinf(report::from_json(written).findings[0].effect.high));
}

TEST_CASE("text that is not UTF-8 is written all the same") {
  measure::comparison all;
  all.title = "broken \xff byte";
  CHECK(report::parse_json(report::json(all)).title == "broken \xef\xbf\xbd byte");
}

TEST_CASE("an invalid report is refused, and the error says why") {
  auto written = report::to_json(test::sample());
  auto const refused = [](report::document const& from, std::string const& with) {
    CHECK_THROWS_WITH(report::from_json(from), assay::test::contains(with));
    CHECK_THROWS_AS(report::from_json(from), std::invalid_argument);
  };
  auto changed = written;
  changed["schema_version"] = 7;
  refused(changed, "schema version 7, this program reads 1 to 2");
  changed = written;
  changed["schema_version"] = 0;
  refused(changed, "schema version 0, this program reads 1 to 2");
  changed = written;
  changed.erase("variants");
  refused(changed, "variants");
  changed = written;
  changed["margin"] = "wide";
  refused(changed, "type must be number");
  changed = written;
  changed["primary_clock"] = "sundial";
  refused(changed, "primary_clock is 'sundial'");
  changed = written;
  changed["seed"] = "12x";
  refused(changed, "seed is '12x'");
  refused(report::document::array(), "not a report");
  CHECK_THROWS_WITH(report::parse_json("{"), assay::test::contains("not JSON"));
}

TEST_CASE("a committed report of schema 1 still reads, and is written anew without loss") {
  char const* const source = std::getenv("ASSAY_SOURCE_DIR");
  REQUIRE(source != nullptr);
  std::ifstream file{std::filesystem::path{source} / "tests/report/schema_1.json"};
  std::ostringstream text;
  text << file.rdbuf();
  auto const written = report::document::parse(text.str());
  REQUIRE(written["schema_version"] == 1);
  auto const all = report::parse_json(text.str());
  REQUIRE(all.variants.size() == written["arms"].size());
  CHECK(all.variants[0].label == written["arms"][0]["label"].get<std::string>());
  CHECK(all.variants[0].cells[0].size() == written["arms"][0]["cells"]["wall"].size());
  REQUIRE(all.findings.size() == written["findings"].size());
  CHECK(all.findings[0].exceeds_margin == written["findings"][0]["material"]);
  CHECK(all.findings[0].effect.ratio == written["findings"][0]["ratio"]);
  CHECK_FALSE(all.checks_required);
  for (auto const& each : all.variants) {
    CHECK_FALSE(each.results);
    CHECK((std::isnan(each.slow_share) && std::isnan(each.slow_seconds)));
  }
  for (auto const& each : all.findings) {
    CHECK(std::isnan(each.typical_ratio));
    CHECK(each.noise == 0);  // schema 1 has another noise in its place
    CHECK_FALSE(each.is_bound);
  }
  CHECK_FALSE(all.hidden_control);
  CHECK(all.cells.empty());
  CHECK(same(report::parse_json(report::json(all)), all));
}
