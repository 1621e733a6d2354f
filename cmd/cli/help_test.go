package cli_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/system"
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
	for _, want := range []string{"Farms and their objects:\n  acme ", "Observe traffic:\n", "Configuration as a whole:\n", "\n  check "} {
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
	if code := cli.Execute([]string{"--version"}, nil, &version, &version); code != 0 || version.String() != "sluice "+client.Version+"\n" {
		t.Errorf("the output of --version is %q", version.String())
	}
}

// Settings are listed once, by name; as flags they would fill another screen.
func TestHelpListsSettingsOnce(t *testing.T) {
	var out strings.Builder
	if code := cli.Execute([]string{"backend", "set", "--help"}, nil, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	if said := out.String(); strings.Contains(said, "--weight ") || !strings.Contains(said, "\n  weight ") || !strings.Contains(said, "--help ") {
		t.Errorf("wrong help:\n%s", said)
	}
}

func TestHelpOfCommands(t *testing.T) {
	t.Setenv("SLUICE_DATA", "/data")
	for _, command := range []string{"--help", "farm --help", "certificate csr --help", "certificate ocsp --help", "system config --help", "backend maintenance --help", "header add --help"} {
		if out := execute("").stdout; command == "--help" && out != execute("", command).stdout {
			t.Errorf("without a command:\n%s", out)
		}
		golden(t, "help_"+strings.ReplaceAll(strings.ReplaceAll(command, "--", ""), " ", "_"), execute("", strings.Fields(command)...).stdout)
	}
}

// Fields of documents are explained once each, by object.
func TestTheManualExplainsDocuments(t *testing.T) {
	page := command.DocumentPage()
	var sections []string
	for line := range strings.Lines(page.Long) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			sections = append(sections, strings.TrimSpace(title))
		}
	}
	want := []string{"EXAMPLE", "FARMS OF PROFILE HTTP", "SERVICES", "BACKENDS OF SERVICES", "HEADER RULES", "REWRITE RULES", "FARMS OF PROFILE L4XNAT", "BACKENDS OF L4XNAT FARMS",
		"FARMS OF PROFILE GSLB", "SERVICES OF GSLB FARMS", "BACKENDS OF SERVICES OF GSLB FARMS", "ZONES", "RECORDS", "HEALTH CHECKS"}
	for _, s := range system.Sections {
		want = append(want, "SYSTEM: "+strings.ToUpper(s.Name))
	}
	want = append(want, "SEE ALSO")
	if !slices.Equal(sections, want) {
		t.Errorf("sections %q", sections)
	}
	services := page.Long[strings.Index(page.Long, "# SERVICES\n"):strings.Index(page.Long, "# BACKENDS OF SERVICES\n")]
	for _, p := range httpfarm.ServiceDocument.Params() {
		at := strings.Index(services, "**"+p.Name+"**\n: ")
		if at < 0 {
			t.Errorf("no %s among services", p.Name)
			continue
		}
		said, _, _ := strings.Cut(services[at:], "\n\n")
		if strings.Contains(said, ". A list.") != slices.Contains(p.Options, "list") || strings.HasSuffix(said, " Required.") != slices.Contains(p.Options, "required") {
			t.Errorf("%s is %v, but the page has %q", p.Name, p.Options, said)
		}
	}
	if !strings.Contains(page.Long, `\*`) || !page.Flags().Lookup("help").Hidden {
		t.Error("a sign of markdown keeps its meaning, or the page has a flag")
	}
	root := cli.Root()
	command.ForManual(root)
	set, _, err := root.Find([]string{"backend", "maintenance"})
	if err != nil || set.Flags().Lookup("mode").Hidden || root.PersistentFlags().Lookup("data").DefValue != "/var/lib/sluice" {
		t.Errorf("flags that are no settings: %v", err)
	}
	if set, _, err = root.Find([]string{"farm", "set"}); err != nil || !set.Flags().Lookup("contimeout").Hidden || !strings.Contains(set.Long, "\n\n**contimeout**\n: ") || !strings.Contains(set.Long, "In l4xnat farms:\n\n**") {
		t.Errorf("settings: %v\n%s", err, set.Long)
	}
}
