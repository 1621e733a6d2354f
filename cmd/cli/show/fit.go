package show

import (
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

const (
	// Gap is the number of blanks between two columns.
	Gap = 2
	// narrowest is the minimum width of a text column after wrapping.
	narrowest = 20
)

// Columns returns the width of the output: that of the terminal, or COLUMNS. It is 0
// (unlimited) for files and programs, where COLUMNS is ignored, because shells export it for
// the terminal only; SLUICE_COLUMNS applies there.
func Columns(w io.Writer) int {
	f, name := terminal.Of(w), "COLUMNS"
	if f == nil {
		name = "SLUICE_COLUMNS"
	}
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	if f == nil {
		return 0
	}
	columns, _ := terminal.Size(f)
	return columns
}

// fit returns tables that fit the output. Text cells are wrapped first. If that is not
// enough, the columns are distributed to several tables, each beginning with the columns
// that identify a row.
func (s *Sheet) fit(width int) []*Sheet {
	s.widths = make([]int, len(s.heading))
	for i, name := range s.heading {
		s.widths[i] = utf8.RuneCountInString(name)
		for _, row := range s.rows {
			if i < len(row) {
				s.widths[i] = max(s.widths[i], longestLine(row[i]))
			}
		}
	}
	if width == 0 || s.width() <= width {
		return []*Sheet{s}
	}
	for s.width() > width {
		widest := -1
		for i, w := range s.widths {
			if !s.right[i] && w > max(narrowest, utf8.RuneCountInString(s.heading[i])) && (widest < 0 || w > s.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return s.share(width)
		}
		s.widths[widest]--
	}
	return []*Sheet{s}
}

func (s *Sheet) width() int {
	sum := Gap * (len(s.widths) - 1)
	for _, w := range s.widths {
		sum += w
	}
	return sum
}

// share gives each table the first column, including the ID of a row, and as many other
// columns as fit.
func (s *Sheet) share(width int) (out []*Sheet) {
	keys := []int{0}
	if len(s.heading) > 1 && s.heading[1] == "ID" {
		keys = append(keys, 1)
	}
	columns := keys
	for i := len(keys); i < len(s.heading); i++ {
		more := append(columns[:len(columns):len(columns)], i)
		if len(columns) > len(keys) && s.only(more).width() > width {
			out = append(out, s.only(columns))
			more = append(keys[:len(keys):len(keys)], i)
		}
		columns = more
	}
	return append(out, s.only(columns))
}

// only returns the sheet with these columns.
func (s *Sheet) only(columns []int) *Sheet {
	out := NewSheet()
	for to, from := range columns {
		out.heading = append(out.heading, s.heading[from])
		out.widths = append(out.widths, s.widths[from])
		out.right[to] = s.right[from]
	}
	for _, row := range s.rows {
		var cells []any
		for _, from := range columns {
			if from < len(row) {
				cells = append(cells, row[from])
			}
		}
		out.rows = append(out.rows, cells)
	}
	return out
}

// longestLine returns the width of a cell.
func longestLine(cell any) (longest int) {
	text, _ := cell.(string)
	width := 0
	for _, r := range text {
		if width++; r == '\n' {
			width = 0
		}
		longest = max(longest, width)
	}
	return longest
}
