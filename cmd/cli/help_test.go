package cli_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli"
)

func TestHelpFitsATerminal(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		var out strings.Builder
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") && strings.TrimSpace(line) != "" {
				t.Errorf("%s: blanks at the end of %q", cmd.CommandPath(), line)
			}
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(cli.Root())
}

func TestHelpListsCommandsInGroups(t *testing.T) {
	var out strings.Builder
	if code := cli.Execute([]string{"--help"}, nil, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	for _, want := range []string{"Farms and what belongs to them:\n  acme ", "See what happens:\n", "The configuration as a whole:\n", "\n  check "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "Additional Commands") {
		t.Errorf("a command is in no group:\n%s", out.String())
	}
	if s := cli.Root().Commands(); len(s) == 0 {
		t.Fatal("no command")
	}
	var version strings.Builder
	if code := cli.Execute([]string{"--version"}, nil, &version, &version); code != 0 || version.String() != "sluice "+cli.Version+"\n" {
		t.Errorf("--version says %q", version.String())
	}
}

// Settings are listed under their names; as flags they would fill another screen.
func TestHelpListsSettingsOnce(t *testing.T) {
	var out strings.Builder
	if code := cli.Execute([]string{"backend", "set", "--help"}, nil, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	if said := out.String(); strings.Contains(said, "--weight ") || !strings.Contains(said, "\n  weight ") || !strings.Contains(said, "--help ") {
		t.Errorf("it says:\n%s", said)
	}
}
