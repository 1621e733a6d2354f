package document

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// context is the number of equal lines around a change.
const context = 3

// Diff returns the unified diff of two documents without file names and colours, or "" if they
// are equal. The head of each hunk names its farm, e.g. "@@ -12,7 +12,8 @@ farm shop", or
// "system". For secrets it only shows that they changed.
func Diff(old, now *farm.Config) string {
	return new(Texts).Diff(old, now)
}

func splitLines(b []byte) []string {
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// unified returns the diff of two documents with marks. It returns false if a hunk contains a
// mark.
func unified(a, b []string, inA, inB marks) (text string, whole bool) {
	var out strings.Builder
	edits := compare(a, b)
	for len(edits) > 0 {
		// One hunk holds the edits whose contexts touch.
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
	// No range is empty: a document has at least one line, and changes have context.
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

// farmAt returns the head text for line i: its farm or check, or the settings of the machine.
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

// edit replaces lines a … aEnd of the old text with b … bEnd of the new one.
type edit struct{ a, aEnd, b, bEnd int }

// maxEdits limits the search for the shortest diff, whose memory grows with its square (16 MiB
// here). Texts with more differences are shown as replaced in one piece between their common
// start and end.
const maxEdits = 2000

// compare returns the edits from a to b. It skips the common start and end and uses Myers'
// O(ND) algorithm (1986).
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

// search returns the furthest reaching points for each number of edits: row d has the x of
// diagonals -d … d. It returns nil if more than maxEdits are needed.
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

// step returns where diagonal k starts with d edits, from the row of d-1. It is one down from
// diagonal k+1 (an inserted line) or one right from k-1 (a deleted line).
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
