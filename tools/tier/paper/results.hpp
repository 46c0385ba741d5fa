// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The results of `tier paper`, before they are printed, drawn and written.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plot/plot.hpp"
#include "terminal/text_table.hpp"

namespace tier::tool::paper {

inline constexpr double GB = 1e9, TB = 1e12;

/// A published number beside ours, in TB or as a share.
struct Cell {
  std::string network, series, mode;
  double paper = 0, replay = 0;
};

/// Footprints in GB.
struct Footprint {
  std::string network;
  double paper = 0, replay = 0;
};

/// A published statement, or our claim, with the numbers of the replays.
struct Statement {
  std::string text;
  bool holds = false;
};

struct Table {
  std::string title;
  std::vector<TextRow> rows;  ///< the first holds the column names
};

struct Figure {
  std::string name;  ///< of its file, without suffix
  std::string title;
  Plot plot;
};

/// The results for one paper.
struct Report {
  std::string paper;
  std::vector<Cell> cells;
  std::vector<Footprint> footprints;
  std::vector<Table> tables;
  std::vector<Figure> figures;
  std::vector<Statement> statements;
  std::vector<std::string> constants;  ///< assumptions, one per line
  nlohmann::ordered_json more;         ///< further members of the JSON
};

}  // namespace tier::tool::paper
