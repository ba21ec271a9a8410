#include "common/trace/difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/base/error.hpp"
#include "common/trace/block_bootstrap.hpp"

namespace tickpath::trace {
namespace {

constexpr std::array kPercents{50.0, 90.0, 99.0};
// A percentile is compared where so many orders, in so many different blocks, lie above it.
constexpr std::size_t kAboveMin = 20;
constexpr std::size_t kBlocksAboveMin = 10;
// Fewer blocks than this do not say how they vary.
constexpr std::size_t kBlocksMin = 10;
// Stamps are rounded to whole nanoseconds, and a percentile moves in such steps.
constexpr double kStandardErrorMinNs = 1;

// One run, as it is drawn from.
class Drawable {
 public:
  Drawable(const LatencySeries& series, const std::vector<std::size_t>& rows,
           std::size_t orders_max) {
    run_.every = std::max<std::size_t>(1, (series.orders() + orders_max - 1) / orders_max);
    for (const std::size_t row : rows) {
      std::vector<std::int64_t> ns;
      for (std::size_t i = 0; i < series.orders(); i += run_.every)
        ns.push_back(series.rows[row].ns[i]);
      rows_.emplace_back(ns, kNoLatency);
      note_dependence(ns, rows_.back());
      series_.push_back(std::move(ns));
    }
    run_.orders = series_.front().size();
    weights_.resize(run_.orders);
  }

  const DrawnRun& run() const noexcept { return run_; }
  const SortedSeries& row(std::size_t row) const noexcept { return rows_[row]; }

  bool is_enough(std::size_t row, double percent) const {
    if (rows_[row].size() == 0) return false;
    const std::int64_t limit = rows_[row].percentile(percent);
    std::size_t above = 0, blocks = 0, last = run_.orders;
    for (std::size_t i = 0; i < run_.orders; ++i) {
      // The percentile itself is one of them: where many orders take equally long, nothing is
      // above.
      if (series_[row][i] < limit || series_[row][i] == kNoLatency) continue;
      ++above;
      if (i / run_.block == last) continue;
      last = i / run_.block;
      ++blocks;
    }
    return above >= kAboveMin && blocks >= kBlocksAboveMin && run_.blocks() >= kBlocksMin;
  }

  void draw(std::mt19937_64& random) { draw_blocks(random, run_.block, weights_); }
  std::array<std::int64_t, kPercents.size()> drawn(std::size_t row) const {
    std::array<std::int64_t, kPercents.size()> ns{};
    rows_[row].percentiles(weights_, kPercents, ns);
    return ns;
  }

 private:
  // A percentile is estimated by how many orders lie below it, so the blocks have to be as long as
  // that series wants them. The longest of all rows and percentiles is taken.
  void note_dependence(std::span<const std::int64_t> ns, const SortedSeries& sorted) {
    if (sorted.size() == 0) return;
    std::vector<double> below;
    for (const double percent : kPercents) {
      const std::int64_t limit = sorted.percentile(percent);
      below.clear();
      for (const std::int64_t each : ns)
        if (each != kNoLatency) below.push_back(each <= limit ? 1 : 0);
      run_.block = std::max(run_.block, block_length(below));
    }
  }

  DrawnRun run_;
  std::vector<std::vector<std::int64_t>> series_;
  std::vector<SortedSeries> rows_;
  std::vector<std::uint16_t> weights_;
};

// The runs of one side, drawn one by one. Its percentiles are the means of theirs.
class Side {
 public:
  Side(std::span<const LatencySeries> series, std::span<const std::string> rows,
       std::size_t orders_max) {
    for (const LatencySeries& each : series)
      runs_.emplace_back(each, indices(each, rows), orders_max);
  }

