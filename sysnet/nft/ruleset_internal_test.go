package nft

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm/fieldtest"
)

// A set whose definition changed is replaced.
func TestSameDefinitionCoversEveryField(t *testing.T) {
	(&fieldtest.Comparison[Set]{Equal: (*Set).sameDefinition, Ignored: []string{"Elements", "Owner"}}).Check(t)
}
