#include "core/sketches/t_digest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

namespace bitsieve::core {

namespace {

using Node = TDigest::Node;

// Returns the weighted mean of two numbers, within them.
double WeightedMean(double x1, double w1, double x2, double w2) {
  if (x1 > x2) {
    std::swap(x1, x2);
    std::swap(w1, w2);
  }
  return std::max(x1, std::min((x1 * w1 + x2 * w2) / (w1 + w2), x2));
}

// A digest that was read back may give numbers that no integer has.
int64_t AsInteger(double value) { return std::abs(value) < 0x1p62 ? static_cast<int64_t>(value) : INT64_MIN / 2; }

bool IsLess(const Node& a, const Node& b) { return a.mean < b.mean; }

void InsertionSort(std::vector<Node>& nodes, size_t low, size_t high) {
  for (size_t i = low + 1; i <= high; ++i) {
    const Node moved = nodes[i];
    size_t at = i;
    for (; at > low && moved.mean < nodes[at - 1].mean; --at) nodes[at] = nodes[at - 1];
    nodes[at] = moved;
  }
}

void SwapIfLess(Node& a, Node& b) {
  if (IsLess(a, b)) std::swap(a, b);
}

// Moves a node down until no child is larger. Of equal children the left one is taken.
void SiftDown(std::span<Node> heap, size_t index) {
  while (index < heap.size() / 2) {
    size_t child = 2 * index + 1;
    if (child + 1 < heap.size() && IsLess(heap[child], heap[child + 1])) ++child;
    if (!IsLess(heap[index], heap[child])) return;
    std::swap(heap[index], heap[child]);
    index = child;
  }
}

void HeapSort(std::span<Node> nodes) {
  for (size_t i = nodes.size() / 2; i-- > 0;) SiftDown(nodes, i);
  for (size_t last = nodes.size(); last-- > 1;) {
    std::swap(nodes[0], nodes[last]);
    SiftDown(nodes.first(last), 0);
  }
}

}  // namespace

Result<TDigest> TDigest::Make(double compression) {
  if (!(compression > 0 && compression <= kMaxCompression)) {
    return Fail(ErrorCode::kInvalidArgument, "the compression of a t-digest is out of its range");
  }
  return TDigest(State{.compression = compression});
}

Result<TDigest> TDigest::FromState(State state) {
  Result<TDigest> digest = Make(state.compression);
  const bool fits = digest && state.nodes.size() <= digest->capacity() && state.merged_nodes <= state.nodes.size() &&
                    state.merged_weight >= 0 && state.unmerged_weight >= 0 &&
                    std::ranges::all_of(state.nodes, [](const Node& node) { return node.weight >= 0; });
  int64_t sum = 0;
  if (!fits || __builtin_add_overflow(state.merged_weight, state.unmerged_weight, &sum)) {
    return Fail(ErrorCode::kCorrupt, "the numbers of a t-digest contradict each other");
  }
  return TDigest(std::move(state));
}

bool TDigest::Add(double value, int64_t weight) {
  int64_t sum = 0;
  if (__builtin_add_overflow(static_cast<int64_t>(observations()), weight, &sum)) return false;
  if (state_.nodes.size() >= capacity() - 1) Compress();
  state_.nodes.push_back({value, weight});
  state_.unmerged_weight += weight;
  state_.min = std::min(state_.min, value);
  state_.max = std::max(state_.max, value);
  return true;
}

void TDigest::Reset() { state_ = State{.compression = state_.compression}; }

// The functions of the standard library order equal means differently: the order is RedisBloom's.
void TDigest::Sort(std::vector<Node>& nodes, size_t low, size_t high, unsigned depth) {
  constexpr size_t kFew = 16;
  while (high - low > kFew) {
    if (depth == 0) {
      return HeapSort(std::span(nodes).subspan(low, high - low + 1));
    }
    --depth;
    const size_t middle = low + (high - low) / 2;
    SwapIfLess(nodes[middle], nodes[low]);
    SwapIfLess(nodes[high], nodes[low]);
    SwapIfLess(nodes[high], nodes[middle]);
    const double pivot = nodes[middle].mean;
    size_t less = low, greater = high;
    for (size_t i = low; i <= greater;) {
      if (nodes[i].mean < pivot) {
        std::swap(nodes[i++], nodes[less++]);
      } else if (nodes[i].mean > pivot) {
        std::swap(nodes[i], nodes[greater--]);
      } else {
        ++i;
      }
    }
    const size_t left = less - low, right = high - greater;  // nodes on either side
    if (left < right) {
      if (left > 1) Sort(nodes, low, less - 1, depth);
      if (right == 0) return;
      low = greater + 1;
    } else {
      if (right > 1) Sort(nodes, greater + 1, high, depth);
      if (left == 0) return;
      high = less - 1;
    }
  }
  InsertionSort(nodes, low, high);
}

void TDigest::Compress() {
  if (unmerged_nodes() == 0) return;
  std::vector<Node>& nodes = state_.nodes;
  Sort(nodes, 0, nodes.size() - 1, 2 * static_cast<unsigned>(std::bit_width(nodes.size()) - 1));
  const int64_t all = state_.merged_weight + state_.unmerged_weight;
  if (all > 1) {
    const auto total = static_cast<double>(all);
    const double norm = state_.compression / (2 * std::numbers::pi * total * std::log(total));
    size_t current = 0;
    double so_far = 0;
    for (size_t i = 1; i < nodes.size(); ++i) {
      const double proposed = static_cast<double>(nodes[current].weight) + static_cast<double>(nodes[i].weight);
      const double z = proposed * norm, q0 = so_far / total, q2 = (so_far + proposed) / total;
      if (z <= q0 * (1 - q0) && z <= q2 * (1 - q2)) {
        Node& node = nodes[current];
        node.weight += nodes[i].weight;
        node.mean +=
            (nodes[i].mean - node.mean) * static_cast<double>(nodes[i].weight) / static_cast<double>(node.weight);
      } else {
        so_far += static_cast<double>(nodes[current].weight);
        nodes[++current] = nodes[i];
      }
    }
    nodes.resize(current + 1);
  }
  state_.merged_nodes = nodes.size();
  state_.merged_weight = all;
  state_.unmerged_weight = 0;
  ++state_.compressions;
}

bool TDigest::MergeFrom(TDigest& other) {
  Compress();
  other.Compress();
  const std::vector<Node> nodes = other.state_.nodes;  // it may be this one
  return std::ranges::all_of(nodes, [this](const Node& node) { return Add(node.mean, node.weight); });
}

double TDigest::ValueAt(double index) const {
  const std::vector<Node>& nodes = state_.nodes;
  const Node &first = nodes.front(), &last = nodes.back();
  const auto total = static_cast<double>(state_.merged_weight);
  const auto w1 = static_cast<double>(first.weight), wl = static_cast<double>(last.weight);
  if (w1 > 1 && index < w1 / 2) return state_.min + (index - 1) / (w1 / 2 - 1) * (first.mean - state_.min);
  if (index > total - 1) return state_.max;
  if (wl > 1 && total - index <= wl / 2) {
    return state_.max - (total - index - 1) / (wl / 2 - 1) * (state_.max - last.mean);
  }
  double so_far = w1 / 2;
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    const Node &a = nodes[i], &b = nodes[i + 1];
    const double between = (static_cast<double>(a.weight) + static_cast<double>(b.weight)) / 2;
    if (so_far + between > index) {
      double left_unit = 0, right_unit = 0;
      if (a.weight == 1) {
        if (index - so_far < 0.5) return a.mean;
        left_unit = 0.5;
      }
      if (b.weight == 1) {
        if (so_far + between - index <= 0.5) return b.mean;
        right_unit = 0.5;
      }
      const double z1 = index - so_far - left_unit, z2 = so_far + between - index - right_unit;
      return WeightedMean(a.mean, z2, b.mean, z1);
    }
    so_far += between;
  }
  const double z1 = index - total - wl / 2, z2 = wl / 2 - z1;
  return WeightedMean(last.mean, z1, state_.max, z2);
}

