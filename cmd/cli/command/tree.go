package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// Hidden marks an obsolete name of a command, which is in no help.
func Hidden(cmd *cobra.Command) *cobra.Command {
	cmd.Hidden = true
	return cmd
}

// EachCommand calls do for every command below cmd.
func EachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	for _, sub := range cmd.Commands() {
		do(sub)
		EachCommand(sub, do)
	}
}

// Parent returns a command that only has sub-commands.
func Parent(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: NoSuchCommand,
		RunE: SubCommandMissing,
	}
	cmd.AddCommand(subs...)
	return cmd
}

// SubCommandMissing refuses a command that only has sub-commands.
func SubCommandMissing(cmd *cobra.Command, _ []string) error {
	return Usagef("missing sub-command: %s", strings.Join(SubCommandNames(cmd), ", "))
}

// NoSuchCommand refuses arguments of a group, which are unknown sub-commands.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if text := reordered(cmd, args); text != "" {
		return Usagef("unknown command %q for %q (did you mean %s?)", args[0], cmd.CommandPath(), text)
	}
	if term, is := suggest.Foreign(args[0]); is && term.Command != "" {
		return Usagef("unknown command %q for %q: %s", args[0], cmd.CommandPath(), term.Command)
	}
	if near := suggest.Nearest(args[0], SubCommandNames(cmd)); len(near) > 0 {
		return Usagef("unknown command %q for %q (did you mean %s?)", args[0], cmd.CommandPath(), strings.Join(near, " or "))
	}
	if !cmd.HasParent() {
		return Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return Usagef("unknown command %q for %q; there is %s", args[0], cmd.CommandPath(), strings.Join(SubCommandNames(cmd), ", "))
}

// reordered returns the command line that has the words of args in the right order: the
// object, the action, then the name. It returns "" if they are no such words.
func reordered(cmd *cobra.Command, args []string) string {
	first, rest := args[0], args[1:]
	if sub := subCommand(cmd, first); sub != nil { // its plural
		return strings.Join(append([]string{sub.CommandPath()}, rest...), " ")
	}
	if len(rest) > 0 {
		if sub := subCommand(cmd, rest[0]); sub != nil { // e.g. farm shop show, or list farms
			if action := subCommand(sub, first); action != nil {
				return strings.Join(append([]string{sub.CommandPath(), action.Name()}, rest[1:]...), " ")
			}
			if len(rest) > 1 && subCommand(sub, rest[1]) != nil { // e.g. shop farm show
				return strings.Join(append([]string{sub.CommandPath(), rest[1], first}, rest[2:]...), " ")
			}
			if !sub.HasSubCommands() || cmd.HasParent() {
				return strings.Join(append([]string{cmd.CommandPath(), sub.Name(), first}, rest[1:]...), " ")
			}
		}
	}
	var of []string // the objects that have this action
	for _, sub := range cmd.Commands() {
		if action := subCommand(sub, first); action != nil && sub.IsAvailableCommand() {
			of = append(of, sub.CommandPath()+" "+action.Name())
		}
	}
	if i := slices.Index(of, "sluice farm "+first); i >= 0 { // the most common object
		return of[i]
	}
	return strings.Join(of[:min(len(of), 2)], " or ")
}

// subCommand returns the sub-command with this name or its plural, or nil.
func subCommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && (sub.Name() == name || sub.Name()+"s" == name) {
			return sub
		}
	}
	return nil
}

// SubCommandNames returns the names of the sub-commands in help.
func SubCommandNames(cmd *cobra.Command) []string {
	var out []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, sub.Name())
		}
	}
	return out
}
