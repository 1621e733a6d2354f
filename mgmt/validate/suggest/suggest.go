package suggest

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
	// maxTypo is the largest distance of a misspelt word from a name.
	maxTypo = 3
	// containedDistance is the distance of a word from a name that contains it.
	containedDistance = 2
)

// For returns a suggestion for an unknown word: a known name that differs by a typo, the
// equivalent of a term of another load balancer, or the object that has a field of this name.
// If there are few known names, it lists all. The text is a suffix for the word; it is empty
// without known names.
func For(word string, known []string) string {
	near := Nearest(word, known)
	if len(near) == 0 || !misspelt(word, near[0]) {
		if text := meant(word, known); text != "" {
			return text
		}
		if len(known) > maxListed && (len(near) == 0 || !strings.Contains(near[0], spelled(word))) {
			if text := misplaced(word); text != "" {
				return text
			}
		}
	}
	if len(known) > maxListed {
		return didYouMean(near)
	}
	return didYouMean(near[:min(len(near), 1)]) + "; allowed are " + strings.Join(known, ", ")
}

// Field is like Suggestion, for a field of a body or document. It names the lists of
// fields if there is no suggestion.
func Field(word string, known []string) string {
	return cmp.Or(For(word, known), "; sluice.yaml(5) and the API's openapi.json list the fields")
}

// Near suggests known names only: those that differ by a typo, and equivalents of a term of
// another load balancer.
func Near(word string, known []string) string {
	near := Nearest(word, known)
	if t, _ := Foreign(word); len(near) == 0 || !misspelt(word, near[0]) {
		if same := here(t.Fields, known); len(same) > 0 {
			return didYouMean(same)
		}
	}
	return didYouMean(near)
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (did you mean " + alternatives(names) + "?)"
}

// misspelt reports whether a word differs from the name by at most one letter. A term of
// another load balancer is taken as such, e.g. tls is not ttl, unless one contains the other.
func misspelt(word, name string) bool {
	word = spelled(word)
	if _, is := foreign[word]; is && !strings.Contains(name, word) && !strings.Contains(word, name) {
		return false
	}
	return editDistance(word, name) <= 1
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

// Nearest returns the few known names that differ from word by a typo or contain it.
func Nearest(word string, known []string) []string {
	const longest = 64 // longest word worth comparing
	word = spelled(word)
	word = word[:min(len(word), longest)]
	typo := min(max(1, len(word)/3), maxTypo)
	var out []string
	for _, name := range known {
		if d := distance(word, spelled(name)); d <= typo || d <= containedDistance && len(word) > 2 &&
			strings.Contains(spelled(name), word) {
			out = append(out, name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Compare(distance(word, spelled(a)), distance(word, spelled(b)))
	})
	return out[:min(len(out), suggestions)]
}

// distance returns the distance of a name from a word. A word contained in a name is near,
// even if the name is much longer.
func distance(word, name string) int {
	d := editDistance(word, name)
	if len(word) > 2 && strings.Contains(name, word) {
		d = min(d, containedDistance)
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