double TDigest::Quantile(double q) {
  Compress();
  if (state_.nodes.empty()) return kNone;
  if (state_.nodes.size() == 1) return state_.nodes.front().mean;
  return ValueAt(q * static_cast<double>(state_.merged_weight));
}

double TDigest::ByIndex(double index) {
  Compress();
  if (state_.nodes.empty()) return kNone;
  if (state_.nodes.size() == 1) return state_.nodes.front().mean;
  return index < 1 ? state_.min : ValueAt(index);
}

double TDigest::ByRank(int64_t rank) {
  const auto total = static_cast<double>(observations());
  if (observations() == 0) return kNone;
  if (rank == 0) return state_.min;
  if (static_cast<double>(rank) >= total) return std::numeric_limits<double>::infinity();
  return ByIndex(static_cast<double>(rank) / total * total);
}

double TDigest::ByReverseRank(int64_t rank) {
  const auto total = static_cast<double>(observations());
  if (observations() == 0) return kNone;
  if (rank == 0) return state_.max;
  if (static_cast<double>(rank) >= total) return -std::numeric_limits<double>::infinity();
  return ByIndex((total - static_cast<double>(rank) - 1) / total * total);
}

double TDigest::Cdf(double x) {
  Compress();
  const std::vector<Node>& nodes = state_.nodes;
  if (nodes.empty()) return kNone;
  const double min = state_.min, max = state_.max;
  if (x < min) return 0;
  if (x > max) return 1;
  if (nodes.size() == 1) return 0.5;
  const Node &first = nodes.front(), &last = nodes.back();
  const auto total = static_cast<double>(state_.merged_weight);
  if (x < first.mean) {
    if (!(first.mean > min)) return 0;
    if (x == min) return 0.5 / total;
    return (1 + (x - min) / (first.mean - min) * (static_cast<double>(first.weight) / 2 - 1)) / total;
  }
  if (x > last.mean) {
    if (!(max > last.mean)) return 1;
    if (x == max) return 1 - 0.5 / total;
    return 1 - (1 + (max - x) / (max - last.mean) * (static_cast<double>(last.weight) / 2 - 1)) / total;
  }
  double so_far = 0;
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    const Node &a = nodes[i], &b = nodes[i + 1];
    const auto wa = static_cast<double>(a.weight), wb = static_cast<double>(b.weight);
    if (a.mean == x) {
      double equal = 0;
      for (size_t j = i; j < nodes.size() && nodes[j].mean == x; ++j) equal += static_cast<double>(nodes[j].weight);
      return (so_far + equal / 2) / total;
    }
    if (a.mean < x && x < b.mean) {
      if (a.weight == 1 && b.weight == 1) return (so_far + 1) / total;
      const double left_unit = a.weight == 1 ? 0.5 : 0, right_unit = b.weight == 1 ? 0.5 : 0;
      const double between = (wa + wb) / 2, counted = between - left_unit - right_unit;
      return (so_far + wa / 2 + left_unit + counted * (x - a.mean) / (b.mean - a.mean)) / total;
    }
    so_far += wa;
  }
  return 1 - 0.5 / total;
}

