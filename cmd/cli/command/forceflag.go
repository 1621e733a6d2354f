package command

import "github.com/spf13/cobra"

// AddForceFlag adds --force to these commands.
func (c *Line) AddForceFlag(root *cobra.Command) {
	for _, name := range c.words.BreakTrust {
		cmd := Named(root, name)
		cmd.Flags().BoolVar(&c.force, "force", false, "change a signed zone although the parent zone has DS records for other keys, so that resolvers reject its names")
	}
}
