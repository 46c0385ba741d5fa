// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What `tier paper` finds, before it is printed, drawn and written.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/text_table.hpp"
#include "plot/plot.hpp"

namespace tier::tool::paper {

/// A published number beside ours; TB, or a share.
struct Cell {
  std::string network, series, mode;
  double paper = 0, replay = 0;
};

/// GB.
struct Footprint {
  std::string network;
  double paper = 0, replay = 0;
};

/// Something that was published, or is claimed, with the numbers that the replays gave.
struct Statement {
  std::string text;
  bool holds = false;
};

struct Table {
  std::string title;
  std::vector<sample::TextRow> rows;  ///< the first has the columns' names
};

struct Figure {
  std::string name;  ///< of its file, without suffix
  std::string title;
  Plot plot;
};

/// Of one paper.
struct Report {
  std::string paper;
  std::vector<Cell> cells;
  std::vector<Footprint> footprints;
  std::vector<Table> tables;
  std::vector<Figure> figures;
  std::vector<Statement> statements;
  std::vector<std::string> constants;  ///< what was assumed, a line each
  nlohmann::ordered_json more;         ///< further members of the JSON
};

}  // namespace tier::tool::paper
