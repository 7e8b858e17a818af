//===- DrawCoverage.cpp - Pictures of visited column tiles ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/Coverage.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace na;
using namespace na::schedule;
using window::Range;

namespace {

std::string format(const char *text, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(buffer, sizeof(buffer), text, arguments);
  va_end(arguments);
  return buffer;
}

std::string formatRange(Range<int64_t> range) {
  return std::to_string(range.begin) + ".." + std::to_string(range.end);
}

std::string getRowName(const Coverage &coverage) {
  return coverage.hasKeyRows ? "keys" : "queries";
}
std::string getColumnName(const Coverage &coverage) {
  return coverage.hasKeyRows ? "queries" : "keys";
}

/// The two axes that a panel shows: a 1-D problem has rows of one token.
struct Panel {
  AxisCoverage rows, columns;
  /// Indices of the tile on the axis before these, if there is one.
  std::vector<int64_t> prefix;
};

AxisCoverage makeUnitAxis(int64_t parts) {
  AxisCoverage axis;
  axis.size = axis.tiles = 1;
  axis.rows = axis.span = axis.interior = {0, 1};
  axis.parts.assign(size_t(parts), {{0, 1}, {0, 1}, {0, 1}});
  return axis;
}

std::vector<Panel> getPanels(const Coverage &coverage) {
  size_t rank = coverage.axes.size();
  std::vector<Panel> panels;
  Panel panel;
  panel.columns = coverage.axes.back();
  panel.rows =
      rank > 1 ? coverage.axes[rank - 2] : makeUnitAxis(coverage.parts);
  if (rank < 3) {
    panels.push_back(panel);
    return panels;
  }
  for (int64_t tile = 0; tile < coverage.axes[0].tiles; ++tile) {
    panel.prefix = {tile};
    panels.push_back(panel);
  }
  return panels;
}

std::vector<int64_t> getTile(const Coverage &coverage, const Panel &panel,
                             int64_t row, int64_t column) {
  std::vector<int64_t> tile = panel.prefix;
  if (coverage.axes.size() > 1)
    tile.push_back(row);
  tile.push_back(column);
  return tile;
}

char getCharacter(TileKind kind) {
  return kind == TileKind::Interior   ? '#'
         : kind == TileKind::Boundary ? '+'
                                      : '.';
}

/// The tiles that are shown of `tiles`, -1 for those left out in between.
std::vector<int64_t> shorten(int64_t tiles, int64_t most) {
  std::vector<int64_t> shown;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    if (tiles > most && tile == most / 2) {
      shown.push_back(-1);
      tile = tiles - (most - most / 2);
    }
    shown.push_back(tile);
  }
  return shown;
}

} // namespace

