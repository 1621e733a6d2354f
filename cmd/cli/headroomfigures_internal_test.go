package cli

import (
	"encoding/json"
	"os"
	"testing"
)

// The GUI writes the figures of headroom as the command does: both read the same table.
func TestTheFiguresOfHeadroomAreThoseOfTheGUI(t *testing.T) {
	raw, err := os.ReadFile("../../web/src/headroom/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	var table map[string][][2]any
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	for kind, write := range map[string]func(*float64) any{"requests": amount, "percent": percent, "latency": latency} {
		if len(table[kind]) == 0 {
			t.Errorf("no figures of %s", kind)
		}
		for _, line := range table[kind] {
			value := line[0].(float64)
			if got := write(&value); got != line[1] {
				t.Errorf("%s %v: %v, want %v", kind, value, got, line[1])
			}
		}
	}
}
