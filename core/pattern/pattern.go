// Package pattern compiles regular expressions on first use. All processes of the
// appliance run the same binary, and a pattern with counted repetitions takes about 100
// KiB, which most processes never need.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles the pattern on the first call and then always
// returns the same Regexp. It panics on an invalid pattern.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
