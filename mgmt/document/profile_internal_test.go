package document

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// A profile without its part of a document would lose its backends.
func TestEveryProfileHasItsPartOfADocument(t *testing.T) {
	for _, name := range farm.Profiles() {
		if p := profiles[name]; len(p.lists) == 0 || p.write == nil || p.read == nil {
			t.Errorf("%s: %+v", name, p.lists)
		}
	}
}
