package show

import (
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

const (
	// Gap is the blanks between two columns.
	Gap = 2
	// narrowest is how far a column of words is narrowed, by wrapping its cells.
	narrowest = 20
)

// Columns is how many columns the output has: those of the terminal, or what COLUMNS says
// of it; 0 for a file or a program, which get lines of any length. There COLUMNS says
// nothing, because shells that export it know the terminal alone; SLUICE_COLUMNS does.
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

// fit makes tables of a sheet that are not wider than the output. First cells
// of words are wrapped; when that is not enough the columns are shared out to
// several tables, which all begin with those that say what a row is about.
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

// share gives each table the first column, also those up to the ID of a row, and
// as many of the others as there is room for.
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

// only is the sheet with these columns.
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

// longestLine is how wide a cell is.
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
