package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columns writes rows as an aligned table without empty columns: the first column
// left-aligned, the others right-aligned.
func columns(w io.Writer, rows [][]string) error {
	var widths []int
	used := map[int]bool{}
	for n, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			if n > 0 && cell != "" {
				used[i] = true
			}
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if !used[i] {
				continue
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("  " + cell + pad)
				continue
			}
			b.WriteString("  " + pad + cell)
		}
		if _, err := io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
