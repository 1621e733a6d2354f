package cli

import "github.com/spf13/cobra"

// peopleCommands returns the commands about users, groups, roles and keys.
func peopleCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.keyCommand(), c.userCommand(), c.groupCommand(), c.roleCommand()}
}

// peopleWords are the commands about users by meaning.
var peopleWords = words{read: []string{"user ldap test"}}
