package nft_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// Every farm of a protocol with a missing helper is rejected. All of them must be
// reported at once, because the number of attempts is small.
func TestThousandsOfRefusalsAreReportedAtOnce(t *testing.T) {
	const script = `#!/bin/sh
awk '/add ct helper/ { print "/dev/stdin:" NR ":1-60: Error: Could not process rule: No such file or directory\n" $0 "\n^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^" > "/dev/stderr" }'
exit 1
`
	path := filepath.Join(t.TempDir(), "nft")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	const farms = 5000
	want := &nft.Ruleset{Helpers: map[nft.ID]*nft.Helper{}}
	for i := range uint32(farms) {
		id := nft.ID{Table: nft.Table{Family: "inet", Name: "sluice"}, Name: fmt.Sprint("sane", i)}
		want.Helpers[id] = &nft.Helper{Text: `type "sane" protocol tcp;`, Owner: i + 1}
	}
	err := nft.At(path).Apply(t.Context(), nft.Load(nil, want, nil))
	var refused *nft.Error
	if !errors.As(err, &refused) || len(refused.Refused) != farms {
		t.Errorf("%d farms are named: %.200v", len(refused.Refused), err)
	}
}
