package farm

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm/fieldtest"
)

// A zone gets a new serial when an answer changes. Each new field of a zone, record or key
// must be compared, or listed here because no answer depends on it.
func TestComparisonsOfAnswersCoverEveryField(t *testing.T) {
	run := string(AppendPacked(nil, []Record{{ID: 1, Name: "www", Type: "A", Data: "192.0.2.1"}}))
	(&fieldtest.Comparison[Zone]{
		Equal: (*Zone).answersAs,
		Ignored: []string{"ID", "Serial", "facts", "LastRecord", "KeyDays",
			"Held.TTL", "Held.Until", "KeysHeld.TTL", "KeysHeld.Until"},
		Values: map[string]any{"Packed": []string{run}},
	}).Check(t)
	(&fieldtest.Comparison[Record]{
		Equal:   func(a, b *Record) bool { return sameAnswer(*a, *b) },
		Ignored: []string{"ID", "Comment"},
	}).Check(t)
	(&fieldtest.Comparison[ZoneKey]{
		Equal:   func(a, b *ZoneKey) bool { return sameKey(*a, *b) },
		Ignored: []string{"DSSeen", "DSTTL"},
	}).Check(t)
}
