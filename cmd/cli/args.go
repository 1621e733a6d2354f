package cli

import (
	"math"

	"github.com/spf13/cobra"
)

// exactly, atLeast and atMost count the arguments of a command. Their messages
// show how the command is meant, because a number says little.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func atLeast(n int) cobra.PositionalArgs { return between(n, math.MaxInt) }

func atMost(n int) cobra.PositionalArgs { return between(0, n) }

func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("an argument is missing: write %s", written(cmd))
		case len(args) > most:
			return usagef("%q is one argument too many: write %s", args[most], written(cmd))
		}
		return nil
	}
}

// written is the command as its help shows it, without the word for flags.
func written(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}
