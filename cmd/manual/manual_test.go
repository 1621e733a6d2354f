package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/cmd/appliance"
	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/core/farm"
	documents "github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// The test binary acts as the command if it is called by its name.
func TestMain(m *testing.M) {
	if os.Args[0] == "manual" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestCommandWritesTheManual(t *testing.T) {
	dir := t.TempDir()
	for args, status := range map[string]int{
		"": 2, "a b": 2, "-date Monday " + dir: 1, "/dev/null/x": 1,
		"-version 1.2.3 -date 2026-11-23 " + dir: 0,
	} {
		cmd := exec.Command("/proc/self/exe", strings.Fields(args)...)
		cmd.Args[0] = "manual"
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status || (status == 2) != strings.Contains(string(out), "usage: manual ") || status == 1 && !strings.Contains(string(out), "manual: ") {
			t.Errorf("manual %s: %v, want status %d, output %s", args, cmd.ProcessState, status, out)
		}
	}
	for name, want := range map[string]string{
		"man/man8/sluice.8":                     `.TH "SLUICE" "8" "Nov 2026" "Sluice 1.2.3" "Sluice"`,
		"man/man8/sluice-farm-list.8":           `"8" "Nov 2026" "Sluice 1.2.3" "Sluice"`,
		"man/man5/sluice.yaml.5":                `"5" "Nov 2026" "Sluice 1.2.3" "Sluice"`,
		"man/man7/sluice-guide.7":               `.TH "SLUICE-GUIDE" "7" "Nov 2026" "Sluice 1.2.3" "Sluice"`,
		"bash-completion/completions/sluice":    "complete -o default -F __start_sluice sluice",
		"zsh/vendor-completions/_sluice":        "#compdef sluice",
		"fish/vendor_completions.d/sluice.fish": "complete -c sluice",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q: %v\n%.300s", name, want, err, text)
		}
		if strings.Contains(string(text), "__completeNoDesc") {
			t.Errorf("%s completes without descriptions", name)
		}
	}
}

func TestInstalledFilesAreWritableByOwnerOnly(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	if err := write(dir, "1", time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"man": 0o755, "man/man5": 0o755, "man/man7": 0o755, "man/man7/sluice-guide.7": 0o644, "zsh/vendor-completions": 0o755} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, st, err, want)
		}
	}
}

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, taken := range []string{"man/man8", "man/man5", "man/man7", "man/man8/sluice.8/x", "man/man5/sluice.yaml.5/x", "man/man7/sluice-guide.7/x", "zsh/vendor-completions", "fish/vendor_completions.d/sluice.fish/x"} {
		file := filepath.Join(t.TempDir(), taken)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := write(strings.TrimSuffix(file, taken), "1", time.Now()); err == nil {
			t.Errorf("%s was written though it is something else", taken)
		}
	}
}

