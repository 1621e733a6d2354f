package cli

import (
	"math"

	"github.com/spf13/cobra"
)

// exactly, atLeast and atMost check the number of arguments. Their messages show the usage,
// because a number is not helpful.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func atLeast(n int) cobra.PositionalArgs { return between(n, math.MaxInt) }

func atMost(n int) cobra.PositionalArgs { return between(0, n) }

func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("missing argument; usage: %s", written(cmd))
		case len(args) > most:
			return usagef("unexpected argument %q; usage: %s", args[most], written(cmd))
		}
		return nil
	}
}

// written returns the command as in its help, without the word for flags.
func written(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}
