// Package show formats output: tables that fit the terminal, coloured states and diffs, and
// sanitised texts. It is independent of commands.
package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Sheet is a table: a heading and rows of any values.
type Sheet struct {
	heading []string
	rows    [][]any
	right   map[int]bool // numeric columns
	widths  []int        // of the columns, after fitting
}

// NewSheet returns an empty table with that heading.
func NewSheet(heading ...string) *Sheet { return &Sheet{heading: heading, right: map[int]bool{}} }

// Add adds a row. A column with a number is right-aligned.
func (s *Sheet) Add(cells ...any) {
	row := make([]any, len(cells))
	for i, cell := range cells {
		switch cell.(type) {
		case int, uint64, uint32, uint16, float64:
			s.right[i] = true
		}
		row[i] = Clean(Cell(cell))
	}
	s.rows = append(s.rows, row)
}

// Cell formats a cell; nil is a dash.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return "-"
		}
		return v
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = Cell(v[i])
		}
		return Cell(strings.Join(texts, ", "))
	default:
		return fmt.Sprint(v)
	}
}

// AlignRight right-aligns columns.
func (s *Sheet) AlignRight(columns ...int) *Sheet {
	for _, i := range columns {
		s.right[i] = true
	}
	return s
}

// AlignLeft left-aligns all columns, which reads better for mixed values.
func (s *Sheet) AlignLeft() { s.right = nil }

// Write writes the table with columns two blanks apart and no lines. If the output is too
// narrow, it is split into several.
func (s *Sheet) Write(w io.Writer, colored bool) error {
	for i, part := range s.fit(Columns(w)) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, part.render(colored)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sheet) render(colored bool) string {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	var configs []table.ColumnConfig
	for i, name := range s.heading {
		config := table.ColumnConfig{Number: i + 1, WidthMax: s.widths[i], WidthMaxEnforcer: text.WrapSoft}
		if s.right[i] {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		if colored && name == "STATUS" {
			config.Transformer = func(v any) string { return statusColors[fmt.Sprint(v)].Sprint(v) }
		}
		configs = append(configs, config)
	}
	w.SetColumnConfigs(configs)
	w.AppendHeader(row(s.heading))
	for _, r := range s.rows {
		w.AppendRow(r)
	}
	text.EnableColors() // the decision about colours was made above
	return w.Render()
}

func row(cells []string) table.Row {
	out := make(table.Row, len(cells))
	for i, cell := range cells {
		out[i] = cell
	}
	return out
}
