// Package people has the commands about users, groups, roles and API keys.
package people

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// Commands returns the commands about users, groups, roles and keys.
func Commands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{keyCommand(c), userCommand(c), groupCommand(c), roleCommand(c)}
}

// Words are the commands about users by meaning.
var Words = command.Words{Read: []string{"user ldap test"}}
