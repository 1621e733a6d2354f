package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// suggestions is the number of names that an error suggests.
	suggestions = 3
	// maxListed is the maximum number of names that are listed completely.
	maxListed = 8
)

// Instead suggests what the author of word may have meant: the equivalent of a term of
// another load balancer, or the nearest known names, plus all of them if they are few. It
// is a suffix for the word.
func Instead(word string, known []string) string {
	near := nearest(word, known)
	if text := meant(word, known); text != "" && (len(near) == 0 || editDistance(word, near[0]) > 1) {
		return text
	}
	if len(known) > maxListed {
		return fmt.Sprintf(" (did you mean %s?)", alternatives(near))
	}
	listed := "; allowed are " + strings.Join(known, ", ")
	if len(near) == 0 || distance(word, near[0]) > max(1, len(word)/3) {
		return listed
	}
	return fmt.Sprintf(" (did you mean %q?)", near[0]) + listed
}

// alternatives returns "a", "b" or "c".
func alternatives(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// nearest returns the few known names with the smallest distance from word.
func nearest(word string, known []string) []string {
	const longest = 64 // longest word worth comparing
	word = word[:min(len(word), longest)]
	out := slices.Clone(known)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(distance(word, a), distance(word, b)) })
	return out[:min(len(out), suggestions)]
}

// distance returns the distance of a name from a word. A word contained in a name is near,
// even if the name is much longer.
func distance(word, name string) int {
	d := editDistance(word, name)
	if len(word) > 2 && strings.Contains(name, word) {
		d = min(d, 2)
	}
	return d
}

// editDistance counts insertions, deletions, replacements and swaps of adjacent letters
// (optimal string alignment).
func editDistance(a, b string) int {
	before := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
