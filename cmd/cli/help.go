package cli

import (
	"fmt"
	"io"
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
	{"farms", "Farms and what belongs to them:", []string{"farm", "service", "backend", "zone", "record", "header", "rewrite", "certificate", "acme"}},
	{"watch", "See what happens:", []string{"status", "stats", "top", "graph", "logs", "trace", "questions", "explain", "lint", "timeline", "headroom", "rehearse", "session", "conn"}},
	{"config", "The configuration as a whole:", []string{"check", "apply", "export", "reload", "transaction", "pending", "confirm", "history", "diff", "rollback", "tag", "audit"}},
	{"run", "The appliance itself:", []string{"run", "demo", "user", "group", "role", "key", "notification", "alias", "cloud", "system", "geoip", "backup", "supportsave", "shell", "version"}},
	{"more", "More:", []string{"help", "completion"}},
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
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		long := cmd.Long
		defer func() { cmd.Long = long }()
		cmd.Long = explained(cmd, onTerminal)
		help(cmd, args)
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		writeUsage(cmd.OutOrStderr(), cmd)
		return nil
	})
}

// writeUsage says how a command is used. It is written out: with a template of text the
// linker would have to keep every method of the program, 5 MB of it.
func writeUsage(w io.Writer, cmd *cobra.Command) {
	fmt.Fprint(w, "Usage:")
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(w, "\n  %s", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n  %s [command]", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", cmd.Example)
	}
	listCommands(w, cmd)
	if flags := ownFlags(cmd); flags != "" {
		fmt.Fprintf(w, "\n\nFlags:\n%s", flags)
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(w, "\n\nGlobal Flags:\n%s", strings.TrimRight(cmd.InheritedFlags().FlagUsagesWrapped(helpWidth), " \n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more.", cmd.CommandPath())
	}
	fmt.Fprintln(w)
}

// listCommands lists the commands below one, in their groups if there are some.
func listCommands(w io.Writer, cmd *cobra.Command) {
	titles := []*cobra.Group{{Title: "Available Commands:"}}
	if len(cmd.Groups()) > 0 {
		titles = append(cmd.Groups(), &cobra.Group{Title: "Additional Commands:"})
	}
	for _, group := range titles {
		var lines strings.Builder
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				lines.WriteString("\n" + hanging(fmt.Sprintf("  %-*s ", sub.NamePadding(), sub.Name()), sub.Short))
			}
		}
		if lines.Len() > 0 {
			fmt.Fprintf(w, "\n\n%s%s", group.Title, lines.String())
		}
	}
}

// ownFlags is the help of the flags of a command, without its settings.
func ownFlags(cmd *cobra.Command) string {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) {
			own.AddFlag(f)
		}
	})
	return strings.TrimRight(own.FlagUsagesWrapped(helpWidth), " \n")
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
