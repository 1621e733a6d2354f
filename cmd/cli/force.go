package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// forceable are the commands that may break the chain of trust of a signed zone.
var forceable = [][]string{
	{"zone", "set"}, {"zone", "delete"}, {"zone", "key", "use"}, {"zone", "key", "delete"}, {"farm", "delete"},
	{"apply"}, {"rollback"}, {"transaction"},
}

// addForce adds --force to these commands.
func (c *client) addForce(root *cobra.Command) {
	for _, path := range forceable {
		cmd, _, err := root.Find(path)
		if err != nil || cmd.Name() != path[len(path)-1] {
			panic(fmt.Sprintf("there is no command %v", path))
		}
		cmd.Flags().BoolVar(&c.force, "force", false, "change a signed zone although the parent zone has DS records for other keys, so that resolvers reject its names")
	}
}
