package nft

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The kernel checks a transaction as thoroughly as it commits one: it visits all rules and
// waits for all CPUs. So Try asks it once about each kind of small transactions that only
// exchange rules. Two lines are of one kind if they differ only in numbers.

const (
	// maxKinds bounds the remembered kinds of lines. A farm has a dozen.
	maxKinds = 4096
	// maxKnown bounds the lines of a transaction whose kinds are remembered.
	maxKnown = 256
)

var (
	// numbers matches quoted text, digests and numbers.
	numbers = regexp.MustCompile(`"[^"]*"|[0-9a-f]{32}|[0-9][0-9A-Za-z]*`)
	// lists matches the elements of an anonymous set.
	lists = regexp.MustCompile(`\{[^}"]*\}`)
)

// kindOf returns the line with # for numbers outside of quotes. Elements of an anonymous set
// that are equal then appear once.
func kindOf(line string) string {
	line = numbers.ReplaceAllStringFunc(line, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return "#"
	})
	return lists.ReplaceAllStringFunc(line, func(found string) string {
		list := strings.Split(strings.Trim(found, "{ }"), ", ")
		slices.Sort(list)
		return "{ " + strings.Join(slices.Compact(list), ", ") + " }"
	})
}

// kinds is a set of kinds of lines that the kernel has accepted. It is safe for concurrent use.
type kinds struct {
	mu  sync.Mutex
	all map[string]bool
}

// know reports whether the kernel has accepted all kinds of lines of the batch. It is false if
// elements are added, because a set may be full.
func (k *kinds) know(b *Batch) bool {
	if len(b.lines) > maxKnown {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return !slices.ContainsFunc(b.lines, func(line string) bool {
		return strings.HasPrefix(line, "add element ") || !k.all[kindOf(line)]
	})
}

// learn adds the kinds of lines of a batch that the kernel has accepted.
func (k *kinds) learn(b *Batch) {
	if len(b.lines) > maxKnown {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) > maxKinds {
		k.all = map[string]bool{}
	}
	for _, line := range b.lines {
		k.all[kindOf(line)] = true
	}
}