// manual writes the manual and returns its pages by name.
func manual(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := write(dir, "1.2.3", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/man/*/*")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(text)
	}
	return pages
}

// terms returns the fields that a page explains, in order.
func terms(page string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^\.TP\n\\fB(.*)\\fP`).FindAllStringSubmatch(page, -1) {
		out = append(out, strings.ReplaceAll(m[1], `\`, ""))
	}
	return out
}

// plainText returns a page without troff markup.
func plainText(page string) string {
	page = regexp.MustCompile(`(?m)^\.(nf|fi|RS|RE|EX|EE|PP|TP|SH|br).*$`).ReplaceAllString(page, " ")
	page = strings.NewReplacer(`\fB`, "", `\fI`, "", `\fP`, "", `\fR`, "", `\-`, "-", `\&`, "", `\\`, `\`, `\e`, `\`, "\n", " ", `\[la]`, "<", `\[ra]`, ">", `\(aq`, "'", `\(dq`, `"`, `\(ti`, "~", `\(ha`, "^").Replace(page)
	return strings.Join(strings.Fields(page), " ")
}

// Markdown must not swallow characters of help texts: <1% looked like HTML, and two
// words_with_underscores like emphasis.
func TestPagesKeepEverySignOfTheHelp(t *testing.T) {
	pages := manual(t)
	root, shown := cli.Root(appliance.Commands()...), cli.Root(appliance.Commands()...)
	command.ForManual(shown)
	compared := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			look(sub)
		}
		page, is := pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".8"]
		if !is {
			return
		}
		said := plainText(page)
		want := func(text string) {
			if text = strings.Join(strings.Fields(text), " "); text != "" && !strings.Contains(said, text) {
				t.Errorf("%s lacks %q", cmd.CommandPath(), text)
			}
			compared++
		}
		of, _, err := shown.Find(strings.Fields(cmd.CommandPath())[1:])
		if err != nil {
			t.Fatal(err)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if is := of.Flags().Lookup(f.Name); is == nil || is.Hidden || f.Name == "help" || f.Name == "version" {
				return // settings are explained elsewhere
			}
			want(f.Usage)
		})
		if !strings.Contains(cmd.Long, "\n  ") {
			want(cmd.Long)
		}
	}
	look(root)
	if compared < 300 {
		t.Errorf("only %d texts were compared", compared)
	}
}

// pageWidth is the line length of a page on a terminal of 80 columns.
const pageWidth = 71

func TestManualPagesExplainEverySettingOnce(t *testing.T) {
	pages := manual(t)
	example := regexp.MustCompile(`(?s)\.EX\n.*?\.EE\n`)
	for name, text := range pages {
		for line := range strings.Lines(example.ReplaceAllString(text, "")) {
			if strings.HasPrefix(line, " ") && len(line) > pageWidth {
				t.Errorf("%s: %q does not fit a page, and is no text to be folded", name, line)
			}
		}
	}
	if got, want := terms(pages["sluice-service-set.8"]), slices.Concat(httpfarm.ServiceUpdate.Names(), gslbfarm.ServiceUpdate.Names()); !slices.Equal(got, want) {
		t.Errorf("settings of services: %q, want %q", got, want)
	}
	if text := pages["sluice-service-set.8"]; strings.Contains(text, `\fB--retry-on\fP`) {
		t.Errorf("settings are explained twice:\n%s", text)
	}
	if !strings.Contains(pages["sluice-backend-maintenance.8"], `\fB--mode\fP`) {
		t.Errorf("other flags are not documented:\n%s", pages["sluice-backend-maintenance.8"])
	}
}

func TestAPageExplainsEveryFieldOfADocument(t *testing.T) {
	page := manual(t)["sluice.yaml.5"]
	want := slices.Concat(httpfarm.Document.Names(), httpfarm.ServiceDocument.Names(), httpfarm.BackendDocument.Names(),
		httpfarm.ReplaceRequest.Rule.Names(), httpfarm.Rewrites.Rule.Names())
	for _, p := range profile.All()[1:] {
		want = append(want, p.Farm().Document.Names()...)
		if p.Name().HasServices() {
			want = append(want, gslbfarm.ServiceDocument.Names()...)
		}
		want = append(want, p.Backend().Document.Names()...)
		if p.Name().HasServices() {
			want = slices.Concat(want, gslbfarm.ZoneDocument.Names(), gslbfarm.RecordDocument.Names())
		}
	}
	want = slices.Concat(want, check.Document.Names())
	for i := range system.Sections {
		want = slices.Concat(want, system.Sections[i].Table.Names())
	}
	if got := terms(page); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, list := range []string{"services", "backends", httpfarm.ReplaceRequest.Service, httpfarm.ReplaceResponse.Service, httpfarm.Rewrites.Service} {
		if !strings.Contains(page, `\fB`+list+`\fP`) {
			t.Errorf("the list %s is missing", list)
		}
	}
	if strings.Contains(page, "help for") || !strings.Contains(page, "Required.") {
		t.Errorf("page:\n%s", page)
	}
	_, rest, _ := strings.Cut(page, ".EX\n")
	example, _, _ := strings.Cut(rest, ".EE\n")
	cfg, err := documents.Load([]byte(strings.NewReplacer(`\\`, `\`, `\-`, "-", `\&`, "").Replace(example)), validate.Rules{})
	if err != nil || len(cfg.Farms) != 2 || len(cfg.Checks) != 1 || cfg.System.NTP.Server == "" {
		t.Errorf("its example cannot be applied: %v\n%s", err, example)
	}
}

func TestTheFirstPageLeadsToTheOthers(t *testing.T) {
	page := plainText(manual(t)["sluice.8"])
	for _, other := range []string{"sluice-guide(7)", "sluice.yaml(5)", "man sluice-guide"} {
		if !strings.Contains(page, other) {
			t.Errorf("it does not name %s", other)
		}
	}
	if guide := plainText(manual(t)["sluice-guide.7"]); !strings.Contains(guide, "Zevenet and SKUDONET") {
		t.Error("the guide does not define the product family")
	}
	for _, policy := range farm.RoutingPolicies() {
		if !strings.Contains(guideText, "**"+string(policy)+"**") {
			t.Errorf("the guide does not explain %s", policy)
		}
	}
}

func TestTheGuideIsAPageWithEveryTask(t *testing.T) {
	page := manual(t)["sluice-guide.7"]
	if !strings.HasPrefix(page, ".nh\n.TH \"SLUICE-GUIDE\" \"7\"") {
		t.Errorf("it begins with %.60q", page)
	}
	for _, m := range regexp.MustCompile(`(?m)^# (.*)$`).FindAllStringSubmatch(guideText, -1) {
		if !strings.Contains(page, "\n.SH "+m[1]+"\n") {
			t.Errorf("it has no %q", m[1])
		}
	}
}