  std::size_t runs() const noexcept { return runs_.size(); }
  std::vector<DrawnRun> drawn_runs() const {
    std::vector<DrawnRun> result;
    for (const Drawable& run : runs_) result.push_back(run.run());
    return result;
  }
  std::size_t blocks() const {
    std::size_t least = runs_.front().run().blocks();
    for (const Drawable& run : runs_) least = std::min(least, run.run().blocks());
    return least;
  }
  std::size_t count(std::size_t row) const {
    std::size_t sum = 0;
    for (const Drawable& run : runs_) sum += run.row(row).size();
    return sum;
  }
  bool is_enough(std::size_t row, double percent) const {
    return std::ranges::all_of(runs_,
                               [&](const Drawable& run) { return run.is_enough(row, percent); });
  }
  // The mean of the runs that have the row.
  double percentile(std::size_t row, double percent) const {
    double sum = 0, runs = 0;
    for (const Drawable& run : runs_) {
      if (run.row(row).size() == 0) continue;
      sum += static_cast<double>(run.row(row).percentile(percent));
      ++runs;
    }
    return runs == 0 ? 0 : sum / runs;
  }
  // How far the runs' percentiles are from their mean, squared and summed.
  double squares(std::size_t row, double percent) const {
    const double mean = percentile(row, percent);
    double sum = 0;
    for (const Drawable& run : runs_) {
      const double off = static_cast<double>(run.row(row).percentile(percent)) - mean;
      sum += off * off;
    }
    return sum;
  }

  void draw(std::mt19937_64& random) {
    for (Drawable& run : runs_) run.draw(random);
  }
  std::array<double, kPercents.size()> drawn(std::size_t row) const {
    std::array<double, kPercents.size()> means{};
    for (const Drawable& run : runs_) {
      const auto ns = run.drawn(row);
      for (std::size_t i = 0; i < means.size(); ++i)
        means[i] += static_cast<double>(ns[i]) / static_cast<double>(runs_.size());
    }
    return means;
  }

 private:
  static std::vector<std::size_t> indices(const LatencySeries& series,
                                          std::span<const std::string> rows) {
    std::vector<std::size_t> found;
    for (const std::string& row : rows)
      found.push_back(static_cast<std::size_t>(
          std::ranges::find(series.rows, row, &LatencyRow::name) - series.rows.begin()));
    return found;
  }

