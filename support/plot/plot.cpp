// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plot/plot.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>

#include <array>
#include <cerrno>

#include "plot/gnuplot.hpp"

namespace tier::tool {
namespace {

struct Terminal {
  const char* suffix;
  const char* settings;  ///< in gnuplot's language
};
constexpr Terminal svg{".svg", "svg size 720,420 background 'white'"};
constexpr Terminal png{".png", "pngcairo size 1080,630 fontscale 1.3"};

/// Quotes text. gnuplot reads commands by line, and a quote ends with its line, so control characters become blanks.
std::string gnuplot_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    quoted.append(c == '\'' ? 2 : 1, byte < 0x20 || byte == 0x7f ? ' ' : c);
  }
  return quoted + "'";
}

/// Names a data block by the line's number, since titles need not be valid names in gnuplot.
std::string block_of(std::size_t line) { return fmt::format("$line{}", line); }

/// Returns a line's points as a data block of gnuplot.
std::string points_of(const PlotLine& line, const std::string& block) {
  std::string text = block + " << END\n";
  for (const auto& [x, y] : line.points) text += fmt::format("{} {}\n", x, y);
  return text + "END\n";
}

/// Returns all settings except the output.
std::string settings_of(const Plot& plot) {
  std::string text;
  for (std::size_t i = 0; i < plot.lines.size(); ++i)
    if (!plot.lines[i].points.empty()) text += points_of(plot.lines[i], block_of(i));
  return text + fmt::format(
                    "set xlabel {}\nset ylabel {}\n{}set grid\nset termoption noenhanced\nset key outside "
                    "right\n",
                    gnuplot_text(plot.x), gnuplot_text(plot.y), plot.axes);
}

std::string plot_command(const Plot& plot) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "plot " : ", ") + part; };
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const auto& line = plot.lines[i];
    if (!line.points.empty())
      add(fmt::format("{} using 1:2 with {} title {}", block_of(i), line.style, gnuplot_text(line.title)));
  }
  if (plot.level)
    add(fmt::format("{} with lines dashtype 2 linecolor 'black' title {}", plot.level->second,
                    gnuplot_text(plot.level->first)));
  return text + "\n";
}

std::string terminal_command(const Terminal& terminal) {
  return fmt::format("set terminal {} noenhanced\n", terminal.settings);
}

std::optional<std::string> picture(const Plot& plot, const Terminal& terminal) {
  return drawn_by_gnuplot(settings_of(plot) + terminal_command(terminal) + plot_command(plot));
}

std::string script_of(const Plot& plot, const std::filesystem::path& name) {
  auto text = settings_of(plot);
  for (const auto& terminal : {svg, png})
    text += terminal_command(terminal) +
            fmt::format("set output {}\n", gnuplot_text(name.string() + terminal.suffix)) +
            plot_command(plot);
  return text;
}

[[noreturn]] void fail_without_gnuplot(const std::string& path) {
  throw TierError{{ENOENT, std::generic_category()},
                  fmt::format("gnuplot is missing (Debian: gnuplot-nox), so \"{}\" cannot be drawn", path)};
}

}  // namespace

bool draw(const Plot& plot, const std::filesystem::path& name, std::string_view program) {
  const auto file = name.string() + ".gnuplot";
  write_file(file, script_of(plot, name));
  for (const auto& terminal : {svg, png}) {
    const auto drawn = picture(plot, terminal);
    if (!drawn) {
      fmt::print(stderr,
                 "{2}: gnuplot is missing (Debian: gnuplot-nox), so {0}.svg and {0}.png are not drawn; "
                 "gnuplot draws them from {1}\n",
                 name.string(), file, program);
      return false;
    }
    write_file(name.string() + terminal.suffix, *drawn);
  }
  return true;
}

void draw_svg(const Plot& plot, const std::string& path) {
  const auto drawn = picture(plot, svg);
  if (!drawn) fail_without_gnuplot(path);
  write_file(path, *drawn);
}

void require_gnuplot(const std::string& path) {
  if (!drawn_by_gnuplot("")) fail_without_gnuplot(path);
}

}  // namespace tier::tool
