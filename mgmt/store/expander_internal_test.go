package store

import (
	"bytes"
	"strings"
	"testing"
)

// An expander works again after a damaged or too large record.
func TestAnExpanderIsUsedAgain(t *testing.T) {
	texts := []string{"", "short", strings.Repeat("a long text, ", 5000)}
	var x expander
	for round := range 3 {
		for _, text := range texts {
			record := pieceRecord([]byte(text))[sumSize:]
			plain, err := x.expand(record, int64(len(text)))
			if err != nil || !bytes.Equal(plain, []byte(text)) {
				t.Fatalf("round %d: %v, %d bytes, want %d", round, err, len(plain), len(text))
			}
			if _, err := x.expand(record[:len(record)/2], maxRecord); err == nil {
				t.Fatalf("round %d: half of a record of %d bytes was expanded", round, len(text))
			}
			if _, err := x.expand(record, int64(len(text))-1); text != "" && err == nil {
				t.Fatalf("round %d: %d bytes were expanded, at most %d are allowed", round, len(text), len(text)-1)
			}
		}
	}
}
