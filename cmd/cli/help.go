package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how long lines of help may be: the terminal everybody has.
const helpWidth = 80

// groups are the commands by what somebody wants to do.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"farms", "Farms and what belongs to them:", []string{"farm", "service", "backend", "header", "rewrite", "certificate", "acme"}},
	{"watch", "See what happens:", []string{"status", "stats", "logs", "trace", "explain", "session", "conn"}},
	{"config", "The configuration as a whole:", []string{"check", "apply", "export", "reload", "history", "diff", "rollback"}},
	{"run", "The appliance itself:", []string{"run", "demo", "key", "system", "version"}},
	{"more", "More:", []string{"help", "completion"}},
}

// settingFlag marks flags the list of settings explains already.
const settingFlag = "setting"

func init() {
	cobra.AddTemplateFunc("ownFlags", ownFlags)
	cobra.AddTemplateFunc("listed", func(cmd *cobra.Command) string {
		return hanging(fmt.Sprintf("  %-*s ", cmd.NamePadding(), cmd.Name()), cmd.Short)
	})
}

// ownFlags is the help of the flags of a command, without its settings.
func ownFlags(cmd *cobra.Command) string {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[settingFlag] == nil {
			own.AddFlag(f)
		}
	})
	return own.FlagUsagesWrapped(helpWidth)
}

// arrangeHelp puts the commands into groups and makes all help fit.
func arrangeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			for _, cmd := range root.Commands() {
				if cmd.Name() == name {
					cmd.GroupID = g.id
				}
			}
		}
	}
	root.SetCompletionCommandGroupID("more")
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "ownFlags .",
		"  {{rpad .Name .NamePadding }} {{.Short}}", "{{listed .}}",
		` for more information about a command.`, " for more.",
		".InheritedFlags.FlagUsages", ".InheritedFlags.FlagUsagesWrapped 80",
	).Replace(root.UsageTemplate()))
}

// hanging is "head  words", where the words go on below themselves in the lines
// that follow.
func hanging(head, words string) string {
	lines := strings.Split(text.WrapSoft(words, helpWidth-len(head)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // it fills them
	}
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", len(head)))
}
