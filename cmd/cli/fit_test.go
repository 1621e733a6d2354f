package cli_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
)

// A terminal of 80 columns shows every table, with all that is in it.
func TestTablesFitTheTerminal(t *testing.T) {
	a := start(t)
	a.shop()
	a.must("farm", "create", "mail", "--profile", "l4xnat", "vip=192.0.2.10", "vport=25", "persistence=srcip")
	a.must("backend", "add", "mail", "10.0.0.1:25")
	a.health[1] = farm.StatusUp
	for _, command := range []string{"farm list", "farm show shop", "service list shop", "service show shop web", "backend list shop web", "status", "stats", "stats shop", "stats mail",
		"history", "key list", "conn list", "system kernel", "farm show mail"} {
		t.Setenv("COLUMNS", "")
		wide := a.must(strings.Fields(command)...)
		t.Setenv("COLUMNS", "80")
		out := a.must(strings.Fields(command)...)
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", command, n, line)
			}
		}
		for word := range strings.FieldsSeq(wide) {
			if !strings.Contains(strings.Join(strings.Fields(out), ""), word) && len(word) < 20 {
				t.Errorf("%s on a narrow terminal lacks %q:\n%s", command, word, out)
			}
		}
	}
	t.Setenv("COLUMNS", "80")
	if out := a.must("stats"); strings.Count(out, "FARM") != 2 || strings.Count(out, "shop") != 2 {
		t.Errorf("the tables that share the columns do not all name the farm:\n%s", out)
	}
}

func TestTracesFitTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var asked string
	code, out, err := trace(streaming(t, "data: "+traced+"\n\n", &asked), "shop", "--count", "1")
	if code != 0 {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out, "a.test/x") || !strings.Contains(out, "web") || strings.Count(out, "\n") < 4 {
		t.Errorf("%s", out)
	}
}
