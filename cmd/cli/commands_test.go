package cli_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

// allowed returns the permitted numbers of arguments; 8 stands for any number.
func allowed(cmd *cobra.Command) (counts []int) {
	for n := range 9 {
		if cmd.Args(cmd, make([]string, n)) == nil {
			counts = append(counts, n)
		}
	}
	return counts
}

// All help text of every command, except settings, whose text belongs to the fields, and
// common flags.
func TestEveryCommandIsDescribed(t *testing.T) {
	t.Setenv("SLUICE_DATA", "/data")
	var all strings.Builder
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		fmt.Fprintf(&all, "== %s\n%s\n", cmd.UseLine(), cmd.Short)
		if long, settings, has := strings.Cut(command.LongHelp(cmd, command.OnTerminal), "Settings are given"); long != "" {
			all.WriteString(indented("  ", strings.TrimSpace(long)))
			if has {
				said, _, _ := strings.Cut(settings, ":\n")
				all.WriteString(indented("  ", "Settings are given"+said))
			}
		}
		fmt.Fprintf(&all, "group %q, aliases %q\n%s\n", cmd.GroupID, cmd.Aliases, cmd.Example)
		if !cmd.HasSubCommands() && cmd.Args != nil {
			fmt.Fprintf(&all, "arguments: %v\n", allowed(cmd))
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !command.IsSetting(f) {
				fmt.Fprintf(&all, "--%s -%s %s (%s): %s\n", f.Name, f.Shorthand, f.Value.Type(), f.DefValue, f.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	root := cli.Root()
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		fmt.Fprintf(&all, "--%s -%s %s (%s): %s\n", f.Name, f.Shorthand, f.Value.Type(), f.DefValue, f.Usage)
	})
	look(root)
	golden(t, "commands", all.String())
}

// offered returns the completions after these words. Settings are limited to goldenSettings
// and a few that are not farm fields.
func offered(a *appliance, words ...string) string {
	var out []string
	for line := range strings.Lines(a.must(append([]string{cobra.ShellCompRequestCmd}, words...)...)) {
		line = strings.TrimSuffix(line, "\n")
		name, isSetting := strings.CutSuffix(line, "=")
		if isSetting && !slices.Contains(goldenSettings, name) && !isOneOf(strings.Join(words, " "), []string{"acme", "certificate", "system", "trace"}) {
			continue
		}
		if strings.HasPrefix(line, "Completion ended") {
			continue
		}
		out = append(out, strings.ReplaceAll(line, "\t", ": "))
	}
	return strings.Join(out, " | ")
}

// Completions of each command, word by word.
func TestCompletionOffersEachArgument(t *testing.T) {
	a := ready(t)
	a.must("farm", "create", "twin", "vip=192.0.2.10", "vport=90", "copy_from=shop")
	a.must("service", "create", "twin", "api")
	p := newPapers(t, "shop.example")
	a.must("certificate", "upload", "shop", p.full)
	a.must("certificate", "ca", "upload", "clients", p.ca)
	a.must("group", "create", "ops")
	a.must("tag", "create", "fair")
	a.must("alias", "set", "10.0.0.1", "db-1")
	var all strings.Builder
	for _, command := range []string{
		"farm show shop", "farm create new", "farm set shop contimeout=5", "farm rename shop new", "farm delete shop", "farm start shop mail", "farm explain mail",
		"service list shop", "service show shop web", "service create shop new", "service set shop web", "service move shop web 0", "service delete shop web",
		"backend list shop web", "backend list mail", "backend show shop web 0", "backend show mail 0", "backend create shop web 10.0.0.1:80", "backend create mail 10.0.0.1:25", "backend set shop web 0", "backend set mail 0",
		"backend delete twin api 0", "backend maintenance mail 0", "session list shop web", "session create shop web joe 0", "session create mail joe 0", "session delete shop web joe", "session flush mail",
		"conn list mail", "conn flush mail", "header add shop addrequestheader X", "header set shop addrequestheader 0", "header delete shop addrequestheader 0", "header move shop replacerequestheader 0", "header list shop",
		"rewrite list shop web", "rewrite add shop web", "rewrite set shop web 0", "rewrite delete shop web 0", "rewrite move shop web 0",
		"certificate show shop.pem", "certificate upload new file", "certificate replace shop.pem file", "certificate csr new", "certificate download shop.pem", "certificate delete shop.pem", "certificate add shop shop.pem",
		"certificate remove shop shop.pem", "certificate move shop shop.pem", "certificate ocsp", "certificate ca show clients", "certificate ca upload new file", "certificate ca replace clients file", "certificate ca crl clients file",
		"certificate ca download clients", "certificate ca delete clients", "acme config", "acme order a.test", "acme renew shop.pem", "acme delete shop.pem", "system config", "key create", "key delete 1",
		"stats shop", "logs shop", "trace shop", "explain shop", "lint shop", "diff 2 3", "rollback 2", "farm copy shop new", "user show root", "user set root", "group add ops", "group role ops", "role show management", "role set management", "tag delete fair", "alias delete 10.0.0.1", "backup show monday", "user sessions end 1", "cloud login aws",
	} {
		words := strings.Fields(command)
		for n := 1; n <= len(words); n++ {
			if line := strings.Join(words[:n], " ") + " _\n"; !strings.Contains(all.String(), line) {
				all.WriteString(line + "  " + offered(a, append(slices.Clone(words[:n]), "")...) + "\n")
			}
		}
	}
	for _, command := range []string{
		"backend maintenance shop web 0 --mode", "conn list --backend", "conn list mail --backend", "conn flush shop --backend", "header add --service", "header add shop --service", "header list shop --service", "trace shop --filter",
		"farm set shop httpverb=", "farm create new profile=", "farm create new protocol=", "farm set dns nattype=", "service set shop web persistence=", "certificate ocsp enabled=", "farm set none contim",
	} {
		words := strings.Split(command, " ")
		if !strings.HasSuffix(command, "=") {
			words = append(words, "")
		}
		fmt.Fprintf(&all, "%s\n  %s\n", command, offered(a, words...))
	}
	golden(t, "completions", strings.ReplaceAll(all.String(), hostname(t), "(host)"))
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
