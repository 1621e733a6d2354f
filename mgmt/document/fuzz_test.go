package document_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// FuzzYAML decodes any input: it terminates without a panic, and an accepted input has an
// equivalent canonical document.
func FuzzYAML(f *testing.F) {
	seeds, err := filepath.Glob("testdata/seed/*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("the corpus is missing: %v", err)
	}
	for _, seed := range append(seeds, "testdata/everything.yaml", "testdata/everything.json") {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			return
		}
		stuck := time.AfterFunc(5*time.Second, func() { panic(fmt.Sprintf("no end on %q", text)) })
		defer stuck.Stop()
		cfg, err := document.Decode(text)
		if err != nil {
			return
		}
		_ = validate.All(cfg)
		canonical, err := document.Encode(cfg)
		if err != nil {
			t.Fatal(err)
		}
		again, err := document.Decode(canonical)
		if err != nil {
			t.Fatalf("%v\n%s", err, canonical)
		}
		if diff := document.Diff(cfg, again); diff != "" || !document.Equal(cfg, again) {
			t.Fatalf("the document differs after a round trip:\n%s", diff)
		}
	})
}
