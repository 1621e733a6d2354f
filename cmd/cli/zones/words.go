// Package zones has the commands about the zones of gslb farms, their keys and records.
package zones

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// Commands returns the commands about zones and records.
func Commands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{zoneCommand(c), recordCommand(c)}
}

// Words are the commands about zones and records by meaning.
var Words = command.Words{
	Configure: []string{
		"zone create", "zone set", "zone delete", "zone import",
		"record create", "record set", "record delete",
	},
	BreakTrust: []string{"zone set", "zone delete", "zone key use", "zone key delete"},
	Read:       []string{"zone export"},
	Ask:        map[string]command.Asking{"zone import": command.AskDeleting},
}
