package show_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func TestATableIsAsWideAsTheOutput(t *testing.T) {
	s := func() *show.Sheet {
		s := show.NewSheet("FARM", "STATUS", "COUNT", "WHY")
		s.Add("shop", "up", 7, "")
		s.Add("mail\x1b[2J", "down", 12, "nobody answers at 10.0.0.1 or at 10.0.0.2")
		return s
	}
	for columns, want := range map[string]string{
		"":   "FARM      STATUS  COUNT  WHY\nshop      up          7  -\nmail·[2J  down       12  nobody answers at 10.0.0.1 or at 10.0.0.2\n",
		"50": "FARM      STATUS  COUNT  WHY\nshop      up          7  -\nmail·[2J  down       12  nobody answers at\n                         10.0.0.1 or at 10.0.0.2\n",
		"30": "FARM      STATUS  COUNT\nshop      up          7\nmail·[2J  down       12\n\nFARM      WHY\nshop      -\nmail·[2J  nobody answers at\n          10.0.0.1 or at\n          10.0.0.2\n",
	} {
		t.Setenv("SLUICE_COLUMNS", columns)
		var out bytes.Buffer
		if err := s().Write(&out, false); err != nil || out.String() != want {
			t.Errorf("%s columns: %v\n%s\nwant:\n%s", columns, err, &out, want)
		}
	}
	t.Setenv("SLUICE_COLUMNS", "")
	var colored bytes.Buffer
	if err := s().Write(&colored, true); err != nil || !strings.Contains(colored.String(), "\x1b[32mup\x1b[0m") {
		t.Errorf("%v, %q", err, &colored)
	}
	left := s()
	left.AlignLeft()
	var out bytes.Buffer
	if err := left.Write(&out, false); err != nil || !strings.Contains(out.String(), "up      7 ") {
		t.Errorf("to the left: %v\n%s", err, &out)
	}
}

func TestTextsAreMadeSafeAndNumbersShort(t *testing.T) {
	if got := show.Clean("a\x1b\tb\nc\u202e"); got != "a·\tb\nc·" {
		t.Errorf("%q", got)
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 20: "5.0 MiB"} {
		if got := show.Size(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for want, v := range map[string]any{"-": nil, "0.5": .5, "a, -": []any{"a", nil}, "7": 7} {
		if got := show.Cell(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	var out bytes.Buffer
	if err := show.Diff(&out, "@@ x\n-a\n+b\x1b\n", true); err != nil || out.String() != "\x1b[36m@@ x\x1b[0m\n\x1b[31m-a\x1b[0m\n\x1b[32m+b·\x1b[0m\n" {
		t.Errorf("%v, %q", err, &out)
	}
}