  std::vector<Drawable> runs_;
};

// One figure of all that are compared: by draw, how far the difference was from that of the runs.
struct Figure {
  PercentileDifference* result;
  std::size_t row;
  std::size_t percentile;  // of kPercents
  double difference = 0;
  std::vector<double> deviations{};
  double standard_error = 0;
  double half_width = 0;  // of its interval
};

void draw_all(Side& before, Side& now, const DifferenceOptions& options,
              std::vector<Figure>& figures) {
  std::mt19937_64 random(options.seed);
  for (std::size_t draw = 0; draw < options.draws; ++draw) {
    before.draw(random);
    now.draw(random);
    std::size_t row = figures.front().row + 1;  // none yet
    std::array<double, kPercents.size()> was{}, is{};
    for (Figure& figure : figures) {
      if (figure.row != row) {
        row = figure.row;
        was = before.drawn(row);
        is = now.drawn(row);
      }
      figure.deviations.push_back(is[figure.percentile] - was[figure.percentile] -
                                  figure.difference);
    }
  }
}

double standard_error(const Figure& figure) {
  double sum = 0;
  for (const double each : figure.deviations) sum += each * each;
  const double variance = sum / static_cast<double>(figure.deviations.size());
  return std::max(std::sqrt(variance), kStandardErrorMinNs);
}

// So many standard errors hold every figure's deviation in all but `level` of the draws.
double joint_width(const std::vector<Figure>& figures, const DifferenceOptions& options) {
  std::vector<double> largest(options.draws, 0);
  for (const Figure& figure : figures)
    for (std::size_t draw = 0; draw < options.draws; ++draw)
      largest[draw] =
          std::max(largest[draw], std::abs(figure.deviations[draw]) / figure.standard_error);
  std::ranges::sort(largest);
  const auto rank = static_cast<std::size_t>(
      std::ceil((1 - options.level) * static_cast<double>(options.draws + 1)));
  return largest[std::min(rank, options.draws) - 1];
}

// A variance of few blocks may be far off: Student's t that is as rare as `z` is of the normal
// distribution.
double of_few_blocks(double z, std::size_t blocks) {
  return std::max(z, student_t(std::max(std::erfc(z / std::sqrt(2.0)), 1e-12),
                               std::max<std::size_t>(blocks, 2) - 1));
}

// Widens an interval to what the runs of each side differ by among themselves.
void widen_by_runs(std::vector<Figure>& figures, const Side& before, const Side& now,
                   double level) {
  const std::size_t freedom = before.runs() + now.runs() - 2;
  if (freedom == 0) return;
  const double share =
      1.0 / static_cast<double>(before.runs()) + 1.0 / static_cast<double>(now.runs());
  const double t = student_t(level / static_cast<double>(figures.size()), freedom);
  for (Figure& figure : figures) {
    const double percent = kPercents[figure.percentile];
    const double squares = before.squares(figure.row, percent) + now.squares(figure.row, percent);
    const double error = std::sqrt(squares / static_cast<double>(freedom) * share);
    figure.half_width = std::max(figure.half_width, t * error);
  }
}

void judge(const Figure& figure, double tolerance) {
  PercentileDifference& result = *figure.result;
  result.low = figure.difference - figure.half_width;
  result.high = figure.difference + figure.half_width;
  const double accepted = tolerance * static_cast<double>(std::abs(result.before));
  result.change = result.low > accepted     ? Change::kSlower
                  : result.high < -accepted ? Change::kQuicker
                                            : Change::kNone;
}

bool has_row(const LatencySeries& series, const LatencyRow& row) {
  return std::ranges::any_of(series.rows, [&](const LatencyRow& each) {
    return each.name == row.name && each.from == row.from && each.to == row.to;
  });
}

// Rows that all runs have; the names of the others go to result.only_some.
std::vector<const LatencyRow*> common_rows(std::span<const LatencySeries> before,
                                           std::span<const LatencySeries> now, Difference& result) {
  std::vector<const LatencyRow*> rows;
  const auto take = [&](std::span<const LatencySeries> side) {
    for (const LatencySeries& series : side)
      for (const LatencyRow& row : series.rows) {
        const auto has = [&](const LatencySeries& each) { return has_row(each, row); };
        const bool all = std::ranges::all_of(before, has) && std::ranges::all_of(now, has);
        if (all && std::ranges::none_of(
                       rows, [&](const LatencyRow* each) { return each->name == row.name; }))
          rows.push_back(&row);
        if (!all && std::ranges::find(result.only_some, row.name) == result.only_some.end())
          result.only_some.push_back(row.name);
      }
  };
  take(before);
  take(now);
  return rows;
}

RowDifference row_of(const LatencyRow& row, std::size_t index, const Side& before,
                     const Side& now) {
  RowDifference result{row.name, row.from, row.to, before.count(index), now.count(index), {}};
  for (const double percent : kPercents)
    result.percentiles.push_back({.percent = percent,
                                  .before = std::llround(before.percentile(index, percent)),
                                  .now = std::llround(now.percentile(index, percent))});
  return result;
}

std::vector<Figure> figures_of(Difference& difference, const Side& before, const Side& now) {
  std::vector<Figure> figures;
  for (std::size_t row = 0; row < difference.rows.size(); ++row)
    for (std::size_t i = 0; i < kPercents.size(); ++i)
      if (before.is_enough(row, kPercents[i]) && now.is_enough(row, kPercents[i]))
        figures.push_back(
            {&difference.rows[row].percentiles[i], row, i,
             now.percentile(row, kPercents[i]) - before.percentile(row, kPercents[i])});
  return figures;
}

}  // namespace

// The distribution function for whole degrees of freedom: M. Abramowitz, I. Stegun, Handbook of
// Mathematical Functions, 26.7.3 and 26.7.4; inverted by halving. Beyond a thousand degrees it is
// the normal distribution to three digits.
double student_t(double tail, std::size_t freedom) {
  const std::size_t v = std::min<std::size_t>(freedom, 1'000);
  const auto outside = [v](double t) {
    const double angle = std::atan(t / std::sqrt(static_cast<double>(v)));
    const double cosine = std::cos(angle);
    double term = v % 2 == 0 ? 1 : cosine, sum = v == 1 ? 0 : term;
    for (std::size_t i = v % 2 == 0 ? 2 : 3; i + 2 <= v; i += 2) {
      const auto k = static_cast<double>(i);
      term *= cosine * cosine * (k - 1) / k;
      sum += term;
    }
    if (v % 2 == 0) return 1 - std::sin(angle) * sum;
    return 1 - 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
  };
  double low = 0, high = 1;
  while (outside(high) > tail && high < 1e9) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (outside(middle) > tail ? low : high) = middle;
  }
  return high;
}

bool RowDifference::any(Change change) const noexcept {
  return std::ranges::any_of(
      percentiles, [&](const PercentileDifference& each) { return each.change == change; });
}

bool Difference::any(Change change) const noexcept {
  return std::ranges::any_of(rows, [&](const RowDifference& row) { return row.any(change); });
}

bool Difference::too_few() const noexcept {
  return std::ranges::all_of(rows, [](const RowDifference& row) {
    return std::ranges::all_of(row.percentiles, [](const PercentileDifference& each) {
      return each.change == Change::kTooFew;
    });
  });
}

std::vector<const RowDifference*> Difference::slower_hops() const {
  std::vector<std::pair<double, const RowDifference*>> slower;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    double certain = 0;
    for (const PercentileDifference& each : rows[row].percentiles)
      if (each.change == Change::kSlower) certain = std::max(certain, each.low);
    if (rows[row].any(Change::kSlower)) slower.emplace_back(-certain, &rows[row]);
  }
  std::ranges::sort(slower);
  std::vector<const RowDifference*> result;
  for (const auto& [certain, row] : slower) result.push_back(row);
  return result;
}

