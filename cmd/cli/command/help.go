package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the line length of help.
const helpWidth = 80

// HelpSection is a part of the help with its commands.
type HelpSection struct {
	ID, Title string
	Commands  []string
}

// ArrangeHelp arranges the commands in sections and fits all help to helpWidth. The last
// section gets the commands that cobra adds.
func ArrangeHelp(root *cobra.Command, sections []HelpSection) {
	root.InitDefaultHelpCmd()
	for _, g := range sections {
		root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		for _, cmd := range root.Commands() {
			if slices.Contains(g.Commands, cmd.Name()) {
				cmd.GroupID = g.ID
			}
		}
	}
	root.SetCompletionCommandGroupID(sections[len(sections)-1].ID)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		long := cmd.Long
		defer func() { cmd.Long = long }()
		cmd.Long = LongHelp(cmd, OnTerminal)
		help(cmd, args)
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		writeUsage(cmd.OutOrStderr(), cmd)
		return nil
	})
}

// writeUsage prints the usage of a command. It uses no template, because with one the linker
// keeps every method of the program (5 MB).
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

// listCommands lists the sub-commands, in groups if there are any.
func listCommands(w io.Writer, cmd *cobra.Command) {
	titles := []*cobra.Group{{Title: "Available Commands:"}}
	if len(cmd.Groups()) > 0 {
		titles = append(cmd.Groups(), &cobra.Group{Title: "Additional Commands:"})
	}
	for _, group := range titles {
		var lines strings.Builder
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				lines.WriteString("\n" + HangingIndent(fmt.Sprintf("  %-*s ", sub.NamePadding(), sub.Name()), sub.Short))
			}
		}
		if lines.Len() > 0 {
			fmt.Fprintf(w, "\n\n%s%s", group.Title, lines.String())
		}
	}
}

// ownFlags returns the help of a command's flags, without its settings.
func ownFlags(cmd *cobra.Command) string {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !IsSetting(f) {
			own.AddFlag(f)
		}
	})
	return strings.TrimRight(own.FlagUsagesWrapped(helpWidth), " \n")
}

// HangingIndent returns "head  words" with a hanging indent.
func HangingIndent(head, words string) string {
	lines := strings.Split(text.WrapSoft(words, helpWidth-len(head)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // it pads them
	}
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", len(head)))
}
