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
// it is in: "@@ -12,7 +12,8 @@ farm shop". Of secrets it shows that they changed.
func Diff(old, new *farm.Config) string {
	a, b := encodeShown(old), encodeShown(new)
	if string(a) == string(b) {
		return ""
	}
	return unified(splitLines(a), splitLines(b))
}

func splitLines(b []byte) []string {
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func unified(a, b []string) string {
	var out strings.Builder
	edits := compare(a, b)
	for len(edits) > 0 {
		// One hunk holds the edits whose surroundings touch.
		n := 1
		for n < len(edits) && edits[n].a-edits[n-1].aEnd <= 2*context {
			n++
		}
		writeHunk(&out, a, b, edits[:n])
		edits = edits[n:]
	}
	return out.String()
}

func writeHunk(out *strings.Builder, a, b []string, edits []edit) {
	first, last := edits[0], edits[len(edits)-1]
	start, end := max(0, first.a-context), min(len(a), last.aEnd+context)
	bStart := first.b - (first.a - start)
	bEnd := last.bEnd + (end - last.aEnd)
	fmt.Fprintf(out, "@@ -%s +%s @@%s\n", span(start, end), span(bStart, bEnd), farmAt(b, first.b))
	at := start
	for _, e := range edits {
		write(out, " ", a[at:e.a])
		write(out, "-", a[e.a:e.aEnd])
		write(out, "+", b[e.b:e.bEnd])
		at = e.aEnd
	}
	write(out, " ", a[at:end])
}

func write(out *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		out.WriteString(sign)
		out.WriteString(line)
		out.WriteByte('\n')
	}
}

// span is a range in a hunk's head; an empty one names the line before it.
func span(start, end int) string {
	if end == start {
		return fmt.Sprintf("%d,0", start)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

// farmAt names the farm line i of a document belongs to.
func farmAt(lines []string, i int) string {
	for i = min(i, len(lines)-1); i >= 0; i-- {
		if name, found := strings.CutPrefix(lines[i], "  - name: "); found {
			return " farm " + name
		}
	}
	return ""
}