Difference compare(std::span<const LatencySeries> before, std::span<const LatencySeries> now,
                   const DifferenceOptions& options) {
  Difference result;
  const std::vector<const LatencyRow*> rows = common_rows(before, now, result);
  const auto is_empty = [](const LatencySeries& series) { return series.orders() == 0; };
  if (rows.empty() || std::ranges::any_of(before, is_empty) || std::ranges::any_of(now, is_empty))
    throw Error(
        "nothing to compare: a run has no order that a tick caused, or the runs were "
        "stamped at different hops");
  std::vector<std::string> names;
  for (const LatencyRow* row : rows) names.push_back(row->name);
  Side first(before, names, options.orders_max);
  Side second(now, names, options.orders_max);
  result.before = first.drawn_runs();
  result.now = second.drawn_runs();
  result.knows_runs = first.runs() + second.runs() > 2;
  for (std::size_t i = 0; i < rows.size(); ++i)
    result.rows.push_back(row_of(*rows[i], i, first, second));
  std::vector<Figure> figures = figures_of(result, first, second);
  if (figures.empty()) return result;
  draw_all(first, second, options, figures);
  for (Figure& figure : figures) figure.standard_error = standard_error(figure);
  const double width =
      of_few_blocks(joint_width(figures, options), std::min(first.blocks(), second.blocks()));
  for (Figure& figure : figures) figure.half_width = width * figure.standard_error;
  widen_by_runs(figures, first, second, options.level);
  for (const Figure& figure : figures) judge(figure, options.tolerance);
  return result;
}

}  // namespace tickpath::trace