std::string schedule::drawText(const Coverage &coverage, int64_t columns) {
  std::string text;
  size_t rank = coverage.axes.size();
  for (size_t i = 0; i < rank; ++i) {
    const AxisCoverage &axis = coverage.axes[i];
    std::string all = coverage.hasKeyRows ? "seeing all" : "seen by all";
    text += "axis " + std::to_string(i) + ": " + getRowName(coverage) + " " +
            formatRange(axis.rows) + " of " + std::to_string(axis.size) + ", " +
            getColumnName(coverage) + " " + formatRange(axis.span) + " in " +
            std::to_string(axis.tiles) + " tiles of " +
            std::to_string(axis.columnTile) +
            (axis.interior.begin < axis.interior.end
                 ? ", " + all + " " + formatRange(axis.interior)
                 : ", none " + all) +
            "\n";
  }
  if (coverage.parts > 1)
    text += "a character per warpgroup: ";
  text += "# interior (no mask), + boundary (masked), . skipped\n";
  for (const Panel &panel : getPanels(coverage)) {
    if (!panel.prefix.empty())
      text += getColumnName(coverage) + " " +
              formatRange(coverage.axes[0].getColumns(panel.prefix[0])) +
              " of axis 0\n";
    std::vector<int64_t> shown = shorten(panel.columns.tiles, columns);
    for (int64_t row : shorten(panel.rows.tiles, columns)) {
      if (row < 0) {
        text += "           ...\n";
        continue;
      }
      std::string label =
          rank > 1 ? formatRange(panel.rows.getColumns(row)) : std::string();
      text += format("%12s ", label.c_str());
      for (int64_t column : shown) {
        text += ' ';
        if (column < 0) {
          text += "...";
          continue;
        }
        for (int64_t part = 0; part < coverage.parts; ++part)
          text += getCharacter(
              coverage.getKind(part, getTile(coverage, panel, row, column)));
      }
      text += '\n';
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// SVG
//===----------------------------------------------------------------------===//

namespace {

constexpr double margin = 48, plotSize = 360, gap = 28, legendHeight = 44;
/// Panels of a 3-D problem at most; the rest is like its neighbours.
constexpr size_t maxPanels = 12;

const char *getColor(TileKind kind) {
  return kind == TileKind::Interior   ? "#2e8b57"
         : kind == TileKind::Boundary ? "#f0a030"
                                      : "#d8d8d8";
}

/// The part of an axis that is drawn, and its scale.
struct View {
  double begin, end, scale;

  double at(double position) const { return (position - begin) * scale; }
};

View getView(const AxisCoverage &axis, double size) {
  double low = double(std::min(axis.span.begin, axis.rows.begin));
  double high = double(std::max(axis.span.end, axis.rows.end));
  double beside = std::max(1.0, (high - low) * 0.08);
  View view{std::max(0.0, low - beside),
            std::min(double(axis.size), high + beside), 1};
  view.scale = size / (view.end - view.begin);
  return view;
}

std::string drawBox(double x, double y, double width, double height,
                    const char *style) {
  return format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                "height=\"%.2f\" %s/>\n",
                x, y, width, height, style);
}

std::string drawLabel(double x, double y, const char *anchor,
                      const std::string &label) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y,
                anchor) +
         label + "</text>\n";
}

std::string escape(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
                         : std::string(1, c);
  return result;
}

std::string drawPanel(const Coverage &coverage, const Panel &panel, double x,
                      double y, double width, double height) {
  View columns = getView(panel.columns, width);
  View rows = getView(panel.rows, height);
  std::string svg = format("<g transform=\"translate(%.1f %.1f)\">\n", x, y);
  svg += drawBox(0, 0, width, height, "fill=\"white\" stroke=\"#888888\"");
  auto drawRange = [&](Range<int64_t> ofRows, Range<int64_t> ofColumns,
                       const char *style) {
    svg += drawBox(columns.at(double(ofColumns.begin)),
                   rows.at(double(ofRows.begin)),
                   double(ofColumns.end - ofColumns.begin) * columns.scale,
                   double(ofRows.end - ofRows.begin) * rows.scale, style);
  };
  // Each warpgroup has a slice of a tile's picture.
  for (int64_t row = 0; row < panel.rows.tiles; ++row)
    for (int64_t column = 0; column < panel.columns.tiles; ++column) {
      Range<int64_t> across = panel.columns.getColumns(column);
      Range<int64_t> down = panel.rows.getColumns(row);
      double cell = double(across.end - across.begin) * columns.scale;
      double part = cell / double(coverage.parts);
      for (int64_t g = 0; g < coverage.parts; ++g)
        svg += drawBox(columns.at(double(across.begin)) + double(g) * part,
                       rows.at(double(down.begin)), part,
                       double(down.end - down.begin) * rows.scale,
                       format("fill=\"%s\"",
                              getColor(coverage.getKind(
                                  g, getTile(coverage, panel, row, column))))
                           .c_str());
      drawRange(down, across, "fill=\"none\" stroke=\"white\"");
    }
  for (int64_t g = 0; g < coverage.parts; ++g)
    drawRange(panel.rows.parts[size_t(g)].rows,
              panel.columns.parts[size_t(g)].rows,
              "fill=\"#1f4fa0\" fill-opacity=\"0.35\" stroke=\"#1f4fa0\" "
              "stroke-width=\"2\"");
  svg += drawLabel(0, height + 14, "start",
                   std::to_string(int64_t(columns.begin)));
  svg += drawLabel(width, height + 14, "end",
                   std::to_string(int64_t(columns.end)));
  if (coverage.axes.size() > 1) {
    svg += drawLabel(-4, 10, "end", std::to_string(int64_t(rows.begin)));
    svg += drawLabel(-4, height, "end", std::to_string(int64_t(rows.end)));
  }
  if (!panel.prefix.empty())
    svg += drawLabel(
        width / 2, -6, "middle",
        getColumnName(coverage) + " " +
            formatRange(coverage.axes[0].getColumns(panel.prefix[0])) +
            " of axis 0");
  return svg + "</g>\n";
}

} // namespace

std::string schedule::drawSVG(const Coverage &coverage,
                              const std::string &title) {
  std::vector<Panel> panels = getPanels(coverage);
  size_t all = panels.size();
  if (panels.size() > maxPanels)
    panels.resize(maxPanels);
  size_t perRow = std::min<size_t>(panels.size(), 4);
  size_t rowCount = (panels.size() + perRow - 1) / perRow;
  double width = panels.size() > 1 ? plotSize / 2 : plotSize * 1.5;
  double height = coverage.axes.size() == 1 ? 40
                  : panels.size() > 1       ? plotSize / 2
                                            : plotSize;
  double fullWidth = std::max(2 * margin + double(perRow) * (width + gap),
                              2 * margin + plotSize * 1.5);
  double fullHeight =
      margin + double(rowCount) * (height + margin) + legendHeight;
  std::string svg =
      format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
             "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n",
             fullWidth, fullHeight);
  svg += drawBox(0, 0, fullWidth, fullHeight, "fill=\"white\"");
  svg += drawLabel(margin, 20, "start", escape(title));
  for (size_t i = 0; i < panels.size(); ++i)
    svg += drawPanel(
        coverage, panels[i], margin + double(i % perRow) * (width + gap),
        margin + double(i / perRow) * (height + margin), width, height);
  double y = fullHeight - legendHeight + 16, x = margin;
  auto addLegend = [&](const char *color, const std::string &label) {
    svg += drawBox(x, y - 10, 12, 12, format("fill=\"%s\"", color).c_str());
    svg += drawLabel(x + 17, y, "start", label);
    x += 30 + 6.3 * double(label.size());
  };
  Coverage::Counts counts = coverage.count();
  addLegend(getColor(TileKind::Interior),
            "interior, " + std::to_string(counts.interior));
  addLegend(getColor(TileKind::Boundary),
            "boundary, " + std::to_string(counts.boundary));
  if (counts.skipped)
    addLegend(getColor(TileKind::Skipped),
              "skipped, " + std::to_string(counts.skipped));
  addLegend("#1f4fa0", getRowName(coverage));
  if (all > panels.size())
    svg += drawLabel(margin, y + 18, "start",
                     format("%zu of %zu slices of axis 0", panels.size(), all));
  return svg + "</svg>\n";
}