int64_t TDigest::Rank(double x) {
  if (observations() == 0) return -2;
  if (x < state_.min) return -1;
  const auto total = static_cast<int64_t>(observations());
  if (x > state_.max) return total;
  return AsInteger(std::ceil(Cdf(x) * static_cast<double>(total) - 0.5));  // half down
}

int64_t TDigest::ReverseRank(double x) {
  if (observations() == 0) return -2;
  const auto total = static_cast<int64_t>(observations());
  if (x < state_.min) return total;
  if (x > state_.max) return -1;
  return total - AsInteger(std::round(Cdf(x) * static_cast<double>(total)));
}

double TDigest::TrimmedMean(double low, double high) {
  Compress();
  if (state_.nodes.empty()) return kNone;
  if (state_.nodes.size() == 1) return state_.nodes.front().mean;
  const auto total = static_cast<double>(state_.merged_weight);
  const double from = std::floor(total * low), to = std::ceil(total * high);
  double done = 0, sum = 0, count = 0;
  for (const Node& node : state_.nodes) {
    const auto weight = static_cast<double>(node.weight);
    double counted = weight - std::min(std::max(0.0, from - done), weight);
    counted = std::min(std::max(0.0, to - done), counted);
    done += weight;
    sum += node.mean * counted;
    count += counted;
    if (done >= to) break;
  }
  return sum / count;
}

}  // namespace bitsieve::core
