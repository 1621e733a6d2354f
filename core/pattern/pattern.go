// Package pattern compiles regular expressions when they are first needed. Each
// process of the appliance begins with what all of them are made of, and a pattern
// with lengths in it takes some 100 KiB: most processes never ask for it.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns what gives the pattern, always the same one, and compiles it at the
// first call. A pattern that cannot be compiled panics then.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
