package command

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// RunsCommands marks a command that runs others, which apply the common flags.
const RunsCommands = "runs commands"

// AddCommonFlags makes every command apply the common flags, and read-only ones support --watch.
func (c *Line) AddCommonFlags(root *cobra.Command) {
	EachCommand(root, func(cmd *cobra.Command) {
		run := cmd.RunE
		if run == nil || cmd.Annotations[RunsCommands] != "" {
			return // the commands within the shell apply them
		}
		if isWatched(cmd) {
			always := ""
			if cmd.Name() == "top" {
				always = usualWatch
			}
			cmd.Flags().String("watch", always, "refresh every 2s, or at the given interval, until interrupted")
			cmd.Flags().Lookup("watch").NoOptDefVal = usualWatch
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			watch := ""
			if f := cmd.Flags().Lookup("watch"); f != nil {
				watch = f.Value.String()
			}
			if f := cmd.Flags().Lookup("interval"); f != nil && f.Changed && !IsSetting(f) {
				if _, err := every(cmd, watch); err != nil {
					return err
				}
			}
			switch {
			case c.ShowAPI || c.ShowYAML:
				return c.show(cmd, args, run)
			case watch != "" && c.quiet:
				return Usagef("--quiet: %s only shows something: it would print nothing", watchedAs(cmd))
			case watch != "":
				return c.watched(cmd, watch, args, run)
			case c.quiet:
				return c.quietly(cmd, args, run)
			}
			return run(cmd, args)
		}
	})
}

// watchedAs returns the spelling of --watch that was used.
func watchedAs(cmd *cobra.Command) string {
	if cmd.Flags().Changed("watch") {
		return "--watch"
	}
	return cmd.CommandPath()
}

// quietly runs a command with only errors and the name of the created object as output.
func (c *Line) quietly(cmd *cobra.Command, args []string, run func(*cobra.Command, []string) error) error {
	out := cmd.OutOrStdout()
	cmd.SetOut(io.Discard)
	cmd.SetErr(&unheard{cmd.ErrOrStderr()})
	err := run(cmd, args)
	cmd.SetOut(out)
	if err == nil && c.created != "" && slices.Contains(creating, cmd.Name()) {
		_, err = fmt.Fprintln(out, show.Clean(c.created))
	}
	return err
}

// creating are the verbs of commands that create named objects.
var creating = []string{"create", "copy", "upload", "csr", "order"}

// unheard drops messages; questions are still written to its target.
type unheard struct{ to io.Writer }

func (*unheard) Write(b []byte) (int, error) { return len(b), nil }

// ErrShown ends a request that was shown instead of sent.
var ErrShown = errors.New("shown, not sent")

// show runs a command to print its API call, or its result in the document.
func (c *Line) show(cmd *cobra.Command, args []string, run func(*cobra.Command, []string) error) error {
	if c.ShowAPI && c.ShowYAML {
		return Usagef("--show-api and --show-yaml exclude each other: give one of them")
	}
	out := cmd.OutOrStdout()
	cmd.SetOut(io.Discard)
	err := run(cmd, args)
	cmd.SetOut(out)
	switch {
	case err != nil && !errors.Is(err, ErrShown):
		return err
	case len(c.shown) == 0 && c.lastRead == "":
		return Usagef("--show-api: %s does not call the API", cmd.CommandPath())
	case len(c.shown) == 0:
		c.shown = []string{c.lastRead + "\n"} // for a read-only command, the last request
	}
	for _, text := range c.shown {
		if _, err := fmt.Fprint(out, show.Clean(text)); err != nil {
			return err
		}
	}
	return nil
}
