package guard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/guard"
)

func keyOf(text string) farm.AuthKey {
	sum := sha256.Sum256([]byte(text))
	return farm.AuthKey(hex.EncodeToString(sum[:]))
}

func TestOnlyKnownKeysAreAccepted(t *testing.T) {
	t.Parallel()
	k := guard.NewKeys([]farm.AuthKey{keyOf("one"), "no hex", keyOf("long") + "00", keyOf("odd") + "0", keyOf("two")})
	for value, want := range map[string]bool{"one": true, "two": true, "long": false, "odd": false, "": false, "One": false, "onetwo": false, string(keyOf("one")): false} {
		if k.Holds([]byte(value)) != want {
			t.Errorf("%q opens: got %v, want %v", value, !want, want)
		}
	}
	if guard.NewKeys(nil) != nil || guard.NewUsers(nil) != nil {
		t.Error("empty settings yield keys or users")
	}
}
