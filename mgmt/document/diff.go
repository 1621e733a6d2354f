package document

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// context is how many equal lines surround a change.
const context = 3

// Diff returns the difference of two documents as unified text without file
// names and colours, "" when they are equal. Each hunk's head names the farm
// it is in: "@@ -12,7 +12,8 @@ farm shop", or "system". Of secrets it shows that they changed.
func Diff(old, now *farm.Config) string {
	return new(Texts).Diff(old, now)
}

func splitLines(b []byte) []string {
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// unified is the difference of two documents with their marks, false where one of these is
// in it.
func unified(a, b []string, inA, inB marks) (text string, whole bool) {
	var out strings.Builder
	edits := compare(a, b)
	for len(edits) > 0 {
		// One hunk holds the edits whose surroundings touch.
		n := 1
		for n < len(edits) && edits[n].a-edits[n-1].aEnd <= 2*context {
			n++
		}
		if !writeHunk(&out, a, b, inA, inB, edits[:n]) {
			return "", false
		}
		edits = edits[n:]
	}
	return out.String(), true
}

func writeHunk(out *strings.Builder, a, b []string, inA, inB marks, edits []edit) (whole bool) {
	first, last := edits[0], edits[len(edits)-1]
	start, end := max(0, first.a-context), min(len(a), last.aEnd+context)
	bStart := first.b - (first.a - start)
	bEnd := last.bEnd + (end - last.aEnd)
	if inA.within(start, end) || inB.within(bStart, bEnd) {
		return false
	}
	// None is empty: a document has one line at least, and changes are shown with the lines
	// around them.
	fmt.Fprintf(out, "@@ -%s +%s @@%s\n", inA.span(start, end), inB.span(bStart, bEnd), farmAt(b, first.b))
	at := start
	for _, e := range edits {
		write(out, " ", a[at:e.a])
		write(out, "-", a[e.a:e.aEnd])
		write(out, "+", b[e.b:e.bEnd])
		at = e.aEnd
	}
	write(out, " ", a[at:end])
	return true
}

func write(out *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		out.WriteString(sign)
		out.WriteString(line)
		out.WriteByte('\n')
	}
}

// farmAt names the farm or check line i of a document belongs to, or the settings of
// the machine.
func farmAt(lines []string, i int) string {
	of := ""
	for i = min(i, len(lines)-1); i >= 0; i-- {
		if name, found := strings.CutPrefix(lines[i], "  - name: "); found && of == "" {
			of = " " + name
		}
		switch lines[i] {
		case "system:":
			return " system"
		case "checks:", "farms:":
			if of == "" {
				return ""
			}
			return strings.TrimSuffix(" "+lines[i], "s:") + of
		case "farms: []":
			return ""
		}
	}
	return ""
}

// edit says that lines a … aEnd of the old text became b … bEnd of the new.
type edit struct{ a, aEnd, b, bEnd int }

// maxEdits bounds the search for the shortest difference, whose memory grows
// with its square (16 MiB here). Texts further apart are shown as replaced in
// one piece between their common start and end.
const maxEdits = 2000

// compare finds the edits from a to b after setting their common start and
// end aside (Myers, An O(ND) Difference Algorithm, 1986).
func compare(a, b []string) []edit {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	aEnd, bEnd := len(a), len(b)
	for aEnd > start && bEnd > start && a[aEnd-1] == b[bEnd-1] {
		aEnd--
		bEnd--
	}
	if aEnd == start && bEnd == start {
		return nil
	}
	trace := search(a[start:aEnd], b[start:bEnd])
	if trace == nil {
		return []edit{{start, aEnd, start, bEnd}}
	}
	return backtrack(trace, aEnd-start, bEnd-start, start)
}

// search returns the furthest reaching points of each number of edits: row d
// holds x of diagonals -d … d. nil when more than maxEdits are needed.
func search(a, b []string) [][]int32 {
	var trace [][]int32
	for d := 0; d <= min(len(a)+len(b), maxEdits); d++ {
		row := make([]int32, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x = step(trace[d-1], d, k)
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x++
				y++
			}
			row[k+d] = int32(x)
			if x >= len(a) && y >= len(b) {
				return append(trace, row)
			}
		}
		trace = append(trace, row)
	}
	return nil
}

// step is where diagonal k starts with d edits, from the row of d-1: one down
// from diagonal k+1 (a line came) or one right from k-1 (a line went).
func step(before []int32, d, k int) int {
	if isDown(before, d, k) {
		return int(before[k+1+d-1])
	}
	return int(before[k-1+d-1]) + 1
}

func isDown(before []int32, d, k int) bool {
	return k == -d || (k != d && before[k-1+d-1] < before[k+1+d-1])
}

// backtrack walks from the end to the start and joins neighbouring edits.
func backtrack(trace [][]int32, x, y, offset int) []edit {
	var out []edit
	for d := len(trace) - 1; d > 0; d-- {
		k := x - y
		fromX, fromK := 0, k-1
		if isDown(trace[d-1], d, k) {
			fromK = k + 1
		}
		fromX = int(trace[d-1][fromK+d-1])
		fromY := fromX - fromK
		e := edit{a: fromX, aEnd: fromX, b: fromY, bEnd: fromY}
		if fromK > k {
			e.bEnd++
		} else {
			e.aEnd++
		}
		x, y = fromX, fromY
		e.a, e.aEnd, e.b, e.bEnd = e.a+offset, e.aEnd+offset, e.b+offset, e.bEnd+offset
		if n := len(out); n > 0 && e.aEnd == out[n-1].a && e.bEnd == out[n-1].b {
			out[n-1].a, out[n-1].b = e.a, e.b
		} else {
			out = append(out, e)
		}
	}
	reverse(out)
	return out
}

func reverse(edits []edit) {
	for i, j := 0, len(edits)-1; i < j; i, j = i+1, j-1 {
		edits[i], edits[j] = edits[j], edits[i]
	}
}
