package document

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// patch applies a unified diff and checks every line.
func patch(t interface{ Fatalf(string, ...any) }, old []string, diff string) []string {
	var out []string
	at := 0
	var oldEnd, newEnd int // the end of the hunk according to its head
	ended := func() {
		if oldEnd != 0 && (at != oldEnd || len(out) != newEnd) {
			t.Fatalf("the hunk ends at lines %d and %d, its head has %d and %d", at, len(out), oldEnd, newEnd)
		}
	}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@") {
			ended()
			var start, count, newStart, newCount int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &start, &count, &newStart, &newCount); err != nil {
				t.Fatalf("head %q: %v", line, err)
			}
			start--
			out = append(out, old[at:start]...)
			at = start
			if len(out) != newStart-1 {
				t.Fatalf("head %q: the hunk begins at line %d of the new text", line, len(out)+1)
			}
			oldEnd, newEnd = start+count, len(out)+newCount
			continue
		}
		if line[0] != '+' {
			if old[at] != line[1:] {
				t.Fatalf("line %d is %q, the difference has %q", at+1, old[at], line[1:])
			}
			at++
		}
		if line[0] != '-' {
			out = append(out, line[1:])
		}
	}
	ended()
	return append(out, old[at:]...)
}

func TestADifferencePatchesTheOldIntoTheNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "  - name: x"}), 1, 40)
		a, b := letters.Draw(t, "old"), letters.Draw(t, "new")
		diff, _ := unified(a, b, nil, nil)
		if got := patch(t, a, diff); strings.Join(got, "\n") != strings.Join(b, "\n") {
			t.Fatalf("patched to %q, want %q\n%s", got, b, diff)
		}
	})
}

func TestDiffIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 20)
		a, b := letters.Draw(t, "old"), letters.Draw(t, "new")
		edits := 0
		for _, e := range compare(a, b) {
			edits += e.aEnd - e.a + e.bEnd - e.b
		}
		if want := len(a) + len(b) - 2*common(a, b); edits != want {
			t.Fatalf("%d lines change, %d are enough", edits, want)
		}
	})
}

// common returns the length of the longest common subsequence by the simple algorithm.
func common(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			} else {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestTextsFarApartAreReplacedInOnePiece(t *testing.T) {
	var a, b []string
	for i := range maxEdits {
		a, b = append(a, fmt.Sprint("a", i)), append(b, fmt.Sprint("b", i))
	}
	a, b = append(a, "end"), append(b, "end")
	if edits := compare(a, b); len(edits) != 1 || edits[0] != (edit{0, maxEdits, 0, maxEdits}) {
		t.Errorf("edits %v", edits)
	}
	if got := patch(t, a, plainDiff(a, b)); strings.Join(got, "\n") != strings.Join(b, "\n") {
		t.Error("the difference does not give the new text")
	}
}

func plainDiff(a, b []string) string {
	text, _ := unified(a, b, nil, nil)
	return text
}
