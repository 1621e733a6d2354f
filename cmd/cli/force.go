package cli

import "github.com/spf13/cobra"

// addForce adds --force to these commands.
func (c *client) addForce(root *cobra.Command) {
	for _, name := range c.words.breakTrust {
		cmd := commandNamed(root, name)
		cmd.Flags().BoolVar(&c.force, "force", false, "change a signed zone although the parent zone has DS records for other keys, so that resolvers reject its names")
	}
}
