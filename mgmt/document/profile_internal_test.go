package document

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Without its part of a document a profile would have no backends in it.
func TestEveryProfileHasItsPartOfADocument(t *testing.T) {
	for _, name := range farm.Profiles() {
		if p := profiles[name]; len(p.lists) == 0 || p.write == nil || p.read == nil {
			t.Errorf("%s: %+v", name, p.lists)
		}
	}
}
