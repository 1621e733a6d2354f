package command

import (
	"math"

	"github.com/spf13/cobra"
)

// Exactly requires n arguments. The message of an error shows the usage, because a number is
// not helpful.
func Exactly(n int) cobra.PositionalArgs { return Between(n, n) }

// AtLeast requires n arguments or more.
func AtLeast(n int) cobra.PositionalArgs { return Between(n, math.MaxInt) }

// AtMost allows n arguments.
func AtMost(n int) cobra.PositionalArgs { return Between(0, n) }

// Between requires least to most arguments.
func Between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("missing argument; usage: %s", UsageLine(cmd))
		case len(args) > most:
			return Usagef("unexpected argument %q; usage: %s", args[most], UsageLine(cmd))
		}
		return nil
	}
}

// UsageLine returns the command as in its help, without the word for flags.
func UsageLine(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}
